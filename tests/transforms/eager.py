"""Runs transforms by themselves and returns what they give, as lists."""

import shutil
from collections.abc import Callable, Mapping
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.testing.test_pipeline import TestPipeline

REPLAYED = "--direct_runner_bundle_repeat=2"

# However a runner goes about it, a transform gives the same.
MODES = pytest.mark.parametrize(
    "options",
    [(), (REPLAYED,), ("--direct_num_workers=2",)],
    ids=["plain", "replayed", "two-workers"],
)

_found: dict[str, list[Any]] = {}


def run(
    build: Callable[[beam.Pipeline], Mapping[str, beam.PCollection]], *options: str
) -> dict[str, list[Any]]:
    """Elements of the collections that a function adds to a pipeline, by name, in any order."""
    _found.clear()
    parsed = PipelineOptions(list(options))
    with TestPipeline("FnApiRunner", options=parsed) as pipeline:
        for name, collection in build(pipeline).items():
            listed = collection | f"List_{name}" >> beam.combiners.ToList()
            _ = listed | f"Keep_{name}" >> beam.Map(_keep, name)
    return dict(_found)


def graph(build: Callable[[beam.Pipeline], Any]) -> beam_runner_api_pb2.Components:
    """The graph that a function adds to a pipeline, as a runner is given it; it is not run."""
    pipeline = beam.Pipeline("FnApiRunner")
    # Only a run would remove the folder that every pipeline makes.
    shutil.rmtree(pipeline.local_tempdir)
    build(pipeline)
    return pipeline.to_runner_api().components


def _keep(elements: list[Any], name: str) -> None:
    # Set rather than appended to, since a replayed bundle comes here again.
    _found[name] = elements


def are(elements: list[Any], *types: type) -> bool:
    """Whether all elements are tuples of exactly these types, or of the one type given."""
    if len(types) == 1:
        return all(type(element) is types[0] for element in elements)
    return all(tuple(map(type, element)) == types for element in elements)
