"""What a command saves at its start and its end; see benchmarks/README.md for how much."""

import contextlib
import gc
import logging
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Keeps the garbage collector off a large import, of which nothing is garbage."""
    gc.disable()
    try:
        yield
    finally:
        # What has been imported stays; later collections need not look at it.
        gc.freeze()
        gc.enable()


def leave(code: int) -> None:
    """Ends the process at once: taking a few thousand modules apart helps nobody."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
