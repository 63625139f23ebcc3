"""What is known of a run at a moment, step by step; told by the runner, asked by a view."""

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from beam_pipeline.progress.steps import Step, place_of
from transforms import counter_names

# The pace of the last seconds tells how long the rest takes: a resumed run rushes through what is
# done, and inputs differ.
PACE_SECONDS = 20.0
# What share must be done, and for how long, before the time left is worth saying.
_LEAST_SHARE, _LEAST_SECONDS = 0.02, 1.0


class Status(Enum):
    """Where a step is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True)
class Line:
    """A step at a moment.

    Attributes:
      documents: it has worked on, or an earlier run has.
      resumed: how many of these an earlier run has.
      mb_per_second: 10^6 bytes of text; None where no text is read.
      tokens: it has made.
      share: of its work that is done, 0 to 1; None where it cannot be seen.
      seconds: it has taken so far.
      seconds_left: None as long as that is a guess.
    """

    title: str
    status: Status
    documents: int
    resumed: int
    mb_per_second: float | None
    tokens: int
    share: float | None
    seconds: float
    seconds_left: float | None


class _Running:
    """What a step has come to."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.counts: Counter[str] = Counter()
        # Work of its stages that have ended, and of the one that runs.
        self.done = 0.0
        self.stage = 0.0
        # When work began, and how long its first part took.
        self.began: float | None = None
        self.first = 0.0
        self.pace: deque[tuple[float, float]] = deque()

    @property
    def share(self) -> float:
        return min(1.0, self.done + self.stage)

    def note_pace(self, now: float) -> None:
        if not self.pace and self.began is not None:
            self.first = now - self.began
        self.pace.append((now, self.share))
        while len(self.pace) > 2 and self.pace[1][0] <= now - max(PACE_SECONDS, self.first):
            self.pace.popleft()

    def seconds_left(self, now: float) -> float | None:
        """None as long as it is a guess.

        When the first part is done other workers are in the midst of theirs, and the start has cost
        something: the pace is that from there on, over at least as long as that part took.
        """
        if not self.pace:
            return None
        noted, before = self.pace[0]
        gained, took = self.share - before, self.pace[-1][0] - noted
        if gained < _LEAST_SHARE or took < max(_LEAST_SECONDS, self.first):
            return None
        # Since the last part was done some of the rest has been worked on.
        since = now - self.pace[-1][0]
        return max(0.0, (1 - self.share) * took / gained - since)


class Progress:
    """Follows a run; what reports may come from any thread. Times are seconds of one clock."""

    def __init__(self, steps: Sequence[Step], now: float) -> None:
        self._steps = steps
        self._began = self._looked = now
        self._running = [_Running() for _ in steps]
        self._now_at = 0
        self._reached = 0
        self._share_of_stage = 0.0
        self._size = self._size_done = 0
        self._ended: float | None = None
        self._sees_parts = False
        self._lock = threading.Lock()

    def stage_started(self, transforms: Iterable[str], now: float) -> None:
        """A fused stage begins; see `local_runner.Observer`."""
        with self._lock:
            self._pass(now)
            self._size = self._size_done = 0
            self._share_of_stage = 0.0
            found = place_of(transforms, self._steps)
            if found is None:
                return
            place, self._share_of_stage = found
            self._now_at = place
            self._reached = max(self._reached, place)
            running = self._running[place]
            if running.began is None:
                running.began = now

    def stage_cut(self, size: int) -> None:
        """The stage has parts of so many bytes, which will be reported."""
        with self._lock:
            self._sees_parts = True
            self._size += size

    def parts_done(self, size: int, counts: Mapping[str, int], now: float) -> None:
        """Parts of so many bytes are done, in which transforms counted these amounts."""
        with self._lock:
            self._pass(now)
            running = self._running[self._now_at]
            running.counts.update(counts)
            if self._share_of_stage and self._size:
                self._size_done += size
                running.stage = self._share_of_stage * min(1.0, self._done_of_stage())
                running.note_pace(now)

    def stage_done(self, now: float) -> None:
        """The stage has ended."""
        with self._lock:
            self._pass(now)
            running = self._running[self._now_at]
            running.done += self._share_of_stage
            running.stage = 0.0
            if self._share_of_stage:
                running.note_pace(now)
            self._share_of_stage = 0.0

    def ended(self, now: float) -> None:
        """The run has ended, well or not."""
        with self._lock:
            self._pass(now)
            self._ended = now

    def seconds(self, now: float) -> float:
        """Since the run began, until it ended."""
        return (now if self._ended is None else self._ended) - self._began

    def lines(self, now: float) -> list[Line]:
        """Every step, in order."""
        with self._lock:
            self._pass(now)
            return [self._line(place, now) for place in range(len(self._steps))]

    def _done_of_stage(self) -> float:
        """Which share of the stage's work is done.

        A stage that reads pieces tells how much input it has read, and the step that pieces come
        from has told how much there is; as elements, large pieces and small ones look the same.
        """
        counted = [running.counts[counter_names.INPUT_BYTES] for running in self._running]
        there_is, read = max(counted[: self._now_at], default=0), counted[self._now_at]
        return read / there_is if there_is and read else self._size_done / self._size

    def _pass(self, now: float) -> None:
        """Gives the time that has passed to the step that ran."""
        if self._ended is None:
            self._running[self._now_at].seconds += max(0.0, now - self._looked)
            self._looked = max(self._looked, now)

    def _line(self, place: int, now: float) -> Line:
        running, step = self._running[place], self._steps[place]
        status = self._status(place)
        counts = running.counts
        size = counts[counter_names.TEXT_BYTES]
        share = running.share if step.work and self._sees_parts else None
        going = status is Status.RUNNING and share is not None
        return Line(
            title=step.title,
            status=status,
            documents=counts[counter_names.DOCUMENTS] + counts[counter_names.RESUMED],
            resumed=counts[counter_names.RESUMED],
            mb_per_second=size / 1e6 / running.seconds if size and running.seconds else None,
            tokens=counts[counter_names.TOKENS],
            share=share,
            seconds=running.seconds,
            seconds_left=running.seconds_left(now) if going else None,
        )

    def _status(self, place: int) -> Status:
        if place == self._now_at and (self._ended is None or self._running[place].share < 1):
            return Status.RUNNING
        return Status.DONE if place <= self._reached else Status.WAITING
