"""An estimate as a terminal shows it."""

import math
from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from beam_pipeline import measured
from beam_pipeline.estimate import Estimate, Range, Resources, SourceEstimate
from beam_pipeline.summary import in_shards
from transforms.ledger import EXACT_DUPLICATE

_STYLES = {"yes": "green", "no": "bold red", "perhaps": "yellow", "unknown": "yellow"}


def print_plan(found: Estimate, recipe: Mapping[str, Any], console: Console) -> None:
    """Prints an estimate.

    Args:
      recipe: as `Recipe.canonical` gives it.
    """
    console.print(
        f"Plan of {recipe['name']}: an estimate from a sample; nothing was built",
        style="bold",
        highlight=False,
    )
    console.print(_input_table(found))
    console.print(_loss_table(found))
    console.print(_budget_table(found))
    for line, style in _told(found, recipe):
        console.print(Text(line, style))
    console.print(_resource_table(found))
    console.print(
        "Near duplicates are not known from a sample, exact ones only within it: what is left is "
        "an upper bound. Time is for a machine with nothing else to do, by what the sample took; "
        "memory is from measured runs (benchmarks/README.md). "
        f"Dataflow's cost is from {measured.PRICES_FROM}.",
        style="dim",
        highlight=False,
    )


def _input_table(found: Estimate) -> Table:
    table = _table("What the sources hold")
    for title in ("documents", "±", "text", "sampled", "tokens a byte"):
        table.add_column(title, justify="right", no_wrap=True)
    for source in found.sources:
        sampled = "all of it" if source.whole else _bytes(source.sampled_bytes)
        table.add_row(
            source.name,
            _count(source.documents),
            _reach(source.documents),
            "unknown" if source.text_bytes is None else _bytes(source.text_bytes.expected),
            sampled,
            f"{source.tokens_per_byte:.3f}",
        )
    return table


def _loss_table(found: Estimate) -> Table:
    table = _table("What is lost before near deduplication, share of documents")
    for source in found.sources:
        table.add_column(source.name, justify="right")
    outcomes = sorted({outcome for source in found.sources for outcome in source.shares})
    outcomes.sort(key=lambda outcome: outcome == EXACT_DUPLICATE)
    for outcome in outcomes:
        bound = "" if all(source.whole for source in found.sources) else ", at least"
        more = bound if outcome == EXACT_DUPLICATE else ""
        shares = (source.shares.get(outcome, 0.0) for source in found.sources)
        table.add_row(
            outcome.partition(":")[2].replace("_", " ") or outcome.replace("_", " ") + more,
            *(f"{share:.1%}" if share else "-" for share in shares),
            style="dim",
        )
    left = (1 - sum(source.shares.values()) for source in found.sources)
    table.add_row("left", *(f"{share:.1%}" for share in left), style="bold")
    return table


def _budget_table(found: Estimate) -> Table:
    table = _table("Budget of the train split, tokens")
    for title in ("target", "there are", "±", "met", "takes", "epochs"):
        table.add_column(title, justify="right", no_wrap=True)
    for source in found.sources:
        met = Text(source.met, _STYLES[source.met]) if source.weight else Text("-")
        table.add_row(
            source.name,
            f"{source.target:,}",
            _count(source.train_tokens),
            _reach(source.train_tokens),
            met,
            _short(source.expected),
            f"{source.epochs:.2f}" if source.train_tokens else "unknown",
        )
    return table


def _told(found: Estimate, recipe: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Whether the budget can be met, in words, each line with its style."""
    budget = f"the budget of {found.budget:,} tokens"
    lines = []
    short = [source for source in found.sources if source.weight and source.met == "no"]
    for source in short:
        lines.append((_shortage(source, recipe), _STYLES["no"]))
    for verdict, words in (
        ("unknown", "is of unknown size, so whether it has its share is not known"),
        (
            "perhaps",
            "has about its share; near duplicates and the sample leave open whether it is enough",
        ),
    ):
        for source in found.sources:
            if source.weight and source.met == verdict:
                lines.append((f"{source.name} {words}", _STYLES[verdict]))
    if short:
        end = {
            "fail": "when_short is fail: the build would stop",
            "shortfall": f"when_short is shortfall: train will have {_short(found.train_tokens)}",
            "redistribute": "when_short is redistribute: the others give what they can, and train "
            f"will have {_short(found.train_tokens)}",
            "repeat": f"even with max_epochs {recipe['max_epochs']}, train will have "
            f"{_short(found.train_tokens)}",
        }[recipe["when_short"]]
        lines.append((f"{budget} cannot be met as the recipe shares it out; {end}", _STYLES["no"]))
    elif found.met == "yes":
        lines.append((f"{budget} can be met, unless near duplicates are many", _STYLES["yes"]))
    return lines


def _shortage(source: SourceEstimate, recipe: Mapping[str, Any]) -> str:
    assert source.train_tokens is not None
    has = source.train_tokens.expected
    if recipe["when_short"] == "repeat":
        has *= recipe["max_epochs"]
    lacks = source.target - has
    return (
        f"{source.name} has about {_short(has)} of the {_short(source.target)} tokens that its "
        f"weight asks for: {_short(lacks)} short ({lacks / source.target:.0%})"
    )


def _resource_table(found: Estimate) -> Table:
    table = Table(
        title="What comes out and what it takes",
        title_justify="left",
        box=SIMPLE_HEAD,
        show_header=False,
    )
    table.add_column("", no_wrap=True)
    table.add_column("")
    takes = found.resources
    for name, told in (
        ("train", f"{_short(found.train_tokens)} tokens in {in_shards(found.train_shards)}"),
        ("val", f"{_short(found.val_tokens)} tokens in {in_shards(found.val_shards)}"),
        ("time here", _time(takes)),
        ("memory", _megabytes(takes.memory_mb)),
        ("disk, output", _megabytes(takes.output_mb)),
        ("disk, work folder", _megabytes(takes.work_mb)),
        ("on Dataflow", _dataflow(takes)),
    ):
        table.add_row(name, told)
    return table


def _time(takes: Resources) -> str:
    if takes.seconds is None:
        return f"unknown; {takes.cpu_seconds_per_mb:.3f} CPU seconds for each MB of text"
    low, high = _duration(takes.seconds.low), _duration(takes.seconds.high)
    return f"{_duration(takes.seconds.expected)} ({low} to {high})"


def _dataflow(takes: Resources) -> str:
    hours, dollars = takes.dataflow_vcpu_hours, takes.dataflow_usd
    if hours is None or dollars is None:
        return "unknown"
    return f"{_between(hours, '', ' vCPU hours')}, {_between(dollars, '$', '')}; start-up aside"


def _between(amount: Range, before: str, after: str) -> str:
    if amount.high < 0.1:
        return f"under {before}0.10{after}"
    return f"{before}{amount.low:,.2f} to {before}{amount.high:,.2f}{after}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _megabytes(amount: float | None) -> str:
    return "unknown" if amount is None else f"about {_bytes(amount * 1e6)}"


def _bytes(size: float) -> str:
    for unit, worth in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= worth:
            return f"{size / worth:,.1f} {unit}"
    return f"{size / 1e3:,.1f} kB"


def _count(amount: Range | None) -> str:
    return "unknown" if amount is None else _short(amount.expected)


def _short(count: float) -> str:
    """A count to four digits: more would look surer than it is."""
    if count < 10_000:
        return f"{count:,.0f}"
    digits = int(math.log10(count)) - 3
    return f"{round(count, -digits):,.0f}"


def _reach(amount: Range | None) -> str:
    if amount is None or math.isinf(amount.high):
        return "unknown"
    if not amount.expected or amount.high == amount.low:
        return "-"
    return f"{(amount.high - amount.expected) / amount.expected:.0%}"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("", overflow="fold")
    return table
