"""What the terminal shows of a finished corpus: the fate of every document, and the mix."""

from typing import Any

from rich.console import Console
from rich.table import Table

from beam_pipeline.verify import read_manifest
from transforms import ledger

_COLUMNS = (
    ("read", ledger.READ),
    ("malformed", ledger.MALFORMED),
    ("empty", ledger.EMPTY),
    ("filtered", ledger.FILTERED),
    ("exact dup.", ledger.EXACT_DUPLICATE),
    ("near dup.", ledger.NEAR_DUPLICATE),
    ("no tokens", ledger.NO_TOKENS),
    ("over cap", ledger.OVER_CAP),
    ("over budget", ledger.OVER_BUDGET),
    ("train", ledger.TRAIN),
    ("val", ledger.VAL),
)


def print_summary(folder: str, console: Console) -> None:
    """Prints the ledger, the mix and where the shards are."""
    manifest = read_manifest(folder)
    console.print(ledger_table(manifest))
    console.print(reasons_table(manifest))
    console.print(mix_table(manifest))
    for damaged in manifest["damaged_files"]:
        console.print(f"{damaged['file']}: {damaged['kind']}, {damaged['detail']}", soft_wrap=True)
    for name, split in manifest["splits"].items():
        console.print(
            f"{name}: {split['n_shards']} shards, {split['n_sequences']:,} windows of "
            f"{manifest['seq_len']} in {folder}/{name}",
            highlight=False,
            soft_wrap=True,
        )


def ledger_table(manifest: dict[str, Any]) -> Table:
    """Documents by source and outcome; columns in which nothing stands are left out."""
    account = manifest["ledger"]
    counts = {
        source: {outcome: _count(outcomes, outcome) for _, outcome in _COLUMNS}
        for source, outcomes in account.items()
    }
    shown = [(title, outcome) for title, outcome in _COLUMNS if counts["total"][outcome]]
    table = Table(title="What became of every document", title_justify="left")
    table.add_column("source")
    for title, _ in shown:
        table.add_column(title, justify="right")
    for source, by_outcome in counts.items():
        if source == "total":
            table.add_section()
        table.add_row(source, *(f"{by_outcome[outcome]:,}" for _, outcome in shown))
    return table


def _count(outcomes: dict[str, dict[str, int]], outcome: str) -> int:
    """Documents of an outcome, all its reasons together."""
    return sum(
        amount["documents"]
        for name, amount in outcomes.items()
        if name == outcome or name.startswith(f"{outcome}:")
    )


def reasons_table(manifest: dict[str, Any]) -> Table:
    """Rejected rows by source and reason."""
    table = Table(title="Rejected, by reason", title_justify="left")
    for title in ("source", "step", "reason"):
        table.add_column(title)
    table.add_column("documents", justify="right")
    for source, outcomes in manifest["ledger"].items():
        if source == "total":
            continue
        for outcome, amount in outcomes.items():
            step, _, reason = outcome.partition(":")
            if reason:
                table.add_row(source, step, reason.replace("_", " "), f"{amount['documents']:,}")
    return table


def mix_table(manifest: dict[str, Any]) -> Table:
    """Target and realized share of the train split's tokens."""
    table = Table(title="Mix of the train split", title_justify="left")
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
