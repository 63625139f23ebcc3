"""A run as a table in a terminal, drawn anew a few times a second."""

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from beam_pipeline.progress.model import Line, Progress, Status
from beam_pipeline.progress.text import clock, pace

# From this width on there is room for a wider bar and for tokens.
WIDE = 100
_STYLES = {Status.WAITING: "dim", Status.RUNNING: "bold", Status.DONE: ""}


class LiveView:
    """Draws the steps below what is printed on the console, and leaves them there at the end."""

    def __init__(self, progress: Progress, console: Console) -> None:
        self._progress = progress
        self._console = console
        self._foot = "Ctrl-C stops; --resume goes on"
        self._live: Live | None = None

    def tick(self, now: float) -> None:
        """Draws."""
        self._draw(now, self._foot)

    def stopping(self) -> None:
        """A person wants the run to stop."""
        self._foot = "Stopping: finishing what is under way (Ctrl-C again leaves at once)"

    def close(self, now: float, how: str) -> None:
        """Draws for the last time."""
        self._draw(now, how.capitalize())
        if self._live is not None:
            self._live.stop()

    def _draw(self, now: float, foot: str) -> None:
        lines = self._progress.lines(now)
        narrow = self._console.width < WIDE
        drawn = Group(
            steps_table(lines, narrow=narrow, ascii_only=self._console.options.ascii_only),
            Text(f"  {clock(self._progress.seconds(now))}  {foot}", style="dim", no_wrap=True),
        )
        if self._live is None:
            self._live = Live(drawn, console=self._console, auto_refresh=False)
            self._live.start()
        self._live.update(drawn, refresh=True)


def steps_table(lines: list[Line], *, narrow: bool, ascii_only: bool) -> Table:
    """A row a step."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    if not narrow:
        table.add_column(justify="right", no_wrap=True)
    for justify in ("left", "right", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    marks = dict(zip(Status, ".>+" if ascii_only else "·▸✓", strict=True))
    for line in lines:
        running = line.status is Status.RUNNING
        known = running and line.share is not None
        seen = line.status is not Status.WAITING
        table.add_row(
            Text(marks[line.status], style="green" if line.status is Status.DONE else ""),
            line.title,
            f"{line.documents:,} docs" if line.documents else "",
            pace(line),
            *([] if narrow else [f"{line.tokens:,} tokens" if line.tokens else ""]),
            _bar(line.share, 10 if narrow else 20) if known else "",
            f"{line.share:.0%}" if known else "",
            clock(line.seconds) if seen else "",
            f"{clock(line.seconds_left)} left" if line.seconds_left is not None else "",
            style=_STYLES[line.status],
        )
    return table


def _bar(share: float | None, width: int) -> ProgressBar:
    return ProgressBar(total=1, completed=share or 0, width=width)
