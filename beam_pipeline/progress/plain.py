"""A run as lines of a log: one when a step ends, and one now and then within a long one."""

from collections.abc import Callable

from beam_pipeline.progress.model import Progress, Status
from beam_pipeline.progress.text import clock, plain

EVERY_SECONDS = 30.0


class PlainView:
    """Prints what is new since it last looked.

    Args:
      say: prints a line.
    """

    def __init__(self, progress: Progress, say: Callable[[str], None], now: float) -> None:
        self._progress = progress
        self._say = say
        self._spoke = now
        self._told: set[str] = set()

    def tick(self, now: float) -> None:
        """Looks."""
        for line in self._progress.lines(now):
            ended = line.status is Status.DONE
            if line.title in self._told or line.status is Status.WAITING:
                continue
            if ended:
                self._told.add(line.title)
            elif now - self._spoke < EVERY_SECONDS:
                continue
            self._spoke = now
            self._say(plain(line, ended=ended))

    def stopping(self) -> None:
        """A person wants the run to stop."""
        self._say("stopping: what is under way is finished (Ctrl-C again leaves at once)")

    def close(self, now: float, how: str) -> None:
        """The run has ended."""
        self.tick(now)
        self._say(f"{how} after {clock(self._progress.seconds(now))}")
