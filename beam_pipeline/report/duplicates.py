"""Duplicates: what banding can see, how large clusters are, and what the largest look like."""

from collections.abc import Callable

from beam_pipeline.report.charts import curve
from beam_pipeline.report.contents import Excerpt, Report, Shown
from beam_pipeline.report.distributions import figure
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count, percent
from beam_pipeline.report.passages import passage
from transforms import ledger, statistics
from transforms.kernels.minhash import candidate_probability

_BEGINNING = 60


def s_curve(report: Report) -> Html:
    """How likely texts of some similarity are to be compared."""
    dedup = report.manifest["recipe"]["dedup"]
    bands, threshold = dedup["bands"], dedup["threshold"]
    rows = dedup["permutations"] // bands

    def chance(similarity: float) -> float:
        return candidate_probability(similarity, bands, rows)

    at_threshold = percent(chance(threshold))
    label = (
        f"Chance that two texts are compared, by the similarity of their shingles: {at_threshold} "
        f"at the threshold of {threshold:g}"
    )
    return tag(
        "figure",
        tag("figcaption", tag("b", "Chance of being compared"), " by similarity"),
        curve(chance, threshold, label, f"{at_threshold} at {threshold:g}"),
        tag(
            "p",
            f"{bands} bands of {rows} rows, {dedup['permutations']} permutations, shingles of "
            f"{dedup['shingle']} characters. Texts that are compared are near duplicates if at "
            f"least {threshold:g} of their signatures agrees.",
            class_="note",
        ),
        _numbers(chance),
    )


def _numbers(chance: Callable[[float], float]) -> Html:
    rows = [
        tag("tr", tag("th", f"{k / 20:g}", scope="row"), tag("td", percent(chance(k / 20))))
        for k in range(6, 21)
    ]
    head = tag("tr", tag("th", "similarity", scope="col"), tag("th", "compared", scope="col"))
    return tag(
        "details",
        tag("summary", "Numbers"),
        tag("table", tag("thead", head), tag("tbody", *rows)),
    )


def sizes(report: Report) -> list[Html]:
    """Clusters by size, over all sources."""
    figures = []
    for name, unit in ((statistics.CLUSTER_TEXTS, "clusters"), (statistics.COPIES, "texts")):
        parts = [found[name] for found in report.statistics.values() if name in found]
        if parts:
            figures.append(figure(name, ledger.add(parts), unit=unit))
    return figures


def section(report: Report) -> Html:
    """All of it."""
    return join(
        tag("div", s_curve(report), *sizes(report), class_="panels"),
        tag("h3", "The largest clusters of near duplicates"),
        _cards(report.clusters, _cluster_title, "There are no near duplicates."),
        tag("h3", "The most copied texts"),
        _cards(report.copied, _copied_title, "There are no exact copies."),
    )


def _cards(clusters: tuple[Shown, ...], title: Callable[[Shown], str], none: str) -> Html:
    if not clusters:
        return tag("p", none)
    return join(*(_card(cluster, title(cluster), k == 0) for k, cluster in enumerate(clusters)))


def _card(cluster: Shown, title: str, is_open: bool) -> Html:
    return tag(
        "details",
        tag("summary", title, " ", tag("span", _beginning(cluster))),
        tag("div", *(_excerpt(e, k) for k, e in enumerate(cluster.excerpts)), class_="members"),
        class_="card",
        open=True if is_open else None,
    )


def _beginning(cluster: Shown) -> str:
    """The first words of the preferred text, on one line."""
    return " ".join((cluster.excerpts[0].text or "").split())[:_BEGINNING]


def _cluster_title(cluster: Shown) -> str:
    copies = (
        "" if cluster.documents == cluster.texts else f" in {count(cluster.documents)} documents"
    )
    return f"{count(cluster.texts)} different texts{copies}"


def _copied_title(cluster: Shown) -> str:
    return f"{count(cluster.documents)} copies"


def _excerpt(excerpt: Excerpt, place: int) -> Html:
    alike = f", signature agrees in {percent(excerpt.agree)}" if place else ""
    told = f"{excerpt.source}{alike}"
    text = "(not read again, as its source has weight 0)" if excerpt.text is None else excerpt.text
    return passage(told, text)
