"""Where documents went, source by source, and what mix came of it."""

from typing import Any

from beam_pipeline.concerns import spending_of
from beam_pipeline.report import account
from beam_pipeline.report.account import Fate, head
from beam_pipeline.report.charts import Part, bar
from beam_pipeline.report.contents import MOST_SOURCES, Report
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count, percent, ratio
from transforms import ledger

# In the order of the steps.
FATES = (
    Fate("bad", "unreadable or empty", (ledger.MALFORMED, ledger.EMPTY)),
    Fate("filtered", "quality filter", (ledger.FILTERED,)),
    Fate("exact", "exact duplicates", (ledger.EXACT_DUPLICATE,)),
    Fate("near", "near duplicates", (ledger.NEAR_DUPLICATE,)),
    Fate("bad", "encode to nothing", (ledger.NO_TOKENS,)),
    Fate("rest", "not needed", (ledger.OVER_CAP, ledger.OVER_BUDGET)),
    Fate("train", "train", (ledger.TRAIN,), lost=False),
    Fate("val", "val", (ledger.VAL,), lost=False),
)
_NAMES = {
    ledger.EMPTY: "empty",
    ledger.EXACT_DUPLICATE: "exact duplicate",
    ledger.NEAR_DUPLICATE: "near duplicate",
    ledger.OVER_CAP: "held out, over the cap",
    ledger.OVER_BUDGET: "over budget",
}


def overview(report: Report) -> Html:
    """One bar a source: who stayed, who was lost to what."""
    found = report.manifest["ledger"]
    rows = [
        account.overview(source["name"], found[source["name"]], FATES)
        for source in report.sources()
    ]
    if len(report.manifest["sources"]) > 1:
        rows.append(account.overview("all sources", found[ledger.TOTAL], FATES))
    left_out = len(report.manifest["sources"]) - MOST_SOURCES
    return join(
        tag("div", *rows, class_="overview"),
        tag("p", f"{left_out} more sources are in manifest.json.") if left_out > 0 else None,
    )


def steps(report: Report) -> Html:
    """A table a source: step by step what was dropped and what was left."""
    found = report.manifest["ledger"]
    return tag(
        "div",
        *(
            account.steps(source["name"], found[source["name"]], FATES, _NAMES)
            for source in report.sources()
        ),
        class_="panels broad",
    )


def mix(report: Report) -> Html:
    """What each source was to be of the train split, and what it is."""
    shown = report.sources()
    widest = max(max(s["target_weight"], s["realized_weight"]) for s in shown)
    return tag(
        "table",
        tag("caption", "Share of the tokens of train; the line across a bar is the target"),
        head("source", "target", "realized", "tokens", "epochs"),
        tag("tbody", *(_mix_row(source, widest) for source in shown)),
        class_="bars",
    )


def _mix_row(source: dict[str, Any], widest: float) -> Html:
    realized, target = source["realized_weight"], source["target_weight"]
    return tag(
        "tr",
        tag("th", source["name"], bar([Part("train", realized)], widest, target), scope="row"),
        tag("td", percent(target)),
        tag("td", percent(realized)),
        tag("td", count(source["realized_tokens"])),
        tag("td", f"{source['epochs']:.2f}"),
    )


def tokens_per_byte(report: Report) -> Html:
    """What the tokenizer makes of each source."""
    spent = [(s["name"], spending_of(report.statistics, s["name"])) for s in report.sources()]
    widest = max(ratio(found.tokens, found.bytes) for _, found in spent)
    rows = [
        tag(
            "tr",
            tag(
                "th",
                name,
                bar([Part("train", ratio(found.tokens, found.bytes))], widest),
                scope="row",
            ),
            tag("td", f"{ratio(found.tokens, found.bytes):.3f}"),
            tag("td", f"{ratio(found.bytes, found.tokens):.2f}"),
            tag("td", count(found.tokens)),
        )
        for name, found in spent
        if found.tokens
    ]
    return tag(
        "table",
        tag("caption", "Of all documents that deduplication left, markers not counted"),
        head("source", "tokens per byte", "bytes per token", "tokens"),
        tag("tbody", *rows),
        class_="bars",
    )
