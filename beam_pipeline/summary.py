"""What the terminal shows of a finished corpus: the fate of every document, and the mix."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from beam_pipeline.finished import read_manifest
from beam_pipeline.manifest import REPORT
from transforms import ledger

_ROWS = (
    ("read", ledger.READ),
    ("malformed", ledger.MALFORMED),
    ("empty", ledger.EMPTY),
    ("filtered", ledger.FILTERED),
    ("exact duplicates", ledger.EXACT_DUPLICATE),
    ("near duplicates", ledger.NEAR_DUPLICATE),
    ("  of these through a chain only", ledger.CHAINED),
    ("duplicates of a problem", ledger.DUPLICATE),
    ("encode to nothing", ledger.NO_TOKENS),
    ("held out, over the cap", ledger.OVER_CAP),
    ("over budget", ledger.OVER_BUDGET),
    ("over the limit", ledger.OVER_LIMIT),
    ("train", ledger.TRAIN),
    ("  and again in later epochs", ledger.TRAIN_REPEATS),
    ("val", ledger.VAL),
    ("validation", ledger.VALIDATION),
    ("oddities that were kept", ledger.KEPT_WITH),
)


def print_summary(folder: str, console: Console) -> None:
    """Prints the ledger, the mix and where the shards are."""
    manifest = read_manifest(folder)
    console.print(ledger_table(manifest))
    console.print(mix_table(manifest))
    print_damage(manifest, console)
    print_warnings(manifest, console)
    print_shards(folder, manifest["splits"], manifest["seq_len"], console)
    print_report(folder, console)


def print_report(folder: str, console: Console) -> None:
    """Prints where the report is."""
    console.print(f"report: {folder}/{REPORT}", highlight=False, soft_wrap=True)


def print_shards(
    folder: str, parts: dict[str, dict[str, Any]], seq_len: int, console: Console
) -> None:
    """Prints where the shards of each part are, by its path below the folder."""
    for name, part in parts.items():
        console.print(
            f"{name}: {in_shards(part['n_shards'])}, {part['n_sequences']:,} windows of "
            f"{seq_len} in {folder}/{name}",
            highlight=False,
            soft_wrap=True,
        )


def in_shards(count: int) -> str:
    """So many shards, in words."""
    return f"{count:,} shard" if count == 1 else f"{count:,} shards"


def print_warnings(manifest: dict[str, Any], console: Console) -> None:
    """Prints what should make people look twice."""
    for warning in manifest["warnings"]:
        text = Text.assemble(("warning: ", "bold yellow"), warning["message"])
        console.print(text, soft_wrap=True)


def print_damage(manifest: dict[str, Any], console: Console) -> None:
    """Prints what reading passed over."""
    for damaged in manifest["damaged_files"]:
        console.print(f"{damaged['file']}: {damaged['kind']}, {damaged['detail']}", soft_wrap=True)


def ledger_table(manifest: dict[str, Any]) -> Table:
    """Documents by outcome and source, rejects by reason; outcomes that nobody had are left out."""
    account = manifest["ledger"]
    table = Table(title="What became of every document", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for source in account:
        table.add_column(source, justify="right", no_wrap=True)
    for title, outcome in _ROWS:
        reasons = sorted(name for name in account["total"] if name.startswith(f"{outcome}:"))
        if outcome not in account["total"] and not reasons:
            continue
        table.add_row(title, *_counts(account, outcome, *reasons), style=_STYLES.get(outcome))
        for reason in reasons:
            words = reason.partition(":")[2].replace("_", " ")
            table.add_row(f"  {words}", *_counts(account, reason), style="dim")
    return table


_KEPT = "bold green"
_STYLES = {
    ledger.READ: "bold",
    ledger.TRAIN: _KEPT,
    ledger.VAL: _KEPT,
    ledger.VALIDATION: _KEPT,
}


def _counts(account: dict[str, dict[str, dict[str, int]]], *outcomes: str) -> list[str]:
    """Documents of some outcomes together, by source, as table cells."""
    counts = [
        sum(found[outcome]["documents"] for outcome in outcomes if outcome in found)
        for found in account.values()
    ]
    return [f"{count:,}" if count else "-" for count in counts]


def mix_table(manifest: dict[str, Any]) -> Table:
    """Target and realized share of the train split's tokens."""
    table = Table(title="Mix of the train split", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("source")
    for title in ("target", "realized", "tokens", "of target", "epochs"):
        table.add_column(title, justify="right")
    for source in manifest["sources"]:
        target = source["target_tokens"]
        table.add_row(
            source["name"],
            f"{source['target_weight']:.1%}",
            f"{source['realized_weight']:.1%}",
            f"{source['realized_tokens']:,}",
            f"{source['realized_tokens'] / target:.0%}" if target else "-",
            f"{source['epochs']:.2f}",
        )
    return table
