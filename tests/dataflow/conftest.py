"""Inputs on this machine and in a bucket, and what jobs on this machine make of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from beam_pipeline.cli import main
from tests.dataflow import cases
from tests.dataflow.cases import Case
from tests.fakes.dataflow import Service, dataflow_service
from tests.fakes.storage import emulated_storage
from transforms import storage


@dataclass(frozen=True)
class Prepared:
    """A case with its inputs on gs://.

    Attributes:
      recipe: a file on this machine, which names a tokenizer on this machine.
      recipe_there: the same on gs://.
      expected: what a job on this machine makes of it.
    """

    case: Case
    recipe: str
    recipe_there: str
    expected: dict[str, bytes]


@pytest.fixture(scope="package")
def bucket() -> Iterator[str]:
    """The bucket of this folder's tests."""
    with emulated_storage() as there:
        yield there


@pytest.fixture
def service() -> Iterator[Service]:
    with dataflow_service() as running:
        yield running


@pytest.fixture(scope="package")
def prepared(bucket, tmp_path_factory) -> dict[str, Prepared]:
    """By name of the case."""
    found = {}
    for case in cases.CASES:
        folder = tmp_path_factory.mktemp(case.name)
        case.write_inputs(folder / "in")
        cases.upload(folder / "in", f"{bucket}/in/{case.name}")
        local, recipe, output = folder / "local.yaml", folder / "recipe.yaml", folder / "out"
        local.write_text(case.yaml(str(folder / "in")))
        assert main([case.command, str(local), "--output", str(output), "--quiet"]) == 0
        there = f"{bucket}/in/{case.name}"
        recipe.write_text(case.yaml(there))
        storage.write_whole(
            f"{there}/recipe.yaml", case.yaml(there, f"{there}/tokenizer.json").encode()
        )
        expected = cases.contents(str(output))
        assert len(expected) > 3
        found[case.name] = Prepared(case, str(recipe), f"{there}/recipe.yaml", expected)
    return found
