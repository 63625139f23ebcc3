"""`corpusbeam show --rejects`: samples of the rows that a source lost."""

from typing import Any

import orjson
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from beam_pipeline.finished import read_manifest
from transforms import storage
from transforms.errors import OutputError
from transforms.rejects import FOLDER

CHARACTERS = 400


def show_rejects(
    folder: str, source: str | None, reason: str | None, most: int, console: Console
) -> None:
    """Prints rejected rows, by source and reason.

    Args:
      source: of this source only.
      reason: for this reason only: `too_few_words`, or whole as `filtered:too_few_words`, or all of
        a kind as `filtered`.
      most: rows to print of each source and reason.

    Raises:
      OutputError: there are none, or none of that source or reason; it says which there are.
    """
    sampled = _sampled(folder)
    if not sampled:
        raise OutputError(
            f"{folder} has no rejected rows on record: no source lost a row before deduplication"
        )
    _check("source", source, sorted({name for name, _ in sampled}), folder)
    of_source = {key: rows for key, rows in sampled.items() if source in (None, key[0])}
    _check_reason(reason, sorted({outcome for _, outcome in of_source}), folder, source)
    account = read_manifest(folder)["ledger"]
    for (name, outcome), rows in sorted(of_source.items()):
        if reason is None or reason in _names(outcome):
            shown = rows[:most]
            count = account[name][outcome]["documents"]
            title = f"{name}: {_words(outcome)}, {len(shown)} of {count:,}"
            console.print(Text(title, "bold cyan"))
            for row in shown:
                _print_row(row, console)


def _print_row(row: dict[str, Any], console: Console) -> None:
    place = f"row {row['row']:,} of {storage.nearby(row['file'])}"
    if row["from_byte"]:
        place = f"{place}, from byte {row['from_byte']:,} on"
    console.print(Text(f"  {place}", "dim"), soft_wrap=True)
    text = " ".join(row["text"].split())
    cut = "…" if len(text) > CHARACTERS else ""
    console.print(Padding(Text(f"{text[:CHARACTERS]}{cut}"), (0, 0, 0, 2)))


def _sampled(folder: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name in read_manifest(folder)["ledger"]:
        path = storage.join(folder, FOLDER, f"{name}.jsonl")
        if storage.exists(path):
            for line in storage.read_bytes(path).splitlines():
                row = orjson.loads(line)
                found.setdefault((name, row["reason"]), []).append(row)
    return found


def _names(outcome: str) -> tuple[str, str, str]:
    kind, _, reason = outcome.partition(":")
    return outcome, kind, reason


def _words(outcome: str) -> str:
    return outcome.replace(":", ", ").replace("_", " ")


def _check(what: str, asked: str | None, known: list[str], folder: str) -> None:
    if asked not in (None, *known):
        raise OutputError(
            f"{folder} has no rejected rows of {what} {asked!r}: it has {', '.join(known)}"
        )


def _check_reason(reason: str | None, outcomes: list[str], folder: str, source: str | None) -> None:
    if reason is not None and not any(reason in _names(outcome) for outcome in outcomes):
        of = f" of {source}" if source else ""
        raise OutputError(
            f"{folder} has no rejected rows{of} for {reason!r}: it has {', '.join(outcomes)}"
        )
