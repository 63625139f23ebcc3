"""The corpus job, as `run.build` takes it."""

from beam_pipeline import corpus
from beam_pipeline.launch import launch
from beam_pipeline.progress import steps
from beam_pipeline.run import Job
from beam_pipeline.summary import print_summary

CORPUS = Job(launch, corpus.build, print_summary, steps.CORPUS)
