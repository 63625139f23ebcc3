"""Fixtures that several test modules take."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def bucket() -> Iterator[str]:
    """An empty bucket (`gs://...`) of an emulator on loopback."""
    from tests.fakes.storage import emulated_storage

    with emulated_storage() as there:
        yield there


@pytest.fixture
def quick(monkeypatch) -> None:
    """The client of Google Cloud Storage waits less before it asks again."""
    from google.api_core.retry import exponential_sleep_generator

    monkeypatch.setattr(
        "google.api_core.retry.retry_unary.exponential_sleep_generator",
        lambda *_, **__: exponential_sleep_generator(0.01, 0.05),
    )


@pytest.fixture
def impatient(monkeypatch) -> None:
    """The client of Google Cloud Storage gives up after a second."""
    from apache_beam.io.gcp import gcsio_retry

    retry = gcsio_retry.DEFAULT_RETRY.with_timeout(1).with_delay(0.1, 0.2)
    monkeypatch.setattr(gcsio_retry, "get_retry", lambda options: retry)
