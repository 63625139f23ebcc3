"""The traces job, as `run.build` takes it."""

from beam_pipeline import traces
from beam_pipeline.progress import steps
from beam_pipeline.run import Job
from beam_pipeline.traces_launch import launch_traces
from beam_pipeline.traces_summary import print_traces_summary

TRACES = Job(launch_traces, traces.build, print_traces_summary, steps.TRACES)
