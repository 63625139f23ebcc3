"""Shows a run while it works: hands what the runner tells to the model, and looks now and then."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from rich.console import Console

from beam_pipeline.progress.model import Progress
from beam_pipeline.progress.plain import PlainView
from beam_pipeline.progress.steps import Step

# A run that is over sooner shows nothing.
_PATIENCE_SECONDS = 1.0
_LOOK_SECONDS = 0.4


class View(Protocol):
    """Where progress is shown; `stopping` may be called at any time, the others in turn."""

    def tick(self, now: float) -> None:
        """Looks at the progress and shows it."""

    def stopping(self) -> None:
        """The run is asked to stop; to be shown at the next look."""

    def close(self, now: float, how: str) -> None:
        """Shows the end; `how` is "finished", "stopped" or "failed"."""


class Watch:
    """An `Observer` of a run that is shown in a view.

    Args:
      say: prints a line on each stage; None: nothing is said of them.
    """

    def __init__(
        self, progress: Progress, view: View, say: Callable[[str], None] | None = None
    ) -> None:
        self._progress = progress
        self._view = view
        self._say = say
        self._began = time.monotonic()
        self._stage: tuple[str, float] = ("", 0.0)
        self._over = False
        self._shown = False
        self._wake = threading.Event()
        self._looking = threading.Thread(target=self._look, name="progress", daemon=True)
        self._looking.start()

    def stage_started(self, transforms: Sequence[str]) -> None:
        """See `local_runner.Observer`."""
        now = time.monotonic()
        self._progress.stage_started(transforms, now)
        if self._say is not None:
            self._stage = (_name(transforms), now)

    def stage_cut(self, size: int) -> None:
        """See `local_runner.Observer`."""
        self._progress.stage_cut(size)

    def parts_done(self, size: int, counts: Mapping[str, int]) -> None:
        """See `local_runner.Observer`."""
        self._progress.parts_done(size, counts, time.monotonic())

    def stage_done(self) -> None:
        """See `local_runner.Observer`."""
        now = time.monotonic()
        self._progress.stage_done(now)
        if self._say is not None:
            name, began = self._stage
            self._say(f"stage {name}: {now - began:.2f} s")

    def stopping(self) -> None:
        """Shows at once that the run is asked to stop."""
        self._view.stopping()
        self._wake.set()

    def end(self, how: str) -> None:
        """Shows the end, and nothing after it."""
        now = time.monotonic()
        self._progress.ended(now)
        self._over = True
        self._wake.set()
        self._looking.join()
        if self._shown:
            self._view.close(now, how)

    def _look(self) -> None:
        self._wake.wait(_PATIENCE_SECONDS)
        while not self._over:
            self._shown = True
            self._wake.clear()
            self._view.tick(time.monotonic())
            self._wake.wait(_LOOK_SECONDS)


def _name(transforms: Sequence[str]) -> str:
    """What a fused stage does, without what only passes elements on, and in little detail."""
    doing = [
        "/".join(name.split("/")[:2])
        for name in transforms
        if not name.endswith(("/Read", "/Write", "/Impulse")) and "/Write/" not in name
    ]
    return " + ".join(dict.fromkeys(doing or transforms))


@contextlib.contextmanager
def watched(steps: Sequence[Step], console: Console, *, verbose: bool) -> Iterator[Watch]:
    """Shows a run on the console while the block lasts."""
    now = time.monotonic()
    progress = Progress(steps, now)

    def say(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    view: View
    if console.is_terminal and not console.is_dumb_terminal:
        from beam_pipeline.progress.live import LiveView

        view = LiveView(progress, console)
    else:
        view = PlainView(progress, say, now)
    watch = Watch(progress, view, say if verbose else None)
    how = "failed"
    try:
        yield watch
        how = "finished"
    except KeyboardInterrupt:
        how = "stopped"
        raise
    finally:
        watch.end(how)
