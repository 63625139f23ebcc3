"""The tables: medians of the runs, growth between inputs, floors; for terminal and markdown."""

import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.inputs import Input
from benchmarks.records import Floors, Run

OURS = "corpusbeam"


class Table(NamedTuple):
    """A table of cells that are ready to print; the first column is text."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class _Median(NamedTuple):
    given: Input
    contender: str
    wall: float
    cpu: float
    rss: float
    runs: list[Run]


def tables(inputs: Sequence[Input], runs: Sequence[Run], floors: Floors) -> list[Table]:
    """All tables that the runs give."""
    medians = list(_medians(inputs, runs))
    found = [_side_by_side(medians), _growth(medians, floors), _floors(floors)]
    return [table for table in found if table.rows]


def print_tables(found: Iterable[Table], console: Console) -> None:
    """Prints tables to a terminal."""
    for table in found:
        shown = RichTable(title=table.title, title_justify="left", box=SIMPLE_HEAD)
        for place, name in enumerate(table.header):
            shown.add_column(name, justify="right" if place else "left", no_wrap=True)
        for row in table.rows:
            shown.add_row(*row, style="bold" if OURS in row[:2] else None)
        console.print(shown)


def as_markdown(found: Iterable[Table]) -> str:
    """Tables as markdown."""
    parts = []
    for table in found:
        rule = ["---", *["---:"] * (len(table.header) - 1)]
        lines = [f"### {table.title}", ""]
        lines += [f"| {' | '.join(cells)} |" for cells in (table.header, rule, *table.rows)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _medians(inputs: Sequence[Input], runs: Sequence[Run]) -> Iterable[_Median]:
    for given in inputs:
        here = [run for run in runs if run.input == given.name]
        for contender in dict.fromkeys(run.contender for run in here):
            own = [run for run in here if run.contender == contender]
            yield _Median(
                given,
                contender,
                statistics.median(run.wall for run in own),
                statistics.median(run.cpu for run in own),
                statistics.median(run.rss for run in own),
                own,
            )


def _side_by_side(medians: Sequence[_Median]) -> Table:
    ours = {median.given.name: median.wall for median in medians if median.contender == OURS}
    rows = []
    for median in medians:
        given, wall = median.given, median.wall
        ratio = f"{wall / ours[given.name]:.1f}" if given.name in ours else "-"
        rows.append(
            (
                given.name,
                median.contender,
                f"{given.megabytes:,.1f}",
                f"{given.documents:,}",
                f"{wall:,.1f}",
                f"{median.cpu:,.1f}",
                f"{median.cpu / wall:.2f}",
                f"{median.rss / 1e6:,.0f}",
                f"{given.megabytes / wall:,.1f}",
                f"{median.runs[0].documents:,}",
                f"{median.runs[0].tokens:,}",
                ratio,
                str(len(median.runs)),
                f"{statistics.median(run.load for run in median.runs):.1f}",
            )
        )
    return Table(
        "Side by side (medians)",
        (
            "input",
            "program",
            "MB",
            "documents",
            "wall s",
            "CPU s",
            "CPU/wall",
            "peak MB",
            "MB/s",
            "kept",
            "tokens",
            f"time / {OURS}'s",
            "runs",
            "load before",
        ),
        rows,
    )


def _growth(medians: Sequence[_Median], floors: Floors) -> Table:
    rows = []
    for contender, series in dict.fromkeys((m.contender, m.given.series) for m in medians):
        own = [m for m in medians if (m.contender, m.given.series) == (contender, series)]
        own.sort(key=lambda median: median.given.megabytes)
        for small, large in pairwise(own):
            more = large.given.megabytes - small.given.megabytes
            cpu = (large.cpu - small.cpu) / more
            rss = (large.rss - small.rss) / 1e6 / more
            above = "-"
            if contender == OURS and series == "x":
                above = f"{cpu / floors.seconds_per_megabyte:.2f}"
            step = f"{small.given.name} to {large.given.name}"
            rows.append((step, contender, f"{cpu:.4f}", f"{rss:.3f}", above))
    header = ("inputs", "program", "CPU s per MB", "peak MB per MB", "CPU / floors")
    return Table("For each additional MB of text", header, rows)


def _floors(floors: Floors) -> Table:
    rows = [
        (
            floor.step,
            str(floor.times),
            f"{floor.megabytes / floor.seconds:,.0f}" if floor.seconds else "-",
            f"{floor.times * floor.seconds / floors.megabytes:.5f}",
        )
        for floor in floors.steps
    ]
    rows.append(("sum", "", "", f"{floors.seconds_per_megabyte:.5f}"))
    header = ("step", "times", "MB/s alone", "CPU s per MB of input")
    return Table("Floors: each step alone, one thread", header, rows)
