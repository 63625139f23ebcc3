"""What the terminal shows of finished traces: the fate of every row, and what layouts hold."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from beam_pipeline.finished import read_manifest
from beam_pipeline.summary import (
    ledger_table,
    print_damage,
    print_report,
    print_shards,
    print_warnings,
)
from transforms import ledger
from transforms.traces.layouts import KEPT, OUTCOMES


def print_traces_summary(folder: str, console: Console) -> None:
    """Prints the ledger, the layouts and where the shards are."""
    manifest = read_manifest(folder)
    console.print(ledger_table(manifest))
    console.print(layouts_table(manifest))
    console.print(blocks_table(manifest))
    print_damage(manifest, console)
    print_warnings(manifest, console)
    print_shards(folder, manifest["layouts"], manifest["seq_len"], console)
    print_report(folder, console)


def layouts_table(manifest: dict[str, Any]) -> Table:
    """Of each layout: examples kept, and dropped by reason; what its tokens are."""
    table = Table(
        title="What the layouts hold; fill is of the thoughts",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("", min_width=max(map(len, manifest["layouts"])))
    reasons = [f"{ledger.DROPPED}:{outcome}" for outcome in OUTCOMES[KEPT + 1 :]]
    titles = [outcome.partition(":")[2].replace("_", " ") for outcome in reasons]
    for title in ("examples", *titles, "padding", "fill"):
        table.add_column(title, justify="right")
    for name, layout in manifest["layouts"].items():
        statistics = layout["statistics"]
        dropped = (layout["encoding"].get(reason, {"documents": 0}) for reason in reasons)
        table.add_row(
            name,
            f"{statistics['examples']:,}",
            *(f"{amount['documents']:,}" for amount in dropped),
            f"{statistics['padding_fraction']:.1%}",
            f"{statistics['fill_fraction_of_thought']:.1%}",
        )
    return table


def blocks_table(manifest: dict[str, Any]) -> Table:
    """Of each layout that has blocks: how many of each size, and how many an example has."""
    table = Table(title="Blocks of the thoughts", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for title in ("size", "blocks", "share", "an example: p50", "p90", "max"):
        table.add_column(title, justify="right")
    for name, layout in manifest["layouts"].items():
        statistics = layout["statistics"]
        for place, (size, count) in enumerate(statistics.get("block_counts", {}).items()):
            of_example = map(str, statistics["blocks_per_example"].values())
            table.add_row(
                "" if place else name,
                size,
                f"{count:,}",
                f"{statistics['block_fractions'][size]:.1%}",
                *(() if place else of_example),
            )
    return table
