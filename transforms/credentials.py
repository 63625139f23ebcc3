"""Whether this machine may use Google Cloud at all, found out at once."""

import contextlib
import logging
import threading
from collections.abc import Iterator

from transforms.errors import CloudError

SIGN_IN = (
    "sign in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
)

_asking = threading.Lock()
_found = False


def require() -> None:
    """Asks for the default credentials, once in a process; Beam would ask five times.

    Raises:
      CloudError: there are none.
    """
    global _found
    with _asking:
        if _found:
            return
        import google.auth
        from google.auth.exceptions import DefaultCredentialsError

        with quiet("google.auth"):
            try:
                google.auth.default()
            except DefaultCredentialsError as error:
                reason = str(error).partition("\n")[0].partition(". ")[0]
                raise CloudError(
                    f"no credentials for Google Cloud ({reason}): {SIGN_IN}"
                ) from error
        _found = True


@contextlib.contextmanager
def quiet(name: str) -> Iterator[None]:
    """Keeps a logger and those below it from anything but errors."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
