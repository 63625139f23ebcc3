"""Pictures as inline SVG. Colours come from the page's style by class, so they follow its theme.

Charts are drawn about as wide as they are shown, so that their text keeps its size.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from beam_pipeline.report import numbers
from beam_pipeline.report.markup import Html, join, tag

_WIDTH = 320
_LEFT, _RIGHT = 10, 310
_TOP, _BOTTOM = 34, 130
_LABEL_WIDTH = 90
_LEAST_BINS = 8
_MOST_TICKS = 6
_BAR = 1000


class Part(NamedTuple):
    """A part of a bar.

    Attributes:
      kind: class that gives it its colour.
      amount: its length, in the unit of the bar's `whole`.
    """

    kind: str
    amount: float


def bar(parts: Iterable[Part], whole: float, mark: float | None = None) -> Html:
    """A bar as wide as its place; for the eye only, so numbers must stand beside it.

    Args:
      whole: what fills the width.
      mark: where to draw a line across, if anywhere.
    """
    drawn = []
    start = 0.0
    for part in parts:
        width = _BAR * numbers.ratio(part.amount, whole)
        if width > 0 and part.kind != _GAP:
            drawn.append(
                tag("rect", class_=part.kind, x=_round(start), y=0, width=_round(width), height=10)
            )
        start += width
    if mark is not None:
        x = min(_BAR - 2, max(2, _BAR * numbers.ratio(mark, whole)))
        drawn.append(tag("path", class_="mark", d=f"M{_round(x)} 0V10"))
    return tag(
        "svg",
        *drawn,
        class_="bar",
        viewbox=f"0 0 {_BAR} 10",
        preserveaspectratio="none",
        aria_hidden="true",
        focusable="false",
    )


_GAP = "gap"


def gap(amount: float) -> Part:
    """An empty part."""
    return Part(_GAP, amount)


class Axis(NamedTuple):
    """The bins that a chart shows, all drawn as wide.

    Attributes:
      edges: lower edges of all bins.
      first, stop: bins shown.
    """

    edges: Sequence[float]
    first: int
    stop: int

    def x(self, value: float) -> float:
        """Where a value lies; those beyond the ends lie at them."""
        edges = self.edges
        place = next((k for k in range(len(edges), 0, -1) if edges[k - 1] <= value), 1) - 1
        width = edges[place + 1] - edges[place] if place + 1 < len(edges) else value or 1
        place_in = place + min(1.0, (value - edges[place]) / width)
        share = (place_in - self.first) / (self.stop - self.first)
        return _LEFT + (_RIGHT - _LEFT) * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Round values within the bins shown."""
        low = self.edges[self.first]
        high = self.edges[min(self.stop, len(self.edges) - 1)]
        if self.edges[-1] > 1e6:
            powers = [10.0**k for k in range(10) if low <= 10**k <= high]
            return powers if len(powers) > 1 else [*self.edges[self.first : self.stop : 2]]
        steps = [k * 10.0**power for power in range(-2, 6) for k in (1, 2, 5)]
        step = next((s for s in steps if (high - low) / s < _MOST_TICKS), steps[-1])
        first = int(-(-low // step))
        return [round(k * step, 2) for k in range(first, int(high / step + 1e-9) + 1)]


def histogram(
    counts: Sequence[int],
    edges: Sequence[float],
    bounds: tuple[float | None, float | None],
    label: str,
    show: Callable[[float], str],
) -> Html:
    """Counts by bin, with what the bounds cut off shaded.

    Args:
      edges: lower edges of the bins.
      bounds: least and largest value that is kept.
      label: what the picture shows, for those who do not see it.
      show: writes a value of the axis.
    """
    axis = _axis(counts, edges, bounds)
    most = max(counts, default=0)
    # Without bounds there is nothing to write above the bars.
    above = 0 if any(bound is not None for bound in bounds) else _TOP - 4
    return tag(
        "svg",
        _outside(axis, bounds),
        tag("path", class_="axis", d=f"M{_LEFT} {_BOTTOM}H{_RIGHT}"),
        tag("path", class_="count", d=_bars(counts, axis)),
        *_bounds(axis, bounds, show),
        *_ticks([(axis.x(tick), show(tick)) for tick in axis.ticks()]),
        class_="chart",
        viewbox=f"0 {above} {_WIDTH} {150 - above}",
        role="img",
        aria_label=f"{label}; the highest bar has {most:,}",
    )


def _axis(
    counts: Sequence[int], edges: Sequence[float], bounds: tuple[float | None, float | None]
) -> Axis:
    used = [k for k, n in enumerate(counts) if n]
    for bound in bounds:
        if bound is not None:
            used.append(max(k for k, edge in enumerate(edges) if edge <= bound))
    first, stop = (max(0, min(used) - 1), max(used) + 2) if used else (0, 1)
    stop = min(len(edges), max(stop, first + _LEAST_BINS))
    return Axis(edges, max(0, min(first, stop - _LEAST_BINS)), stop)


def _bars(counts: Sequence[int], axis: Axis) -> str:
    most = max(counts, default=0) or 1
    width = (_RIGHT - _LEFT) / (axis.stop - axis.first)
    drawn = []
    for k in range(axis.first, axis.stop):
        if counts[k]:
            # A bin that holds anything can be seen.
            height = max(1.0, (_BOTTOM - _TOP) * counts[k] / most)
            x = _LEFT + (k - axis.first) * width
            gap_width = min(1.0, width / 5)
            drawn.append(
                f"M{_round(x)} {_BOTTOM}v{_round(-height)}h{_round(width - gap_width)}V{_BOTTOM}z"
            )
    return "".join(drawn)


def _outside(axis: Axis, bounds: tuple[float | None, float | None]) -> Html:
    low, high = bounds
    spans: list[tuple[float, float]] = []
    if low is not None:
        spans.append((_LEFT, axis.x(low)))
    if high is not None:
        spans.append((axis.x(high), _RIGHT))
    height = _BOTTOM - _TOP
    return join(
        *(
            tag(
                "rect",
                class_="outside",
                x=_round(a),
                y=_TOP,
                width=_round(b - a),
                height=height,
            )
            for a, b in spans
            if b > a
        )
    )


def _bounds(
    axis: Axis, bounds: tuple[float | None, float | None], show: Callable[[float], str]
) -> Iterable[Html]:
    # Each has a line of its own, so that labels of close bounds do not lie on each other.
    for name, bound, y in (("min", bounds[0], 12), ("max", bounds[1], 26)):
        if bound is not None:
            x = axis.x(bound)
            yield tag("path", class_="bound", d=f"M{_round(x)} {y - 8}V{_BOTTOM}")
            yield _text(x, y, f"{name} {show(bound)}", "bound-label")


def _text(x: float, y: float, words: str, kind: str) -> Html:
    """A label beside x, on the side where there is room."""
    at_end = x > _WIDTH - _LABEL_WIDTH
    return tag(
        "text",
        words,
        class_=kind,
        x=_round(x - 4 if at_end else x + 4),
        y=y,
        text_anchor="end" if at_end else "start",
    )


def _ticks(places: Sequence[tuple[float, str]], y: float = _BOTTOM) -> Iterable[Html]:
    # About six pixels a digit: a tick whose label has no room goes without.
    free = 0.0
    for x, words in places:
        half = 3.4 * len(words) + 3
        yield tag("path", class_="axis", d=f"M{_round(x)} {y}v4")
        centre = min(_WIDTH - half, max(half, x))
        if centre - half >= free:
            yield tag("text", words, x=_round(centre), y=y + 16, text_anchor="middle")
            free = centre + half


def curve(chance: Callable[[float], float], chosen: float, label: str, chosen_label: str) -> Html:
    """A probability over 0 to 1, with one point marked.

    Args:
      chance: of a value.
      chosen: the value that is marked.
      chosen_label: what stands at the mark.
    """
    top, bottom = 24, 180

    def place(value: float) -> tuple[str, str]:
        x = _LEFT + 26 + (_RIGHT - _LEFT - 30) * value
        return _round(x), _round(bottom - (bottom - top) * chance(value))

    points = [place(k / 100) for k in range(101)]
    x, y = place(chosen)
    at_end = chosen > 0.5
    return tag(
        "svg",
        *(
            join(
                tag("path", class_="grid", d=f"M{points[0][0]} {line}H{points[-1][0]}"),
                tag("text", f"{share:.0%}", x=points[0][0], dx=-5, y=line + 4, text_anchor="end"),
            )
            for share, line in ((0, bottom), (0.5, (top + bottom) // 2), (1, top))
        ),
        tag("path", class_="line", d="M" + "L".join(f"{a} {b}" for a, b in points)),
        tag("path", class_="bound", d=f"M{x} 4V{bottom}"),
        tag("circle", class_="point", cx=x, cy=y, r=5),
        tag(
            "text",
            chosen_label,
            class_="bound-label",
            x=x,
            dx=-6 if at_end else 6,
            y=12,
            text_anchor="end" if at_end else "start",
        ),
        *_ticks([(float(points[20 * k][0]), f"{k / 5:g}") for k in range(6)], bottom),
        class_="chart",
        viewbox=f"0 0 {_WIDTH} 202",
        role="img",
        aria_label=label,
    )


def _round(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
