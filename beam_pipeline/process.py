"""What a command saves at its start and its end; see benchmarks/README.md for how much."""

import contextlib
import gc
import logging
import os
import sys
from collections.abc import Iterator

# Beam imports these where they are installed, for input and output that no job here has.
_UNNEEDED = ("google.cloud.bigquery", "google.cloud.pubsub", "pandas")


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Makes the import of Beam shorter.

    The garbage collector is kept off it, as nothing of it is garbage. Modules that Beam can do
    without seem not to be installed meanwhile; what needs one later finds it.
    """
    absent = [name for name in _UNNEEDED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))
    gc.disable()
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
        # What has been imported stays; later collections need not look at it.
        gc.freeze()
        gc.enable()


def leave(code: int) -> None:
    """Ends the process at once: taking a few thousand modules apart helps nobody."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
