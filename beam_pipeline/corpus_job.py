"""The corpus job, as `run` takes it."""

from collections.abc import Sequence

from beam_pipeline import corpus
from beam_pipeline.launch import launch
from beam_pipeline.progress import steps
from beam_pipeline.run import Job, build
from beam_pipeline.summary import print_summary

CORPUS = Job(launch, corpus.build, print_summary, steps.CORPUS)


def build_corpus(
    recipe: str,
    output: str,
    beam_options: Sequence[str],
    *,
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Builds a corpus; see `run.build`."""
    return build(CORPUS, recipe, output, beam_options, quiet=quiet, verbose=verbose)
