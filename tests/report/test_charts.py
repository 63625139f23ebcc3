import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from beam_pipeline.report.charts import Part, bar, curve, gap, histogram
from beam_pipeline.report.numbers import count, in_bytes, percent, short
from transforms import statistics

NAMES = st.sampled_from(["words", "digit_fraction", "mean_word_length"])


@st.composite
def drawn(draw):
    """A histogram of some counts and bounds, drawn."""
    edges = statistics.edges(draw(NAMES))
    some = st.one_of(st.just(0), st.integers(0, 10**12))
    counts = draw(st.lists(some, min_size=len(edges), max_size=len(edges)))
    bounds = tuple(sorted(draw(st.tuples(st.floats(0, 2 * edges[-1]), st.floats(0, 20)))))
    chosen = draw(st.sampled_from([bounds, (None, bounds[1]), (bounds[0], None), (None, None)]))
    return counts, histogram(counts, edges, chosen, "h", short)


@given(drawn())
def test_every_bin_that_holds_something_has_a_bar_inside_the_picture(case):
    counts, svg = case
    root = ElementTree.fromstring(svg)
    _, top, width, height = map(float, root.get("viewBox").split())
    bars = next(path.get("d") for path in root.iter("path") if path.get("class") == "count")
    assert bars.count("z") == sum(n > 0 for n in counts)
    for x, base, up, right in re.findall(r"M([\d.]+) ([\d.]+)v(-[\d.]+)h([\d.]+)", bars):
        assert float(x) >= 0
        assert float(x) + float(right) <= width
        assert float(base) + float(up) >= top
    for text in root.iter("text"):
        assert 0 <= float(text.get("x")) <= width
        assert top < float(text.get("y")) <= top + height


@given(st.lists(st.integers(0, 10**9), max_size=8))
def test_parts_of_a_bar_fill_their_share_of_it(amounts):
    whole = sum(amounts)
    root = ElementTree.fromstring(bar([Part("train", n) for n in amounts], whole))
    widths = [float(rect.get("width")) for rect in root.iter("rect")]
    expected = [1000 * n / whole for n in amounts if n]
    assert all(abs(a - b) <= 0.051 for a, b in zip(widths, expected, strict=True))


def test_a_gap_takes_room_and_is_not_drawn():
    root = ElementTree.fromstring(bar([gap(1), Part("val", 1)], 4, mark=2))
    (rect,) = root.iter("rect")
    assert (rect.get("x"), rect.get("width")) == ("250", "250")
    (mark,) = root.iter("path")
    assert mark.get("d") == "M500 0V10"


def test_the_chosen_point_lies_on_the_curve():
    root = ElementTree.fromstring(curve(lambda x: x * x, 0.5, "c", "here"))
    points = next(p.get("d") for p in root.iter("path") if p.get("class") == "line")
    (point,) = root.iter("circle")
    assert f"{point.get('cx')} {point.get('cy')}" in points.removeprefix("M").split("L")


def test_numbers_as_people_read_them():
    assert [count(n) for n in (0, 9_999_999, 12_345_678, 3 * 10**15)] == [
        "0",
        "9,999,999",
        "12.3 M",
        "3,000.0 T",
    ]
    assert [percent(x) for x in (0, 1e-9, 0.5, 0.99999, 1)] == [
        "0.0%",
        "<0.1%",
        "50.0%",
        ">99.9%",
        "100.0%",
    ]
    assert [in_bytes(n) for n in (999, 1000, 65_000_000, 10**16)] == [
        "999 B",
        "1.0 kB",
        "65.0 MB",
        "10,000.0 TB",
    ]
    assert [short(x) for x in (0.25, 20, 1000, 10**6)] == ["0.25", "20", "1k", "1M"]
