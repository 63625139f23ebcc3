"""Examples of token ids, for tests: built from lists, and drawn by hypothesis."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from transforms.traces.geometry import LAYOUTS, Geometry
from transforms.traces.layouts import ExampleIds, encode
from transforms.traces.special_tokens import SpecialTokens

# Texts are made of the ids above those of the special tokens.
FIRST_ID, VOCAB_SIZE = 12, 40


class Lists(NamedTuple):
    prompt: list[int]
    thoughts: list[list[int]]
    answer: list[int]


def special_tokens(sizes=()):
    return SpecialTokens(*range(9), sizes=tuple(range(9, 9 + len(sizes))))


def example_ids(examples, dtype=np.uint16):
    """Lists as `encode` takes them."""
    texts = [text for e in examples for text in (e.prompt, *e.thoughts, e.answer)]
    counts = [len(e.thoughts) + 2 for e in examples]
    return ExampleIds(
        np.array([id_ for text in texts for id_ in text], dtype),
        np.cumsum([0, *map(len, texts)], dtype=np.int64),
        np.cumsum([0, *counts], dtype=np.int64),
    )


def encode_lists(layout, examples, geometry, dtype=np.uint16):
    return encode(layout, example_ids(examples, dtype), geometry, special_tokens(geometry.sizes))


def _texts(max_size):
    """Texts of every length alike; by itself hypothesis draws few long ones."""
    id_ = st.integers(FIRST_ID, VOCAB_SIZE - 1)
    return st.integers(0, max_size).flatmap(lambda n: st.lists(id_, min_size=n, max_size=n))


EXAMPLES = st.lists(
    st.builds(Lists, _texts(12), st.lists(_texts(25), max_size=5), _texts(12)), max_size=5
)
LAYOUT = st.sampled_from(LAYOUTS)


@st.composite
def geometries(draw):
    block = draw(st.integers(2, 8))
    sizes = draw(st.sets(st.integers(2, 12), min_size=1, max_size=3))
    blocks = -(-(max(sizes) + 1) // block) + 2
    seq_len = block * draw(st.integers(blocks, 128 // block + blocks))
    return Geometry(seq_len, block, draw(st.integers(1, 12)), tuple(sorted(sizes)))
