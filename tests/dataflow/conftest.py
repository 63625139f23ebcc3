"""Inputs on this machine and in a bucket, and what jobs on this machine make of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from beam_pipeline.cli import main
from tests.dataflow import cases
from tests.dataflow.cases import Case
from tests.fakes.dataflow import Service, dataflow_service
from tests.fakes.storage import emulated_storage


@dataclass(frozen=True)
class Prepared:
    """A case, its recipe in a local file with inputs on gs://, and what a local job made of it."""

    case: Case
    recipe: str
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
        local = case.write_recipe(folder / "local.yaml", str(folder / "in"))
        output = str(folder / "out")
        assert main([case.command, str(local), "--output", output, "--quiet"]) == 0
        recipe = case.write_recipe(folder / "recipe.yaml", f"{bucket}/in/{case.name}")
        expected = cases.contents(output)
        assert len(expected) > 3
        found[case.name] = Prepared(case, str(recipe), expected)
    return found
