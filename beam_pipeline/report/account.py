"""What became of documents, drawn from their account: a bar, or step by step."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.concerns import in_words
from beam_pipeline.report.charts import Part, bar, gap
from beam_pipeline.report.markup import Html, tag
from beam_pipeline.report.numbers import count, in_bytes, percent, ratio
from transforms import ledger


class Fate(NamedTuple):
    """What became of documents.

    Attributes:
      kind: class that gives it its colour.
      name: for people.
      outcomes: ledger outcomes, without reasons.
      lost: they are left out.
    """

    kind: str
    name: str
    outcomes: tuple[str, ...]
    lost: bool = True


Account = dict[str, dict[str, int]]


class Share(NamedTuple):
    """A part of a whole, as a bar and the list under it show it.

    Attributes:
      kind: class that gives it its colour.
      name: for people.
      amount: in the unit of the whole.
      why: more to say of it.
    """

    kind: str
    name: str
    amount: int
    why: str = ""


def outcomes_of(account: Account, fate: Fate) -> dict[str, int]:
    """Documents that met a fate, by ledger outcome, most first."""
    found = {
        outcome: amount["documents"]
        for outcome, amount in account.items()
        if outcome.partition(":")[0] in fate.outcomes
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def swatch(kind: str) -> Html:
    """A small square in the colour of a class."""
    return tag("span", class_=f"swatch {kind}", aria_hidden="true")


def shares(name: str, told: str, parts: Sequence[Share], whole: int) -> Html:
    """A bar with its title, and what it is made of in words; parts of nothing are left out."""
    met = [part for part in parts if part.amount]
    items = (
        tag(
            "li",
            swatch(part.kind),
            tag("b", f"{part.name} {percent(ratio(part.amount, whole))}"),
            part.why,
        )
        for part in met
    )
    return tag(
        "article",
        tag("header", tag("h3", name), tag("p", told, class_="read")),
        bar((Part(part.kind, part.amount) for part in met), whole),
        tag("ul", *items, class_="fates"),
    )


def overview(name: str, account: Account, fates: Sequence[Fate], verb: str = "read") -> Html:
    """One bar: who stayed, who was lost to what; those who stayed come first.

    Args:
      verb: what was done to all of them.
    """
    read = account[ledger.READ]["documents"]
    parts = []
    for fate in sorted(fates, key=lambda fate: fate.lost):
        found = outcomes_of(account, fate)
        parts.append(Share(fate.kind, fate.name, sum(found.values()), _reasons(found, read)))
    told = f"{count(read)} {verb}, {in_bytes(account[ledger.READ]['bytes'])}"
    return shares(name, told, parts, read)


def _reasons(found: dict[str, int], read: int) -> str:
    reasons = [
        f"{in_words(outcome)} {percent(ratio(number, read))}"
        for outcome, number in found.items()
        if ":" in outcome
    ]
    return f" — {', '.join(reasons[:3])}{', …' if len(reasons) > 3 else ''}" if reasons else ""


def steps(
    name: str,
    account: Account,
    fates: Sequence[Fate],
    names: Mapping[str, str],
    unit: str = "documents",
    verb: str = "read",
) -> Html:
    """A table: step by step what was dropped and what was left.

    Args:
      fates: in the order of the steps.
      names: of ledger outcomes for people, where they are not the outcome's own words.
      unit: what is counted.
      verb: what was done to all of them.
    """
    read = account[ledger.READ]["documents"]
    left = read
    rows = [_step(verb, bar([Part("left", read)], read), read, read)]
    for fate in fates:
        if fate.lost:
            for outcome, number in outcomes_of(account, fate).items():
                left -= number
                drawn = bar([Part("left", left), Part(fate.kind, number)], read)
                words = names.get(outcome) or in_words(outcome)
                rows.append(_step(words, drawn, number, read, "−"))
    start = 0
    for fate in fates:
        if not fate.lost:
            number = sum(outcomes_of(account, fate).values())
            drawn = bar([gap(start), Part(fate.kind, number)], read)
            rows.append(_step(fate.name, drawn, number, read, kept=True))
            start += number
    table = tag(
        "table",
        tag("caption", name),
        head("step, and what it left and dropped", unit, f"of {verb}"),
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


def head(*columns: str) -> Html:
    """The head of a table."""
    return tag("thead", tag("tr", *(tag("th", column, scope="col") for column in columns)))
