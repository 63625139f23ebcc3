"""The kernel may read a line or leave it; what comes of the line must not depend on it."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.readers.reading import files
from tests.readers.test_jsonl import SUITE
from transforms.documents import RowBatch
from transforms.kernels.json_text import read_lines
from transforms.readers import jsonl
from transforms.readers.jsonl import RunParser, parse_blocks, parse_lines

FINE = "a|é|中|😀|\x7f|\u2028".encode().split(b"|")
FINE += [b"x" * 31, b"plain words " * 4]
FINE += [rb"\n", rb"\"", rb"\\", rb"\/", rb"\u0041", rb"\u00e9", rb"\uFFFF", rb"\u0000"]
FINE += [rb"\ud83d\ude00", rb"\uDBFF\uDFFF", rb"\\ud800"]
FAULTY = [rb"\ud800", rb"\udc00", rb"\ud800\u0041", rb"\ud800\ud800", rb"\x", rb"\u12", rb"\u12g4"]
FAULTY += [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf"]
FAULTY += [b"\xf4\x90\x80\x80", b"\xe4\xb8", b"\xf0\x9f\x98", b"\x80", b"\x00", b"\x1f", b"\t"]
KEYS = [b'"text"', b'"id"', b'"other"', b'""', rb'"t\u0065xt"', rb'"\u0069d"', b'"texts"', b'"i"']
NUMBERS = [b"0", b"-0", b"12", b"-9007199254740993", b"18446744073709551616", b"7" * 99]
NUMBERS += [b"1.50", b"-0.0", b"1e5", b"1E-07", b"123456789012345678", b"-12345678901234567"]
ODD_NUMBERS = [b"01", b"-", b"1.", b".5", b"1e", b"+1", b"1e999", b"1e-999", b"9" * 400, b"0x1"]
ODD_WORDS = [b"nul", b"True", b"NaN", b"Infinity", b"[1,]", b"[,]", b"{,}", b'{"a"}', b"[1}"]
DEEP = [b"[" * n + b"]" * n for n in (3, 59, 60, 61, 64, 1023, 1024)]

strings = st.lists(st.sampled_from(FINE), max_size=6).map(lambda parts: b'"%s"' % b"".join(parts))
faulty_strings = st.lists(st.sampled_from(FINE + FAULTY), min_size=1, max_size=4).map(
    lambda parts: b'"%s"' % b"".join(parts)
)
usual = st.one_of(strings, st.sampled_from([b"true", b"false", b"null", *NUMBERS, *DEEP]))
odd = st.one_of(faulty_strings, st.sampled_from(ODD_NUMBERS + ODD_WORDS))
spaces = st.sampled_from([b"", b"", b"", b" ", b"\t\r "])


def enclosed(draw: st.DrawFn, brackets: bytes, items: list[bytes]) -> bytes:
    inside = (draw(spaces) + b",").join(draw(spaces) + item for item in items)
    return brackets[:1] + inside + draw(spaces) + brackets[1:]


def member(draw: st.DrawFn, key: bytes, value: bytes) -> bytes:
    return key + draw(spaces) + b":" + draw(spaces) + value


@st.composite
def nested(draw: st.DrawFn, inner: st.SearchStrategy[bytes]) -> bytes:
    values = draw(st.lists(inner, max_size=3))
    if draw(st.booleans()):
        return enclosed(draw, b"[]", values)
    keys = st.sampled_from(KEYS)
    return enclosed(draw, b"{}", [member(draw, draw(keys), value) for value in values])


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[bytes]) -> bytes:
    """Lines that hold an object, most of which have a text and an id."""
    of_any = st.tuples(st.sampled_from(KEYS), values)
    of_text = st.tuples(st.sampled_from([b'"text"', rb'"\u0074ext"']), strings)
    of_id = st.tuples(st.just(b'"id"'), st.one_of(strings, st.sampled_from(NUMBERS)))
    pairs = draw(st.lists(of_any, max_size=3)) + draw(st.lists(of_text, max_size=2))
    pairs += draw(st.lists(of_id, max_size=2))
    members = [member(draw, *pair) for pair in draw(st.permutations(pairs))]
    return draw(spaces) + enclosed(draw, b"{}", members) + draw(spaces)


@st.composite
def damaged(draw: st.DrawFn, lines: st.SearchStrategy[bytes]) -> bytes:
    """Lines of which some bits or bytes are others, or which end too early or too late."""
    line = bytearray(draw(lines))
    place = draw(st.integers(0, max(len(line) - 1, 0)))
    how = draw(st.sampled_from(["cut", "insert", "flip", "drop"]))
    if how == "cut":
        del line[place:]
    elif how == "insert":
        line.insert(place, draw(st.sampled_from(b'"\\{}[]:,0 ')))
    elif how == "flip":
        line[place] ^= 1 << draw(st.integers(0, 7))
    else:
        del line[place]
    return bytes(line)


values = st.recursive(usual, nested, max_leaves=6)
odd_values = st.recursive(usual | odd, nested, max_leaves=6)
blank = st.text(" \t\r\v\f", max_size=3).map(str.encode)
any_line = st.one_of(
    objects(values),
    objects(odd_values),
    damaged(objects(values)),
    blank,
    st.binary(max_size=40),
)


def said_of(batch: RowBatch) -> tuple:
    assert batch.rows.dtype == np.uint32
    return batch.rows.tolist(), batch.texts.bytes_list(), batch.ids, batch.bad


def check(content: bytes, **options: str | int | None) -> None:
    """Compares the whole path with the one that has no kernel."""
    spec = files("unused", **options)
    expected = parse_lines(content.split(b"\n"), 5, spec)
    assert said_of(RunParser(spec).parse(content + b"\n", 5)) == said_of(expected)


@given(st.lists(any_line, max_size=5), st.sampled_from([None, "id"]), st.sampled_from([5, 1000]))
@example([b'{"text": "a", "text": 1}', b'{"text": 1, "text": "a"}'], None, 1000)
@example([b'{"text": "long", "text": "s"}', b'{"text": "s", "id": "i"} x'], "id", 1000)
@example([b'{"text": "s", "id": "long", "text": "longer", "id": "i"}'], "id", 1000)
def test_the_kernel_changes_nothing(lines: list[bytes], id_column: str | None, limit: int) -> None:
    check(b"\n".join(lines), id_column=id_column, max_doc_bytes=limit)


@given(st.lists(any_line, max_size=8), st.lists(st.integers(0, 200), max_size=5))
@example([b'{"text": "a", "id": 1.5}', b'{"text": "b", "id": 1}', b'{"text": "c"}'], [24, 48])
def test_giving_the_kernel_up_changes_nothing(lines: list[bytes], cuts: list[int]) -> None:
    content = b"\n".join(lines)
    spec = files("unused", id_column="id")
    edges = [0, *sorted(cuts), len(content)]
    blocks = [content[start:stop] for start, stop in pairwise(edges)]
    batches = [said_of(batch) for batch in parse_blocks(blocks, spec, at_start=False)]
    rows, texts, ids, bad = said_of(parse_lines(content.split(b"\n"), 0, spec))
    for place, expected in enumerate((rows, texts, ids, bad)):
        assert [one for batch in batches for one in batch[place]] == expected


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (b'{"text": "t", "id": 1}', 4),
        (b'{"text": "t", "id": 1.5}', 1),
        (b'{"text": "t", "id": null}', 1),
        (b'{"content": "t", "id": 1}', 1),
        (b'{"text": "t", "id": 1}\n{"text": "t", "id": 1.5}', 4),
    ],
)
def test_the_kernel_is_not_asked_again_where_it_leaves_most(line, asked, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(jsonl, "read_lines", lambda *given: calls.append(1) or read_lines(*given))
    blocks = [(line + b"\n") * 10] * 4
    batches = list(parse_blocks(blocks, files("unused", id_column="id"), at_start=True))
    assert len(calls) == asked
    assert sum(len(batch.rows) + len(batch.bad) for batch in batches) == 40 * (
        line.count(b"\n") + 1
    )


@pytest.mark.parametrize("part", FINE + FAULTY, ids=repr)
def test_each_part_of_a_string(part: bytes) -> None:
    lines = [b'{"text": "a%sb"}', b'{"text": "t", "other": ["%s"]}', b'{"text": "t", "%s": 1}']
    check(b"\n".join(line % part for line in lines))
    check(b'{"text": "t", "id": "%s"}' % part, id_column="id")


@pytest.mark.parametrize("value", NUMBERS + ODD_NUMBERS + ODD_WORDS + DEEP, ids=repr)
def test_each_kind_of_value(value: bytes) -> None:
    check(b'{"text": "t", "other": %s}\n{"text": %s}' % (value, value))
    check(b'{"text": "t", "id": %s}' % value, id_column="id")


@pytest.mark.parametrize("template", [b'{"text": "t", "v": %s}', b'{"text": %s}', b"%s"])
def test_the_json_test_suite_in_a_line(template: bytes) -> None:
    cases = [case.replace(b"\n", b" ") for case in SUITE.values()]
    assert len(cases) > 300
    check(b"\n".join(template % case for case in cases))


@pytest.mark.parametrize("column", ["", "a.b", "é", '"', "text" * 20, "text\n"])
def test_any_name_of_a_column(column: str) -> None:
    line = json.dumps({"a": {"b": "deep"}, column: "t", "i": "i"}).encode()
    check(line, text_column=column)
    check(line, text_column=column, id_column="i")
    check(line, text_column=column, id_column=column)
    check(line, text_column="i", id_column=column)


@pytest.mark.parametrize("special", [b"\\n", "é".encode(), "😀".encode(), b"\xff", b"\x01", b""])
def test_any_place_in_a_block(special: bytes) -> None:
    texts = [b"x" * n + special + b"y" * m for n in range(70) for m in (0, 40)]
    lines = [b'{"text":"%s"}' % text for text in texts]
    check(b"\n".join(lines))
    # At the very end of the bytes a whole block cannot be looked at.
    for line in lines[::2]:
        check(line)


@given(
    st.dictionaries(
        st.text(max_size=5), st.none() | st.booleans() | st.lists(st.text(), max_size=2)
    ),
    st.text(),
    st.text() | st.integers(-(10**16), 10**17),
    st.booleans(),
)
def test_what_libraries_write_is_read_by_the_kernel(
    others: dict, text: str, name: str | int, ascii_only: bool
) -> None:
    values = {**others, "text": text, "id": name}
    line = json.dumps(values, ensure_ascii=ascii_only).encode() + b"\n"
    read = read_lines(line * 3, "text", "id", 1 << 20)
    assert not len(read.unread)
    assert read.rows.tolist() == [0, 1, 2]
    assert read.texts.strings() == [text] * 3
    assert read.ids is not None
    assert read.ids.strings() == [str(name)] * 3


@pytest.mark.parametrize("value", [*NUMBERS, b"true", b"false", b"null", b'[{"a":[]},{}]', DEEP[1]])
def test_other_columns_of_any_kind_are_read_by_the_kernel(value: bytes) -> None:
    read = read_lines(b' {"v" : %s ,"text": "t" }\r\n' % value, "text", None, 10)
    assert read.texts.strings() == ["t"]
