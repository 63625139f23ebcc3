"""Google Cloud Storage on loopback, with the credentials it takes to reach it."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from gcp_storage_emulator.server import create_server

from tests.fakes.metadata_server import metadata_server

BUCKET = "corpusbeam-tests"


@contextmanager
def emulated_storage() -> Iterator[str]:
    """Runs an emulator with one empty bucket, for this process and those it starts.

    Yields:
      the bucket as gs://.
    """
    logging.getLogger("gcp_storage_emulator").setLevel(logging.ERROR)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket=BUCKET)
    with metadata_server() as credentials:
        there = {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}", **credentials}
        with mock.patch.dict(os.environ, there):
            server.start()
            try:
                yield f"gs://{BUCKET}"
            finally:
                server.stop()
