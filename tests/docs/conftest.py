"""Fixtures of the docs' tests."""

import os

import pytest

from tests.docs.workplace import Workplace


@pytest.fixture(scope="session")
def workplace(tmp_path_factory) -> Workplace:
    """The folder of a reader, shared by all test processes."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    return Workplace(shared / "docs")
