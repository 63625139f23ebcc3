"""What the terminal shows of finished traces: the fate of every row, and what layouts hold."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from beam_pipeline.summary import ledger_table, print_damage
from beam_pipeline.verify import read_manifest
from transforms import ledger


def print_traces_summary(folder: str, console: Console) -> None:
    """Prints the ledger, the layouts and where the shards are."""
    manifest = read_manifest(folder)
    console.print(ledger_table(manifest))
    console.print(layouts_table(manifest))
    print_damage(manifest, console)
    for name, layout in manifest["layouts"].items():
        console.print(
            f"{name}: {layout['n_shards']} shards, {layout['n_sequences']:,} windows of "
            f"{manifest['seq_len']} in {folder}/{name}",
            highlight=False,
            soft_wrap=True,
        )


def layouts_table(manifest: dict[str, Any]) -> Table:
    """Of each layout: examples kept and dropped, padding, fill, blocks."""
    table = Table(title="What the layouts hold", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for title in ("examples", "dropped", "padding", "fill in thoughts", "blocks of each size"):
        table.add_column(title, justify="right")
    table.add_column("blocks: p50 / p90 / max", justify="right")
    for name, layout in manifest["layouts"].items():
        statistics = layout["statistics"]
        table.add_row(
            name,
            f"{statistics['examples']:,}",
            _dropped(layout["encoding"]),
            f"{statistics['padding_fraction']:.1%}",
            f"{statistics['fill_fraction_of_thought']:.1%}",
            *_blocks(statistics),
        )
    return table


def _dropped(encoding: dict[str, dict[str, int]]) -> str:
    dropped = [
        f"{outcome.partition(':')[2].replace('_', ' ')} {amount['documents']:,}"
        for outcome, amount in encoding.items()
        if outcome.startswith(ledger.DROPPED)
    ]
    return ", ".join(dropped) or "-"


def _blocks(statistics: dict[str, Any]) -> tuple[str, str]:
    if "block_counts" not in statistics:
        return "-", "-"
    counts = ", ".join(
        f"{size}: {count:,} ({statistics['block_fractions'][size]:.0%})"
        for size, count in statistics["block_counts"].items()
    )
    return counts, " / ".join(str(n) for n in statistics["blocks_per_example"].values())
