"""docs/traces-example.md is true: its row, its special tokens, its tables, its masks."""

import json
import re
from pathlib import Path

import pytest

from tests.traces.examples import Lists, example_ids
from transforms.traces.geometry import LAYOUTS, REGIONS, Geometry
from transforms.traces.layouts import KEPT, encode
from transforms.traces.parsers import ParserSpec, parse
from transforms.traces.readback import locate
from transforms.traces.special_tokens import DEFAULT_NAMES, SpecialTokens, special_names

TEXT = (Path(__file__).parents[2] / "docs" / "traces-example.md").read_text(encoding="utf-8")
GEOMETRY = Geometry(seq_len=32, block=4, max_slots=8, sizes=(2, 4))


def section(title):
    """The lines below a heading, up to the next."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)[1]


def table(title):
    """The cells of the only table of a section, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


def window(title):
    """A table of a layout by token: token, region, block, slot, position; -1 for a dash."""
    rows = []
    for places, token, region, *numbers in table(title):
        first, _, last = places.partition("-")
        assert int(first) == len(rows)
        times = int(last or first) - int(first) + 1
        rows += [(token, region, *(-1 if n == "-" else int(n) for n in numbers))] * times
    return rows


@pytest.fixture(scope="module")
def example():
    row = json.loads(re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)[1])
    return parse(ParserSpec(), row)


@pytest.fixture(scope="module")
def vocabulary(example):
    words = sorted({word for text in example.texts() for word in text.split()})
    return {name: id_ for id_, name in enumerate([*special_names(GEOMETRY.sizes).values(), *words])}


def test_the_row_is_parsed_as_told(example):
    told = [cell for _, cell in table("The example")]
    assert list(example.texts()) == told
    assert example.notes == ()


def test_the_measures_are_those_told():
    for name in ("seq_len", "block", "sizes"):
        value = getattr(GEOMETRY, name)
        shown = list(value) if isinstance(value, tuple) else value
        assert f"`{name}` {shown}" in section("The example")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_tables_hold(layout, example, vocabulary):
    names = special_names(GEOMETRY.sizes)
    special = SpecialTokens.from_roles({role: vocabulary[name] for role, name in names.items()})
    problem, *thoughts, answer = (
        [vocabulary[word] for word in text.split()] for text in example.texts()
    )
    windows = encode(layout, example_ids([Lists(problem, thoughts, answer)]), GEOMETRY, special)
    assert windows.outcomes.tolist() == [KEPT]
    tokens, regions = windows.tokens[0], windows.regions[0]
    size_of = dict(zip(special.sizes, GEOMETRY.sizes, strict=True))
    blocks = locate(layout, tokens, regions, GEOMETRY, size_of)
    names = {id_: name for name, id_ in vocabulary.items()}
    found = zip(
        [names[id_] for id_ in tokens.tolist()],
        [REGIONS[region] for region in regions],
        *(column.tolist() for column in blocks),
        strict=True,
    )
    assert window(layout.capitalize()) == list(found)


def test_special_tokens_go_by_their_default_names():
    used = {row[0] for layout in LAYOUTS for row in window(layout.capitalize())}
    expected = {*DEFAULT_NAMES.values(), "<size_2>", "<size_4>"} - {DEFAULT_NAMES["mask"]}
    assert expected <= used
