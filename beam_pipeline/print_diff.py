"""The differences of two outputs as a terminal shows them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from beam_pipeline.document_sets import Comparison, Example
from transforms import storage

if TYPE_CHECKING:
    from beam_pipeline.diff import Change, Differences

_LESS, _MORE = "red", "green"
_SHORT = 12
# Where a recipe names files.
_FILES = (".files", ".file")

SHARE = "share"
# A smaller difference would be printed as none.
_LEAST_SHARE = 0.0005


def print_differences(found: "Differences", console: Console) -> None:
    """Prints what differs, each part of it that has anything as a table."""
    console.print(Text(f"A  {found.before}\nB  {found.after}", "bold"), soft_wrap=True)
    if not found.any():
        documents = sum(one.common for one in found.documents.values())
        console.print(f"nothing differs; {documents:,} documents", style="green", highlight=False)
        return
    console.print(
        "the shards are the same, byte for byte" if found.same_bytes else "the shards differ",
        style="green" if found.same_bytes else "yellow",
    )
    _print_values("Recipe", found.recipe, console)
    _print_inputs(found.inputs, console)
    _print_values("Tokenizer", found.tokenizer, console)
    _print_values("Versions", found.versions, console)
    _print_numbers("What became of documents", found.ledger, console)
    _print_numbers("Sizes", found.sizes, console)
    _print_numbers("Mix of the train split", found.mix, console)
    for layout, comparison in found.documents.items():
        _print_documents(layout, comparison, console)
    for change in found.warnings:
        side, style = ("A", _LESS) if change.before else ("B", _MORE)
        console.print(Text(f"warning in {side} only: {change.place}", style))


def _print_values(title: str, changes: "Sequence[Change]", console: Console) -> None:
    if not changes:
        return
    table = _table(title)
    for heading, style in (("A", _LESS), ("B", _MORE)):
        table.add_column(heading, style=style, overflow="fold")
    for change in changes:
        table.add_row(change.place, *_sides(change))
    console.print(table)


def _sides(change: "Change") -> tuple[str, str]:
    """Both values, files as seen from here, unless that would hide how they differ."""
    if change.place.endswith(_FILES):
        before, after = (_plain(_nearby(value)) for value in (change.before, change.after))
        if before != after:
            return before, after
    return _plain(change.before), _plain(change.after)


def _nearby(value: Any) -> Any:
    if isinstance(value, list):
        return [_nearby(path) for path in value]
    return storage.nearby(value) if isinstance(value, str) else value


def _print_inputs(changes: "Sequence[Change]", console: Console) -> None:
    """Files by source, counted: there may be thousands."""
    if not changes:
        return
    table = _table("Inputs that differ")
    for title in ("only A", "only B", "other size", "such as"):
        table.add_column(title, justify="left" if title == "such as" else "right", overflow="fold")
    by_source: dict[str, list[Change]] = {}
    for change in changes:
        by_source.setdefault(change.place.partition(".")[0], []).append(change)
    for source, some in by_source.items():
        only_a = sum(change.after is None for change in some)
        only_b = sum(change.before is None for change in some)
        counts = (only_a, only_b, len(some) - only_a - only_b)
        example = some[0].place.partition(".")[2].rpartition("/")[2]
        table.add_row(source, *(f"{n:,}" if n else "-" for n in counts), example)
    console.print(table)


def _print_numbers(title: str, changes: "Sequence[Change]", console: Console) -> None:
    if not changes:
        return
    table = _table(title)
    table.add_column("")
    for heading in ("A", "B", "B - A"):
        table.add_column(heading, justify="right", no_wrap=True)
    last = ""
    for change in changes:
        group, _, name = change.place.partition(".")
        before, after = change.before or 0, change.after or 0
        as_share = name == SHARE
        delta = after - before
        if as_share and abs(delta) < _LEAST_SHARE:
            continue
        table.add_row(
            group if group != last else "",
            name.replace(":", ": ").replace("_", " "),
            *(f"{n:.1%}" if as_share else _number(n) for n in (before, after)),
            Text(
                f"{100 * delta:+.1f} points" if as_share else _number(delta, sign=True),
                _MORE if delta > 0 else _LESS,
            ),
        )
        last = group
    console.print(table)


def _print_documents(layout: str, found: Comparison, console: Console) -> None:
    where = f" of {layout}" if layout else ""
    parts = (
        ("lost", found.lost, found.lost_examples),
        ("gained", found.gained, found.gained_examples),
        ("in another split", found.moved, found.moved_examples),
    )
    if not any(counts for _, counts, _ in parts):
        console.print(f"documents{where}: the same {found.common:,}", highlight=False)
        return
    table = _table(f"Documents{where}; {found.common:,} are in both")
    for name, _, _ in parts:
        table.add_column(name, justify="right")
    for source in sorted({*found.lost, *found.gained, *found.moved}):
        amounts = (counts.get(source) for _, counts, _ in parts)
        table.add_row(source, *(f"{count:,}" if count else "-" for count in amounts))
    console.print(table)
    for name, _, examples in parts:
        if examples:
            console.print(f"{name}, for example:", style="bold")
        for example in examples:
            console.print(f"  {_example(example)}", highlight=False, soft_wrap=True, markup=False)


def _example(example: Example) -> str:
    name = example.name or example.digest[:_SHORT]
    return f"{example.source} {name} ({' to '.join(example.splits)})"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("", overflow="fold")
    return table


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


def _number(value: float, sign: bool = False) -> str:
    form = "+" if sign else ""
    return f"{value:{form},}" if isinstance(value, int) else f"{value:{form}.2f}"
