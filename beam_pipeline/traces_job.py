"""The traces job, as `run` takes it."""

from collections.abc import Sequence

from beam_pipeline import traces
from beam_pipeline.progress import steps
from beam_pipeline.run import Job, build
from beam_pipeline.traces_launch import launch_traces
from beam_pipeline.traces_summary import print_traces_summary

TRACES = Job(launch_traces, traces.build, print_traces_summary, steps.TRACES)


def build_traces(
    recipe: str,
    output: str,
    beam_options: Sequence[str],
    *,
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Lays traces out; see `run.build`."""
    return build(TRACES, recipe, output, beam_options, quiet=quiet, verbose=verbose)
