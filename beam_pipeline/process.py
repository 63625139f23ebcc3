"""What a command saves at its start and its end; see benchmarks/README.md for how much."""

import contextlib
import gc
import logging
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

# Beam imports these where they are installed, for input and output that no job here has, and numba
# the last, for linear algebra.
_UNNEEDED = ("apache_beam.io.gcp.bigquery", "pandas", "scipy")
# And these for Google Cloud.
_CLOUD = ("apitools", "google.auth", "google.cloud.storage", "oauth2client")


@contextlib.contextmanager
def importing(*, cloud: bool = True) -> Iterator[None]:
    """Makes the import of Beam shorter.

    The garbage collector is kept off it, as nothing of it is garbage. Modules that Beam can do
    without seem not to be installed meanwhile; what needs one later finds it.

    Args:
      cloud: whether paths of Google Cloud or a runner there may be met.
    """
    wanted = _UNNEEDED if cloud else _UNNEEDED + _CLOUD
    absent = [name for name in wanted if name not in sys.modules]
    # None says that there is no such module, which the type of sys.modules leaves out.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    gc.disable()
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
        # What has been imported stays; later collections need not look at it.
        gc.freeze()
        gc.enable()


def leave(code: int) -> NoReturn:
    """Ends the process at once: taking a few thousand modules apart helps nobody."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
