"""Fixtures that several test modules take."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def bucket() -> Iterator[str]:
    """An empty bucket (`gs://...`) of an emulator on loopback."""
    from tests.fakes.storage import emulated_storage

    with emulated_storage() as there:
        yield there
