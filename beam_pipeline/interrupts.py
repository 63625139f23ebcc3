"""Ctrl-C and SIGTERM: a run comes to a clean end and says how to go on.

Python runs signal handlers in the main thread, which may be in a kernel or an import for seconds.
What the interpreter writes to a wake-up descriptor is there at once, and a thread waits for it.
"""

import contextlib
import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Shows the cursor and begins a line.
_MEND = "\x1b[?25h\r\n"


class _Interrupts:
    """What a signal would do now; one a process."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.command: list[str] = []
        self.advice = "to start over, give the same command again"
        self.stop: Callable[[], None] | None = None


_state = _Interrupts()


def install(command: list[str]) -> None:
    """Takes SIGINT and SIGTERM over; for the main thread of a process that is a command.

    Args:
      command: program and arguments, as they were typed.
    """
    _state.command = command
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(reader,), name="interrupts", daemon=True).start()


def advise(line: str) -> None:
    """Sets what a person is told who interrupts from now on."""
    _state.advice = line


def advise_resume() -> None:
    """From now on there is work that `--resume` goes on with."""
    resume = [] if "--resume" in _state.command else ["--resume"]
    advise(f"go on with: {shlex.join([*_state.command, *resume])}")


@contextlib.contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Within it the first signal calls `stop`, in another thread, and leaves the end to the run.

    The run is to end by `KeyboardInterrupt`. A second signal ends the process at once.
    """
    _state.stop = stop
    try:
        yield
    finally:
        _state.stop = None


def leave(*, torn: bool = False) -> NoReturn:
    """Says that the process was stopped and ends it, with 128 and the signal's number.

    Args:
      torn: a view may be in the middle of a line, with the cursor hidden.
    """
    number = _state.received or signal.SIGINT
    mend = _MEND if torn and os.isatty(2) else ""
    # A thread in the middle of printing may hold the lock of `sys.stderr` for ever.
    os.write(2, f"{mend}corpusbeam: stopped; {_state.advice}\n".encode())
    os._exit(128 + number)


def _wait(reader: int) -> None:
    while True:
        for number in os.read(reader, 64):
            if number in _SIGNALS:
                _interrupted(number)


def _interrupted(number: int) -> None:
    again, _state.received = _state.received is not None, number
    if again or _state.stop is None:
        leave(torn=True)
    _state.stop()
