"""What is shown of a run that fails: one line where its cause is known, else all there is."""

import contextlib
import logging
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from transforms import errors
from transforms.errors import CorpusError

# Beam warns that several in-memory workers have no effect, but they run in threads (measured), and
# that worker processes have no folder for what the jobs here do not register.
_NEEDLESS = re.compile("direct_num_workers|No semi_persistent_directory found")
_DEATH = re.compile(r"Worker subprocess exited with return code (-?\d+)")
_WORKER_ERROR = re.compile(r"transforms\.errors\.(\w+): (.*)")


class Held(logging.Handler):
    """Holds back what Beam and its workers say of an error until its cause is known.

    Args:
      warnings: pass on Beam's warnings.

    Attributes:
      worker_stderr: file to which worker processes may write what they would print.
    """

    def __init__(self, worker_stderr: Path, *, warnings: bool) -> None:
        super().__init__()
        self.worker_stderr = worker_stderr
        self._warnings = warnings
        self._records: list[logging.LogRecord] = []
        self._threads: list[threading.ExceptHookArgs] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Passes on what is no error."""
        if record.levelno >= logging.ERROR:
            self._records.append(record)
        elif self._warnings and not _NEEDLESS.search(record.getMessage()):
            logging.getLogger().handle(record)

    def thread_failed(self, failure: threading.ExceptHookArgs) -> None:
        """For `threading.excepthook`: Beam watches its workers in threads."""
        self._threads.append(failure)

    def death(self) -> str | None:
        """That a worker process died, as a line; None if none did."""
        for failure in self._threads:
            if found := _DEATH.search(str(failure.exc_value)):
                return (
                    f"a worker process died (exit code {found[1]}), perhaps for want of memory: "
                    "go on with --resume, with fewer workers (--direct_num_workers)"
                )
        return None

    def replay(self) -> None:
        """Shows what was held."""
        for record in self._records:
            logging.getLogger().handle(record)
        for failure in self._threads:
            threading.__excepthook__(failure)
        sys.stderr.write(self.worker_stderr.read_text(errors="replace"))


@contextlib.contextmanager
def held(*, warnings: bool) -> Iterator[Held]:
    """Holds back errors within the block, and drops warnings unless they are wanted."""
    logger = logging.getLogger("apache_beam")
    with tempfile.TemporaryDirectory(prefix="corpusbeam-") as folder:
        holder = Held(Path(folder) / "stderr", warnings=warnings)
        holder.worker_stderr.touch()
        logger.addHandler(holder)
        propagate, logger.propagate = logger.propagate, False
        hook, threading.excepthook = threading.excepthook, holder.thread_failed
        try:
            yield holder
        finally:
            threading.excepthook = hook
            logger.propagate = propagate
            logger.removeHandler(holder)


def user_mistake(error: BaseException) -> str | None:
    """The message of a `CorpusError` that a worker raised, which runners wrap or only print."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CorpusError):
            return _without_stage(str(cause))
        cause = cause.__cause__ or cause.__context__
    for name, message in reversed(_WORKER_ERROR.findall(str(error))):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, CorpusError):
            return _without_stage(message)
    return None


def _without_stage(message: str) -> str:
    return re.split(r" \[while running ", message)[0].strip()
