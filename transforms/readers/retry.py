"""Carries a stream over transient failures without losing or repeating a row."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from random import random
from typing import TypeVar

import pyarrow as pa

T = TypeVar("T")

TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
LONGEST_RETRY_AFTER = 600.0

# Of libraries that may not be installed; one that was not imported has raised nothing.
_TRANSIENT_CLASSES = {
    "httpx": ("TransportError",),
    "httpx2": ("TransportError",),
    "requests.exceptions": ("ConnectionError", "Timeout", "ChunkedEncodingError"),
    "aiohttp": ("ClientConnectionError", "ClientPayloadError"),
    "urllib3.exceptions": ("ProtocolError", "TimeoutError"),
    "http.client": ("IncompleteRead",),
}
_PERMANENT_CLASSES = {"huggingface_hub.errors": ("OfflineModeIsEnabled",)}


def is_transient(error: BaseException) -> bool:
    """Whether trying again may help: 408, 429, a 5xx, a time-out or a lost connection.

    Of an error and its causes, the outermost that tells decides.
    """
    for link in causes(error):
        if status_of(link) is not None:
            return status_of(link) in TRANSIENT_STATUSES
        if isinstance(link, _loaded(_PERMANENT_CLASSES)):
            return False
        if isinstance(link, (ConnectionError, TimeoutError, *_loaded(_TRANSIENT_CLASSES))):
            return True
    return False


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those that led to it, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error of any of the usual clients carries."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "status", None)
    return status if isinstance(status, int) else None


def retry_after(error: BaseException) -> float | None:
    """Seconds that the server asks to wait, from now; None where it does not say."""
    for link in causes(error):
        headers = getattr(getattr(link, "response", None), "headers", None)
        headers = headers or getattr(link, "headers", None) or {}
        value = headers.get("Retry-After") or headers.get("retry-after")
        if value is None:
            continue
        try:
            return max(0.0, float(value))
        except ValueError:
            pass
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            continue
        return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
    return None


def _loaded(classes: Mapping[str, tuple[str, ...]]) -> tuple[type[BaseException], ...]:
    modules = ((sys.modules.get(module), names) for module, names in classes.items())
    return tuple(
        getattr(module, name)
        for module, names in modules
        for name in names
        if hasattr(module, name)
    )


@dataclass
class Retry:
    """Exponential back-off with jitter.

    Attributes:
      attempts: failures in a row after which the error is raised.
      first, longest: seconds to wait after the first failure, and at most; what the server asks
        for comes before, up to `LONGEST_RETRY_AFTER`.
      sleep, jitter: replaced by tests; jitter gives numbers from 0 to 1.
    """

    attempts: int = 12
    first: float = 1.0
    longest: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random
    _failures: int = field(default=0, init=False)

    def progressed(self) -> None:
        """Forgets past failures."""
        self._failures = 0

    def wait(self, error: Exception) -> None:
        """Waits before the next try; raises the error where another try is no use."""
        self._failures += 1
        if self._failures >= self.attempts or not is_transient(error):
            raise error
        asked = retry_after(error)
        backoff = min(self.longest, self.first * 2 ** (self._failures - 1))
        self.sleep(
            backoff * (0.5 + self.jitter() / 2)
            if asked is None
            else min(asked, LONGEST_RETRY_AFTER) + self.jitter()
        )

    def call(self, function: Callable[[], T]) -> T:
        """The function's result, tried again after transient failures."""
        while True:
            try:
                return function()
            except Exception as error:
                self.wait(error)


def resume(open_tables: Callable[[], Iterator[pa.Table]], retry: Retry) -> Iterator[pa.Table]:
    """Tables of a stream that is opened anew after a transient failure.

    Args:
      open_tables: starts the stream; it gives the same rows in the same order each time, cut into
        tables anywhere.

    Raises:
      EOFError: the reopened stream ended before the row where it had failed.
      Exception: whatever the stream raised, where trying again is no use.
    """
    delivered = 0
    while True:
        to_skip = delivered
        try:
            for table in open_tables():
                skipped = min(to_skip, len(table))
                to_skip -= skipped
                if skipped < len(table):
                    delivered += len(table) - skipped
                    retry.progressed()
                    yield table.slice(skipped)
        except Exception as error:
            retry.wait(error)
            continue
        if to_skip:
            raise EOFError(f"after a retry the stream ended {to_skip} rows before row {delivered}")
        return
