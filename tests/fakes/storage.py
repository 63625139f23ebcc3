"""Google Cloud Storage on loopback, with the credentials it takes to reach it."""

import gzip
import io
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from gcp_storage_emulator import server
from google.auth.credentials import AnonymousCredentials
from google.cloud.storage import Client

from tests.fakes.metadata_server import metadata_server

BUCKET = "corpusbeam-tests"

# Decides by the number of a request, from 1, its method and its path: the status with which it is
# refused, or None to let it pass.
Faults = Callable[[int, str, str], int | None]


@contextmanager
def emulated_storage() -> Iterator[str]:
    """Runs an emulator with one empty bucket, for this process and those it starts.

    Yields:
      the bucket as gs://.
    """
    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with mock.patch.object(server, "Router", _Router):
        running = server.create_server("127.0.0.1", port, in_memory=True, default_bucket=BUCKET)
        with metadata_server() as credentials:
            there = {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}", **credentials}
            with mock.patch.dict(os.environ, there):
                running.start()
                try:
                    yield f"gs://{BUCKET}"
                finally:
                    running.stop()


def put(source: Path, place: str, gzipped: bool = False) -> None:
    """Uploads a file, or all files below a folder.

    Args:
      gzipped: as `gcloud storage cp --gzip-local` does: gzip by its properties, whatever its name.
    """
    if source.is_dir():
        for path in source.rglob("*"):
            if path.is_file():
                put(path, f"{place}/{path.relative_to(source)}", gzipped)
        return
    data = source.read_bytes()
    if gzipped:
        upload(place, gzip.compress(data), content_encoding="gzip")
    else:
        upload(place, data)


def upload(place: str, data: bytes, content_type: str = "text/plain", **properties: str) -> None:
    """Uploads an object with properties of `google.cloud.storage.Blob`."""
    bucket, _, name = place.removeprefix("gs://").partition("/")
    blob = Client("project", AnonymousCredentials()).bucket(bucket).blob(name)
    for key, value in properties.items():
        setattr(blob, key, value)
    blob.upload_from_string(data, content_type)


@contextmanager
def refusing(faults: Faults, done: bool = False) -> Iterator[list[tuple[str, str, int | None]]]:
    """Has the emulator of this process refuse requests.

    Args:
      done: what was asked for is done all the same, and only the answer is lost.

    Yields:
      (method, path, status) of each request so far, status None where it passed.
    """
    seen: list[tuple[str, str, int | None]] = []
    lock = threading.Lock()

    def decide(method: str, path: str) -> int | None:
        with lock:
            status = faults(len(seen) + 1, method, path)
            seen.append((method, path, status))
            return status

    with mock.patch.multiple(_Router, decide=staticmethod(decide), done=done):
        yield seen


def every(count: int, *statuses: int) -> Faults:
    """Refuses each `count`th request, with the statuses in turn."""

    def faults(number: int, method: str, path: str) -> int | None:
        turn, rest = divmod(number, count)
        return None if rest else statuses[turn % len(statuses)]

    return faults


class _Router(server.Router):
    """The emulator's, which answers a request or refuses it."""

    done = False

    @staticmethod
    def decide(method: str, path: str) -> int | None:
        return None

    def handle(self, method: str) -> None:
        handler = self._request_handler
        status = self.decide(method, handler.path)
        if status is None:
            super().handle(method)
            return
        if self.done:
            answered, handler.wfile = handler.wfile, io.BytesIO()
            super().handle(method)
            handler.wfile = answered
        else:
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
