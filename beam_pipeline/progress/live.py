"""A run as a table in a terminal, drawn anew a few times a second."""

from collections.abc import Sequence

from rich.console import Console
from rich.live import Live
from rich.text import Text

from beam_pipeline.progress.model import Line, Progress, Status
from beam_pipeline.progress.text import clock

# From this width on there is room for a wider bar and for tokens.
WIDE = 100
_STYLES = {Status.WAITING: "dim", Status.RUNNING: "bold", Status.DONE: "green"}


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
        wide = self._console.width >= WIDE
        ascii_only = self._console.options.ascii_only
        rows = steps_rows(self._progress.lines(now), wide=wide, ascii_only=ascii_only)
        rows.append(Text(f"   {clock(self._progress.seconds(now))}  {foot}", style="dim"))
        drawn = Text("\n", no_wrap=True, overflow="crop").join(rows)
        if self._live is None:
            self._live = Live(
                drawn, console=self._console, auto_refresh=False, redirect_stdout=False
            )
            self._live.start()
        self._live.update(drawn, refresh=True)


def steps_rows(lines: Sequence[Line], *, wide: bool, ascii_only: bool) -> list[Text]:
    """A row a step, below one of titles; `rich.table` would take six times as long to draw it."""
    head = _row("", "documents", "MB/s", "tokens", "", "", "time", "left", wide=wide)
    marks = dict(zip(Status, ".>+" if ascii_only else "·▸✓", strict=True))
    rows = [Text(f"   {head}", style="dim")]
    for line in lines:
        share = line.share if line.status is Status.RUNNING else None
        cells = _row(
            line.title,
            f"{line.documents:,}" if line.documents else "",
            f"{line.mb_per_second:,.1f}" if line.mb_per_second is not None else "",
            f"{line.tokens:,}" if line.tokens else "",
            _bar(share, 20 if wide else 9, ascii_only=ascii_only),
            "" if share is None else f"{share:.0%}",
            clock(line.seconds) if line.status is not Status.WAITING else "",
            "" if line.seconds_left is None else clock(line.seconds_left),
            wide=wide,
        )
        rows.append(Text(f"{marks[line.status]}  {cells}", style=_STYLES[line.status]))
    return rows


def _row(
    title: str,
    documents: str,
    pace: str,
    tokens: str,
    bar: str,
    share: str,
    time: str,
    left: str,
    *,
    wide: bool,
) -> str:
    """Cells in columns that do not move while numbers grow."""
    middle = f"{tokens:>16}  {bar:20}" if wide else f"{bar:9}"
    return f"{title:18}  {documents:>11}  {pace:>7}  {middle}  {share:>4}  {time:>7}  {left:>7}"


def _bar(share: float | None, width: int, *, ascii_only: bool) -> str:
    if share is None:
        return ""
    done = round(share * width)
    full, rest = "#-" if ascii_only else "━┄"
    return full * done + rest * (width - done)
