"""Where documents went, source by source, and what mix came of it."""

from typing import Any, NamedTuple

from beam_pipeline.concerns import in_words, spending_of
from beam_pipeline.report.charts import Part, bar, gap
from beam_pipeline.report.contents import MOST_SOURCES, Report
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count, in_bytes, percent, ratio
from transforms import ledger


class Fate(NamedTuple):
    """What became of documents.

    Attributes:
      kind: class that gives it its colour.
      name: for people.
      outcomes: ledger outcomes, without reasons.
      lost: they are not in the corpus.
    """

    kind: str
    name: str
    outcomes: tuple[str, ...]
    lost: bool = True


# In the order of the steps; those who stay come first in a bar.
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
KEPT = tuple(fate for fate in FATES if not fate.lost)
LOST = tuple(fate for fate in FATES if fate.lost)

_NAMES = {
    ledger.EMPTY: "empty",
    ledger.EXACT_DUPLICATE: "exact duplicate",
    ledger.NEAR_DUPLICATE: "near duplicate",
    ledger.OVER_CAP: "held out, over the cap",
    ledger.OVER_BUDGET: "over budget",
}

Account = dict[str, dict[str, int]]


def outcomes_of(account: Account, fate: Fate) -> dict[str, int]:
    """Documents of a source that met a fate, by ledger outcome, most first."""
    found = {
        outcome: amount["documents"]
        for outcome, amount in account.items()
        if outcome.partition(":")[0] in fate.outcomes
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def overview(report: Report) -> Html:
    """One bar a source: who stayed, who was lost to what."""
    account = report.manifest["ledger"]
    rows = [_source_row(source["name"], account[source["name"]]) for source in report.sources()]
    if len(report.manifest["sources"]) > 1:
        rows.append(_source_row("all sources", account[ledger.TOTAL]))
    left_out = len(report.manifest["sources"]) - MOST_SOURCES
    return join(
        tag("div", *rows, class_="overview"),
        tag("p", f"{left_out} more sources are in manifest.json.") if left_out > 0 else None,
    )


def _swatch(kind: str) -> Html:
    return tag("span", class_=f"swatch {kind}", aria_hidden="true")


def _source_row(name: str, account: Account) -> Html:
    read = account[ledger.READ]["documents"]
    found = [(fate, outcomes_of(account, fate)) for fate in (*KEPT, *LOST)]
    met = [(fate, parts) for fate, parts in found if sum(parts.values())]
    return tag(
        "article",
        tag(
            "header",
            tag("h3", name),
            tag(
                "p", f"{count(read)} read, {in_bytes(account[ledger.READ]['bytes'])}", class_="read"
            ),
        ),
        bar((Part(fate.kind, sum(parts.values())) for fate, parts in met), read),
        tag("ul", *(_fate_item(fate, parts, read) for fate, parts in met), class_="fates"),
    )


def _fate_item(fate: Fate, parts: dict[str, int], read: int) -> Html:
    documents = sum(parts.values())
    reasons = [
        f"{in_words(outcome)} {percent(ratio(number, read))}"
        for outcome, number in parts.items()
        if ":" in outcome
    ]
    why = f" — {', '.join(reasons[:3])}{', …' if len(reasons) > 3 else ''}" if reasons else ""
    share = percent(ratio(documents, read))
    return tag("li", _swatch(fate.kind), tag("b", f"{fate.name} {share}"), why)


def steps(report: Report) -> Html:
    """A table a source: step by step what was dropped and what was left."""
    account = report.manifest["ledger"]
    return tag(
        "div",
        *(_steps_of(source["name"], account[source["name"]]) for source in report.sources()),
        class_="panels broad",
    )


def _steps_of(name: str, account: Account) -> Html:
    read = account[ledger.READ]["documents"]
    left = read
    rows = [_step("read", bar([Part("left", read)], read), read, read)]
    for fate in LOST:
        for outcome, number in outcomes_of(account, fate).items():
            left -= number
            drawn = bar([Part("left", left), Part(fate.kind, number)], read)
            rows.append(_step(_NAMES.get(outcome) or in_words(outcome), drawn, number, read, "−"))
    start = 0
    for fate in KEPT:
        number = sum(outcomes_of(account, fate).values())
        drawn = bar([gap(start), Part(fate.kind, number)], read)
        rows.append(_step(fate.name, drawn, number, read, kept=True))
        start += number
    table = tag(
        "table",
        tag("caption", name),
        _head("step, and what it left and dropped", "documents", "of read"),
        tag("tbody", *rows),
    )
    return tag("div", table, class_="steps")


def _step(
    name: str, drawn: Html, documents: int, read: int, sign: str = "", *, kept: bool = False
) -> Html:
    return tag(
        "tr",
        tag("th", name, drawn, scope="row"),
        tag("td", f"{sign if documents else ''}{count(documents)}"),
        tag("td", percent(ratio(documents, read))),
        class_="kept" if kept else None,
    )


def _head(*columns: str) -> Html:
    return tag("thead", tag("tr", *(tag("th", column, scope="col") for column in columns)))


def mix(report: Report) -> Html:
    """What each source was to be of the train split, and what it is."""
    shown = report.sources()
    widest = max(max(s["target_weight"], s["realized_weight"]) for s in shown)
    return tag(
        "table",
        tag("caption", "Share of the tokens of train; the line across a bar is the target"),
        _head("source", "target", "realized", "tokens", "epochs"),
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
        _head("source", "tokens per byte", "bytes per token", "tokens"),
        tag("tbody", *rows),
        class_="bars",
    )
