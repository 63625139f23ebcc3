"""What became of rows, and of examples in each layout."""

from beam_pipeline.concerns import in_words
from beam_pipeline.report import account
from beam_pipeline.report.account import Fate, head
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count, percent, ratio
from beam_pipeline.report.traces.contents import TracesReport
from transforms import ledger
from transforms.traces.split_examples import SPLITS

# In the order of the steps.
_ROWS = (
    Fate("bad", "gave no example", (ledger.MALFORMED,)),
    Fate("exact", "duplicates of a problem", (ledger.DUPLICATE,)),
    Fate("rest", "over the limit", (ledger.OVER_LIMIT,)),
    Fate("train", "train", (ledger.TRAIN,), lost=False),
    Fate("val", "validation", (ledger.VALIDATION,), lost=False),
)
_NAMES = {ledger.DUPLICATE: "duplicate of a problem", ledger.OVER_LIMIT: "over the limit"}
_KINDS = dict(zip(SPLITS, ("train", "val"), strict=True))


def _in_layout(folder: str) -> tuple[Fate, ...]:
    split = folder.partition("/")[0]
    return (
        Fate("filtered", "dropped", (ledger.DROPPED,)),
        Fate(_KINDS[split], "kept", (ledger.ENCODED,), lost=False),
    )


def overview(report: TracesReport) -> Html:
    """A bar for all rows, and one for the examples of each layout."""
    layouts = report.manifest["layouts"]
    return join(
        tag(
            "div",
            account.overview("All rows", report.manifest["ledger"]["total"], _ROWS),
            *(
                account.overview(
                    folder, layouts[folder]["encoding"], _in_layout(folder), "examples"
                )
                for folder in report.folders()
            ),
            class_="overview",
        ),
        tag("p", "An example that does not fit one layout may fit another.", class_="note"),
    )


def steps(report: TracesReport) -> Html:
    """Step by step what was dropped and what was left; and oddities that did not matter."""
    total, layouts = report.manifest["ledger"]["total"], report.manifest["layouts"]
    return join(
        tag(
            "div",
            account.steps("All rows", total, _ROWS, _NAMES, "rows"),
            *(
                account.steps(
                    folder, layouts[folder]["encoding"], _in_layout(folder), {}, "examples", "given"
                )
                for folder in report.folders()
            ),
            class_="panels broad",
        ),
        _oddities(total),
    )


def _oddities(total: account.Account) -> Html | None:
    found = account.outcomes_of(total, Fate("", "", (ledger.KEPT_WITH,)))
    if not found:
        return None
    read = total[ledger.READ]["documents"]
    rows = [
        tag(
            "tr",
            tag("th", in_words(outcome), scope="row"),
            tag("td", count(number)),
            tag("td", percent(ratio(number, read))),
        )
        for outcome, number in found.items()
    ]
    return join(
        tag("h3", "Oddities that were kept"),
        tag("table", head("in a row", "rows", "of read"), tag("tbody", *rows)),
    )
