"""A run as lines of a log: one when a step ends, and one now and then within a long one."""

from collections.abc import Callable

from beam_pipeline.progress.model import Progress, Status
from beam_pipeline.progress.text import clock, plain

EVERY_SECONDS = 30.0
# A step that is over sooner and has counted nothing is not worth a line.
_LEAST_SECONDS = 0.5


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
        self._stopping = self._said_so = False

    def tick(self, now: float) -> None:
        """See `View`."""
        if self._stopping and not self._said_so:
            self._said_so = True
            self._say("stopping: what is under way is finished (Ctrl-C again leaves at once)")
        for line in self._progress.lines(now):
            ended = line.status is Status.DONE
            if line.title in self._told or line.status is Status.WAITING:
                continue
            if ended:
                self._told.add(line.title)
                if line.seconds < _LEAST_SECONDS and not line.documents:
                    continue
            elif now - self._spoke < EVERY_SECONDS:
                continue
            self._spoke = now
            self._say(plain(line, ended=ended))

    def stopping(self) -> None:
        """See `View`."""
        self._stopping = True

    def close(self, now: float, how: str) -> None:
        """See `View`."""
        self.tick(now)
        self._say(f"{how} after {clock(self._progress.seconds(now))}")
