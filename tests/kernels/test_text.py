import gzip
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import text as reference
from tests.shared import SHARED, needs_shared
from tests.vectors import read_vectors
from transforms.documents import TextBatch
from transforms.kernels.measures import MEASURES, _hash_line, measure
from transforms.kernels.normal_form import normalize
from transforms.kernels.unicode_tables import N_CODE_POINTS

SPECIAL = (
    "aAzZ09 \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x00\x7f\x85\xa0\u1680\u2003\u2028\u2029\u200b\u3000"
    "=$^\\_.'ΣσςİIıſßẞÅKȺȾǅΩé\u0301\u0345\u00ad²½٣Ⅷ中あ𝟗𐐀😀\U0010ffff"
)
FRAGMENTS = [r"\frac", r"\sum", r"\su", r"\fra", "\r\n", "\n\n", "line\n", " line\n", "ΑΣ", "ΟΔΟΣ "]

characters = st.one_of(
    st.sampled_from(SPECIAL),
    st.sampled_from(FRAGMENTS),
    st.characters(exclude_categories=["Cs"]),
)
texts = st.lists(characters, max_size=60).map("".join)


def check(batch_of: list[str]) -> None:
    """Compares both kernels with the reference."""
    batch = TextBatch.from_strings(batch_of)
    measured = measure(batch)
    assert measured.dtype == MEASURES
    names = measured.dtype.names
    assert [dict(zip(names, row, strict=True)) for row in measured.tolist()] == [
        reference.measures(text) for text in batch_of
    ]
    assert normalize(batch).strings() == [reference.normalized(text) for text in batch_of]


@given(st.lists(texts, max_size=8))
def test_any_texts(batch_of):
    check(batch_of)


@given(st.lists(st.text("aZ09  \t\n\n\x1c.=$^\\éΣ中", max_size=300), max_size=4))
def test_texts_longer_than_what_is_looked_at_together(batch_of):
    check(batch_of)


@pytest.mark.parametrize("character", [" ", "\n", "A", "=", "\\", "é", "Σ"])
def test_a_character_at_every_place_of_a_long_text(character):
    check(["a" * before + character + "b" * (130 - before) for before in range(131)])


def test_every_character_inside_and_beside_words():
    valid = [chr(c) for c in range(N_CODE_POINTS) if not 0xD800 <= c < 0xE000]
    rows = [valid[i : i + 256] for i in range(0, len(valid), 256)]
    check(["A".join(row) for row in rows] + [" ".join(row) for row in rows])


@pytest.mark.parametrize("text", ["", " ", "\n", "Σ", "İ", "ΑΣ", "\u2028", "\\", "\\sum", "\\fr"])
def test_short_texts_alone(text):
    check([text])


def test_no_texts():
    check([])


def test_marker_does_not_reach_into_the_next_text():
    check(["\\", "frac", "\\fra", "c", "\\su", "m"])


def test_zero_byte_before_a_marker_word_is_no_marker():
    check(["\\\0sum", "\\\0frac"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ΟΔΟΣ", "οδος"), ("ΟΔΟΣ ΣΑΣ", "οδος σας"), ("Α.Σ", "α.ς"), ("ΑΣ'Α", "ασ'α"), ("Σ", "σ")],
)
def test_sigma_is_final_where_a_word_ends(text, expected):
    assert normalize(TextBatch.from_strings([text])).strings() == [expected]


def test_text_that_grows_in_lower_case():
    check(["İ" * 1000, "Ⱥ" * 1001, "Ⱦ", "", "Ⱥ "])


def test_more_lines_than_the_first_room_for_them():
    check(["\n".join(str(i % 3000) for i in range(5000)), "a\nb\na"])


@pytest.mark.parametrize("lines", [["equal of hashes.", "hZ0PpJDe!=2l(A1'"], ["a", "b\0"]])
def test_lines_with_equal_hashes_are_compared_by_their_bytes(lines):
    """Pairs made for the hash of a line: of equal and of other length."""
    raw = [np.frombuffer(line.encode(), np.uint8) for line in lines]
    hashes = {_hash_line(line, 0, len(line)) for line in raw}
    assert len(hashes) == 1
    check(["\n".join(lines), "\n".join([*lines, *lines])])


def test_more_lines_than_there_is_room_for_at_first():
    check(["\n".join(map(str, range(20_000))), "a\n" * 10_000, "a"])


def test_equal_lines_wherever_they_stand():
    check(["\n".join(["a line", "b" * size, "a line", "b" * size]) for size in range(40)])
    check(["same\n" * 7 + "same"])


def test_head_is_the_first_2000_characters():
    check(["é" * 1200 + "b" * 5000, "é" * 1200 + "b" * 799, "ab" * 1000, "ab" * 1000 + "a"])


def test_arrays_may_be_read_only_or_writable_and_part_of_larger_ones():
    expected = TextBatch.from_strings(["one Two", "ΤΡΕΙΣ  É"])
    data = np.concatenate([np.frombuffer(b"before", np.uint8), expected.data])
    offsets = expected.offsets + len("before")
    for writeable in (True, False):
        data.flags.writeable = offsets.flags.writeable = writeable
        part = TextBatch(data, offsets)
        assert measure(part).tolist() == measure(expected).tolist()
        assert normalize(part).strings() == ["one two", "τρεις é"]


def test_threads_share_nothing():
    batches = [TextBatch.from_strings([chr(ord("a") + k) * 3000] * 200) for k in range(4)]
    results: dict[int, list[int]] = {}

    def run(k: int) -> None:
        results[k] = measure(batches[k])["head_top"].tolist()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [2000] * 200 for k in range(4)}


def test_normalize_vectors():
    rows = read_vectors("normalize.jsonl")
    expected = [row["normalized"] for row in rows]
    assert normalize(TextBatch.from_strings([row["text"] for row in rows])).strings() == expected
    assert [reference.normalized(row["text"]) for row in rows] == expected


@needs_shared
@pytest.mark.parametrize("source", ["web", "synthetic", "code", "math"])
def test_real_texts(source):
    column = "content" if source == "code" else "text"
    with gzip.open(SHARED / "data" / "bench" / f"{source}.jsonl.gz") as file:
        check([json.loads(line)[column] for line in file])
