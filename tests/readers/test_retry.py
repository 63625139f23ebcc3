import asyncio
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import httpx
import pyarrow as pa
import pytest

from transforms.readers.retry import Retry, is_transient, resume, retry_after


def http(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "https://hub.test/file")
    response = httpx.Response(status, headers=headers, request=request)
    return httpx.HTTPStatusError(f"{status}", request=request, response=response)


def caused_by(cause: Exception) -> Exception:
    error = RuntimeError("wrapped")
    error.__cause__ = cause
    return error


TRANSIENT = [
    *map(http, (408, 429, 500, 502, 503, 504)),
    ConnectionResetError(),
    TimeoutError(),
    asyncio.TimeoutError(),
    httpx.ReadTimeout("slow"),
    httpx.RemoteProtocolError("cut"),
    caused_by(http(503)),
]
PERMANENT = [
    *map(http, (400, 401, 403, 404, 416)),
    ValueError("bad"),
    FileNotFoundError("gone"),
    OSError("disk"),
    caused_by(http(404)),
    pa.ArrowInvalid("damaged"),
]


@pytest.mark.parametrize("error", TRANSIENT, ids=repr)
def test_transient(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize("error", PERMANENT, ids=repr)
def test_permanent(error: Exception) -> None:
    assert not is_transient(error)


def recorded(**options) -> tuple[Retry, list[float]]:
    slept: list[float] = []
    return Retry(sleep=slept.append, jitter=lambda: 1.0, **options), slept


def test_waits_grow_to_a_limit_and_then_the_error_is_raised() -> None:
    retry, slept = recorded(attempts=6, first=1, longest=5)
    for _ in range(5):
        retry.wait(http(503))
    with pytest.raises(httpx.HTTPStatusError):
        retry.wait(http(503))
    assert slept == [1, 2, 4, 5, 5]


def test_progress_forgets_failures() -> None:
    retry, slept = recorded(attempts=2)
    for _ in range(3):
        retry.wait(http(503))
        retry.progressed()
    assert slept == [1, 1, 1]


def test_a_permanent_error_is_raised_at_once() -> None:
    retry, slept = recorded()
    with pytest.raises(ValueError, match="bad"):
        retry.call(lambda: (_ for _ in ()).throw(ValueError("bad")))
    assert slept == []


def test_the_server_says_how_long_to_wait() -> None:
    retry, slept = recorded()
    retry.wait(caused_by(http(429, **{"Retry-After": "17"})))
    assert slept == [18]
    later = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=100), usegmt=True)
    assert 90 < retry_after(http(503, **{"Retry-After": later})) <= 100
    assert retry_after(http(503, **{"Retry-After": "soon"})) is None


class Flaky:
    """A stream of rows 0..n-1 that fails with the given errors, each after some rows of a try."""

    def __init__(self, rows: int, failures: list[tuple[int, Exception]]) -> None:
        self.rows, self.failures, self.opened = rows, list(failures), 0

    def __call__(self):
        self.opened += 1
        step = 3 + self.opened % 3
        stop, error = self.failures.pop(0) if self.failures else (self.rows, None)
        for start in range(0, stop, step):
            yield pa.table({"row": list(range(start, min(start + step, stop)))})
        if error:
            raise error


def rows_of(stream, retry: Retry) -> list[int]:
    return [row for table in resume(stream, retry) for row in table["row"].to_pylist()]


def test_no_row_is_lost_or_repeated() -> None:
    failures = [(0, http(429)), (7, ConnectionResetError()), (5, http(503)), (18, TimeoutError())]
    stream = Flaky(20, failures)
    retry, slept = recorded()
    assert rows_of(stream, retry) == list(range(20))
    assert stream.opened == 5
    assert len(slept) == 4


def test_a_stream_may_fail_often_as_long_as_it_gets_on() -> None:
    stream = Flaky(20, [(stop, http(503)) for stop in range(3, 20, 3)])
    retry, slept = recorded(attempts=2)
    assert rows_of(stream, retry) == list(range(20))
    assert len(slept) == 6


def test_other_errors_pass_through_after_the_rows_before() -> None:
    stream = resume(Flaky(20, [(4, http(404))]), recorded()[0])
    assert len(next(stream)) == 4
    with pytest.raises(httpx.HTTPStatusError):
        next(stream)


def test_a_shorter_stream_after_a_retry_is_no_silent_end() -> None:
    stream = Flaky(5, [(8, http(503))])
    with pytest.raises(EOFError, match="3 rows before row 8"):
        rows_of(stream, recorded()[0])
