"""A run as a table in a terminal, drawn anew a few times a second."""

from collections.abc import Iterator

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from beam_pipeline.progress.model import Line, Progress, Status
from beam_pipeline.progress.text import clock

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
        """See `View`."""
        self._draw(now, self._foot)

    def stopping(self) -> None:
        """See `View`."""
        self._foot = "Stopping: finishing what is under way (Ctrl-C again leaves at once)"

    def close(self, now: float, how: str) -> None:
        """See `View`."""
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
    """A row a step, in columns that do not move while numbers grow."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    columns = [("", 1), ("", 18), ("documents", 11), ("MB/s", 6), ("tokens", 14)]
    columns += [("", 8 if narrow else 20), ("", 4), ("time", 7), ("left", 7)]
    for title, width in columns:
        if title != "tokens" or not narrow:
            justify: JustifyMethod = "right" if title else "left"
            table.add_column(title, justify=justify, min_width=width, no_wrap=True)
    marks = dict(zip(Status, ".>+" if ascii_only else "·▸✓", strict=True))
    for line in lines:
        table.add_row(
            Text(marks[line.status], style="green" if line.status is Status.DONE else ""),
            *_cells(line, narrow=narrow),
            style=_STYLES[line.status],
        )
    return table


def _cells(line: Line, *, narrow: bool) -> Iterator[RenderableType]:
    yield line.title
    yield f"{line.documents:,}" if line.documents else ""
    yield f"{line.mb_per_second:,.1f}" if line.mb_per_second is not None else ""
    if not narrow:
        yield f"{line.tokens:,}" if line.tokens else ""
    if line.status is Status.RUNNING and line.share is not None:
        yield ProgressBar(total=1, completed=line.share, width=8 if narrow else 20)
        yield f"{line.share:.0%}"
    else:
        yield ""
        yield ""
    yield clock(line.seconds) if line.status is not Status.WAITING else ""
    yield clock(line.seconds_left) if line.seconds_left is not None else ""
