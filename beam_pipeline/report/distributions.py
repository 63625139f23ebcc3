"""Histograms of documents: how long they are, and what the filter measured."""

from collections.abc import Callable, Sequence

import numpy as np

from beam_pipeline.report.charts import histogram
from beam_pipeline.report.contents import Report
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count, percent, ratio, short
from transforms import statistics

_TITLES = {
    statistics.CHARACTERS: "Characters",
    statistics.TOKENS: "Tokens",
    statistics.CLUSTER_TEXTS: "Clusters by their different texts",
    statistics.COPIES: "Texts by their copies",
    statistics.PROBLEM_TOKENS: "Tokens of a problem",
    statistics.THOUGHT_TOKENS: "Tokens of a thought",
    statistics.ANSWER_TOKENS: "Tokens of an answer",
    statistics.THOUGHTS: "Thoughts of an example",
    "words": "Words",
    "mean_word_length": "Mean word length",
    "letter_fraction": "Letters of characters",
    "digit_fraction": "Digits of characters",
    "duplicate_line_fraction": "Repeated lines of lines",
    "repeated_character_fraction": "Commonest character at the head",
    "markers": "Markers of formulas",
}
_EITHER = "dropped only where digits and markers both fall short"
_NO_BOUNDS = (None, None)


def lengths(report: Report) -> Html:
    """Characters of all documents that were read, tokens of those that were encoded."""
    return join(
        tag("h3", "Characters of all documents"),
        _of_each_source(report, statistics.CHARACTERS),
        tag("h3", "Tokens of the documents that deduplication left"),
        _of_each_source(report, statistics.TOKENS),
    )


def _of_each_source(report: Report, name: str) -> Html:
    found = {s["name"]: report.statistics.get(s["name"], {}).get(name) for s in report.sources()}
    figures = [
        figure(name, counts, unit="documents", title=source)
        for source, counts in found.items()
        if counts
    ]
    return tag("div", *figures, class_="panels")


def filters(report: Report) -> Html:
    """What the filter of each source measured, with its thresholds."""
    sections = []
    for source, bounds in zip(report.sources(), report.bounds, strict=False):
        found = report.statistics.get(source["name"], {})
        either = _EITHER if source["domain"] == "math" else None
        drawn = [
            figure(
                name,
                found[name],
                unit="documents",
                bounds=bound,
                note=either if name != "words" else None,
            )
            for name, bound in bounds.items()
            if name in found
        ]
        if drawn:
            sections += [tag("h3", source["name"]), tag("div", *drawn, class_="panels")]
    return join(*sections)


def figure(
    name: str,
    counts: Sequence[int],
    *,
    unit: str,
    title: str | None = None,
    bounds: tuple[float | None, float | None] = _NO_BOUNDS,
    note: str | None = None,
) -> Html:
    """A histogram with its title, and its numbers as a table to unfold.

    Args:
      name: of the statistic.
      unit: what is counted.
      title: in place of that of the statistic.
      note: more to say of it.
    """
    edges = statistics.edges(name)
    show, tell = (_share, _share) if name.endswith("_fraction") else (short, in_full)
    middle = _quantile(counts, edges, 0.5)
    summary = f"{count(sum(counts))} {unit}, half below {tell(middle)}"
    drawn = histogram(
        counts, edges, bounds, f"Histogram of {_TITLES[name].lower()}: {summary}", show
    )
    return framed(
        title or _TITLES[name], summary, drawn, numbers_of(counts, edges, unit, tell), note
    )


def framed(title: str, summary: str, drawn: Html, numbers: Html, note: str | None = None) -> Html:
    """A picture with its title, what to see in it, and its numbers to unfold."""
    return tag(
        "figure",
        tag("figcaption", tag("b", title), " ", tag("span", summary)),
        drawn,
        tag("p", note, class_="note") if note else None,
        numbers,
    )


def in_full(value: float) -> str:
    """A value with all its digits."""
    return f"{value:,.10g}"


def _share(value: float) -> str:
    return f"{100 * value:g}%"


def _quantile(counts: Sequence[int], edges: Sequence[float], share: float) -> float:
    """The upper edge of the bin that holds a quantile; of the last bin, its lower edge."""
    place = int(np.searchsorted(np.cumsum(counts), share * sum(counts)))
    return edges[min(place + 1, len(edges) - 1)]


def numbers_of(
    counts: Sequence[int], edges: Sequence[float], unit: str, show: Callable[[float], str]
) -> Html:
    """The numbers of a histogram as a table to unfold."""
    total = sum(counts)
    rows = [
        tag(
            "tr",
            tag("th", f"from {show(edges[k])}", scope="row"),
            tag("td", count(number)),
            tag("td", percent(ratio(number, total))),
        )
        for k, number in enumerate(counts)
        if number
    ]
    return tag(
        "details",
        tag("summary", "Numbers"),
        tag(
            "table",
            tag(
                "thead",
                tag(
                    "tr",
                    tag("th", "bin", scope="col"),
                    tag("th", unit, scope="col"),
                    tag("th", "share", scope="col"),
                ),
            ),
            tag("tbody", *rows),
        ),
    )
