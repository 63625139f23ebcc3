"""From a window back to its blocks and its texts; numpy only, so that readers need no numba."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transforms.traces.geometry import ANSWER, PROMPT, THOUGHT, Geometry, Layout
from transforms.traces.special_tokens import SpecialTokens


class Blocks(NamedTuple):
    """Where each token of a window belongs; all int64 [seq_len].

    Attributes:
      block_ids: 0 for the prompt's blocks, which count as one; then 1, 2, ... in order, padding
        inside a block included; -1 for the padding behind the last. A size token is a block of its
        own, and so is each token of flat behind the prompt.
      slot_ids: number of the thought block, from 0; -1 for what is in none: prompt, answer,
        padding, size tokens, all of flat.
      slot_positions: place within the thought block, from 0; -1 likewise.
    """

    block_ids: np.ndarray
    slot_ids: np.ndarray
    slot_positions: np.ndarray


class Texts(NamedTuple):
    """The ids of a window's texts, without special tokens; dtype of the window, [length] each."""

    problem: np.ndarray
    thoughts: list[np.ndarray]
    answer: np.ndarray


def locate(
    layout: Layout,
    tokens: np.ndarray,
    regions: np.ndarray,
    geometry: Geometry,
    size_of: Mapping[int, int],
) -> Blocks:
    """Finds the blocks of a window.

    Args:
      tokens: ids [seq_len].
      regions: uint8 [seq_len].
      size_of: block size by id of its size token; used for adaptive only.

    Raises:
      ValueError: there is no answer, or no size token where one should stand.
    """
    if not (regions == ANSWER).any():
        raise ValueError("the window has no token of an answer")
    thoughts, answer = int(np.argmax(regions >= THOUGHT)), int(np.argmax(regions == ANSWER))
    starts, sizes = _slots(layout, tokens, thoughts, answer, geometry, size_of)
    unit = 1 if layout == "flat" else geometry.block
    n_answer = np.flatnonzero(regions)[-1] + 1 - answer
    stop = answer + -(-n_answer // unit) * unit

    begins = np.zeros(len(regions), bool)
    begins[np.arange(answer, stop, unit)] = True
    slot_ids = np.full(len(regions), -1)
    slot_positions = np.full(len(regions), -1)
    if layout == "flat":
        begins[thoughts:answer] = True
    else:
        begins[starts] = True
        # A size token stands right before its block.
        begins[starts - (layout == "adaptive")] = True
        slots = np.repeat(np.arange(len(sizes)), sizes)
        positions = np.arange(len(slots)) - (np.cumsum(sizes) - sizes)[slots]
        slot_ids[starts[slots] + positions] = slots
        slot_positions[starts[slots] + positions] = positions
    block_ids = np.cumsum(begins)
    block_ids[stop:] = -1
    return Blocks(block_ids, slot_ids, slot_positions)


def _slots(
    layout: Layout,
    tokens: np.ndarray,
    start: int,
    stop: int,
    geometry: Geometry,
    size_of: Mapping[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    """First token and size of each thought block in tokens[start:stop]; int64 [n] both."""
    if layout == "flat":
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if layout == "slotted":
        starts = np.arange(start, stop, geometry.block)
        return starts, np.full(len(starts), geometry.block)
    found = []
    while start < stop:
        size = size_of.get(int(tokens[start]))
        if size is None:
            raise ValueError(f"token {tokens[start]} at {start} announces no block size")
        found.append((start + 1, size))
        start += 1 + size
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def texts(tokens: np.ndarray, regions: np.ndarray, special: SpecialTokens) -> Texts:
    """The texts of a window of any layout, as they were encoded.

    Args:
      tokens: ids [seq_len].
      regions: uint8 [seq_len].
    """
    prompt, thought, answer = (tokens[regions == region] for region in (PROMPT, THOUGHT, ANSWER))
    content = thought[~np.isin(thought, [special.fill, *special.sizes])]
    ends = np.flatnonzero(content == special.end_of_thought)
    thoughts = [part[:-1] for part in np.split(content, ends + 1)[:-1]]
    return Texts(prompt[1:-1], thoughts, answer[2:-1])
