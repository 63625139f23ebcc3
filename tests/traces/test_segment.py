import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors import read_vectors
from transforms.traces.segment import MARKERS, MAX_PARAGRAPH, segment, squeeze

LONG = "A sentence of a paragraph. " * 40
WORDS = st.sampled_from(
    ["\n\n", "\n \t\n", "\n", " ", "\u00a0", "\u2028", "a.", "b!", "c", LONG, "So,", "So", *MARKERS]
)
THINK = st.lists(WORDS, max_size=30).map(" ".join)


@pytest.mark.parametrize("case", read_vectors("segment_thoughts.jsonl"))
def test_vectors(case):
    assert list(segment(case["think"])) == case["thoughts"]


@given(THINK)
def test_thoughts_hold_all_words_in_order(think):
    assert " ".join(segment(think)).split() == think.split()


@given(THINK)
def test_thoughts_are_squeezed_and_not_empty(think):
    for thought in segment(think):
        assert thought
        assert squeeze(thought) == thought


@given(THINK)
def test_cuts_within_a_paragraph_are_before_markers(think):
    paragraphs = [squeeze(part) for part in re.split(r"\n\s*\n", think)]
    starts = {paragraph.split()[0] for paragraph in paragraphs if paragraph}
    first_words = {"So,", *(marker.split()[0] for marker in MARKERS)}
    for thought in segment(think):
        assert thought.split()[0] in starts | first_words


@pytest.mark.parametrize("marker", [*MARKERS, "So,"])
def test_each_marker_cuts_a_long_paragraph(marker):
    assert segment(f"{LONG}{marker} it goes on.") == (LONG.strip(), f"{marker} it goes on.")
    assert len(segment(f"{LONG[:-2]} {marker} it goes on.")) == 1
    assert len(segment(f"{LONG}{marker}ly it goes on.")) == (2 if marker == "So," else 1)


def test_a_paragraph_is_measured_squeezed():
    text = "x" * (MAX_PARAGRAPH - 11) + ". Wait, no"
    assert len(text) == MAX_PARAGRAPH - 1
    for blanks, thoughts in ((1, 1), (2, 1), (900, 1)):
        assert len(segment(text.replace(" no", " " * blanks + "no"))) == thoughts
    assert len(segment(text + "!")) == 1
    assert len(segment(text + "!!")) == 2


@pytest.mark.parametrize(
    "text", ["\n \t" * 200_000 + "x", "\n" + " " * 600_000 + "x", ". " * 300_000]
)
def test_time_is_linear(text):
    start = time.process_time()
    segment(text)
    assert time.process_time() - start < 2
