"""Lays the token ids of examples out in windows, one example to a window: flat, slotted, adaptive.

    flat      bos prompt think (thought end_of_thought)* end_think answer ids eos
    slotted   [bos prompt think pad*] ([thought end_of_thought fill*])* [end_think ... eos pad*]
    adaptive  [bos prompt think pad*] (size [thought end_of_thought fill*])* [end_think ... pad*]

and `pad` up to seq_len; the last bracket is `end_think answer ids eos pad*` in both. One example is
worked out token by token in docs/traces-example.md. What SPEC.md leaves open is settled so:

- A bracket of slotted fills whole blocks of `block`. So do the first and the last of adaptive, each
  counted from where it begins: size tokens stand between blocks, so that adaptive's slots and
  answer begin at a block's boundary though not at a multiple of `block`.
- A thought with its end_of_thought that is longer than a block goes on in the next; the
  end_of_thought comes once, behind the last id, if need be in a block with nothing but fill. In
  adaptive each block of such a chain has its size token.
- An example's length counts its last bracket whole. `think` belongs to the prompt, `end_think`,
  `answer` and `eos` to the answer, end_of_thought, fill and size tokens to the thought; `pad` is
  padding, also inside a bracket.
- `max_slots` binds slotted alone, and is looked at before the length, since at the default geometry
  whatever has too many slots is too long as well.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit, types

from transforms.errors import InternalError, RecipeError
from transforms.kernels.readonly import readonly
from transforms.traces.geometry import ANSWER, PROMPT, THOUGHT, Geometry, Layout
from transforms.traces.special_tokens import SpecialTokens
from transforms.traces.statistics import LayoutStatistics

OUTCOMES = ("kept", "too_long", "too_many_slots")
KEPT, TOO_LONG, TOO_MANY_SLOTS = range(len(OUTCOMES))

# Tokens besides a text's own ids: bos, think; end_of_thought; end_think, answer, eos.
_PROMPT_MARKS, _THOUGHT_MARKS, _ANSWER_MARKS = 2, 1, 3


@dataclass(frozen=True)
class ExampleIds:
    """Token ids of examples; the texts of each are its problem, its thoughts and its answer.

    Attributes:
      ids: uint16 or uint32 [n_ids].
      text_offsets: int64 [n_texts + 1]; text i is ids[text_offsets[i]:text_offsets[i + 1]].
      example_offsets: int64 [n_examples + 1]; example i is the texts from example_offsets[i] up to
        example_offsets[i + 1], at least two of them.
    """

    ids: np.ndarray
    text_offsets: np.ndarray
    example_offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.example_offsets) - 1


class Windows(NamedTuple):
    """Examples in a layout.

    Attributes:
      tokens: dtype of the ids, [n_kept, seq_len], one window an example, in their order.
      regions: uint8 [n_kept, seq_len], places in `REGIONS`.
      outcomes: uint8 [n_examples], places in `OUTCOMES`; only those kept have a window.
      statistics: of those kept.
    """

    tokens: np.ndarray
    regions: np.ndarray
    outcomes: np.ndarray
    statistics: LayoutStatistics


def encode(
    layout: Layout, examples: ExampleIds, geometry: Geometry, special: SpecialTokens
) -> Windows:
    """Lays examples out, each whole or not at all.

    Raises:
      RecipeError: adaptive, and the geometry has no sizes.
      InternalError: special has no size token for each size, or a text holds a special token.
    """
    _check(layout, examples, geometry, special)
    plan = _plan(layout, examples.text_offsets, examples.example_offsets, geometry)
    kept = np.flatnonzero(plan.outcomes == KEPT)
    tokens = np.full((len(kept), geometry.seq_len), special.pad, examples.ids.dtype)
    regions = np.zeros(tokens.shape, np.uint8)
    adaptive = layout == "adaptive"
    marks = (
        special.bos,
        special.think,
        special.end_think,
        special.answer,
        special.eos,
        special.end_of_thought,
        special.fill,
    )
    _write(
        examples.ids,
        examples.text_offsets,
        examples.example_offsets,
        plan.rooms,
        kept,
        marks,
        np.array(geometry.sizes if adaptive else (), np.int64),
        np.array(special.sizes if adaptive else (), np.int64),
        tokens,
        regions,
    )
    statistics = _statistics(layout, examples, geometry, plan, regions)
    return Windows(tokens, regions, plan.outcomes, statistics)


def outcomes(
    layout: Layout, text_offsets: np.ndarray, example_offsets: np.ndarray, geometry: Geometry
) -> np.ndarray:
    """What `encode` would make of examples, by their lengths; uint8 [n_examples].

    Args:
      text_offsets, example_offsets: as in `ExampleIds`.
    """
    return _plan(layout, text_offsets, example_offsets, geometry).outcomes


def _check(
    layout: Layout, examples: ExampleIds, geometry: Geometry, special: SpecialTokens
) -> None:
    if layout == "adaptive":
        if not geometry.sizes:
            raise RecipeError("sizes is empty: adaptive needs at least one, as in [64, 256]")
        if len(special.sizes) != len(geometry.sizes):
            raise InternalError(
                f"{len(special.sizes)} size tokens for {len(geometry.sizes)} sizes of blocks"
            )
    inside = np.isin(examples.ids, special.ids())
    if inside.any():
        raise InternalError(f"special token {examples.ids[inside][0]} inside of a text")


class _Plan(NamedTuple):
    """Where everything goes; the prompt and the answer of an example have no blocks here.

    Attributes:
      rooms: int64 [n_texts], tokens that each text takes.
      full: int64 [n_texts], blocks of the largest size in each thought's chain before its last.
      last: int64 [n_texts], place of the last block's size among the sizes; -1 without blocks.
      outcomes: uint8 [n_examples].
    """

    rooms: np.ndarray
    full: np.ndarray
    last: np.ndarray
    outcomes: np.ndarray


def _plan(
    layout: Layout, text_offsets: np.ndarray, example_offsets: np.ndarray, geometry: Geometry
) -> _Plan:
    n_ids = np.diff(text_offsets)
    prompts, answers = example_offsets[:-1], example_offsets[1:] - 1
    rooms = n_ids + _THOUGHT_MARKS
    full = np.zeros(len(n_ids), np.int64)
    last = np.full(len(n_ids), -1, np.int64)
    if layout != "flat":
        sizes = np.array(_block_sizes(layout, geometry))
        full = (rooms - 1) // sizes[-1]
        last = np.searchsorted(sizes, rooms - full * sizes[-1])
        rooms = full * sizes[-1] + sizes[last]
        if layout == "adaptive":
            rooms += full + 1
        for ends in (prompts, answers):
            full[ends], last[ends] = 0, -1
    unit = 1 if layout == "flat" else geometry.block
    rooms[prompts] = _whole(n_ids[prompts] + _PROMPT_MARKS, unit)
    rooms[answers] = _whole(n_ids[answers] + _ANSWER_MARKS, unit)
    outcomes = np.zeros(len(prompts), np.uint8)
    outcomes[_sums(rooms, example_offsets) > geometry.seq_len] = TOO_LONG
    if layout == "slotted":
        slots = _sums(full + (last >= 0), example_offsets)
        outcomes[slots > geometry.max_slots] = TOO_MANY_SLOTS
    return _Plan(rooms, full, last, outcomes)


def _block_sizes(layout: Layout, geometry: Geometry) -> tuple[int, ...]:
    """The sizes that thought blocks can have."""
    if layout == "flat":
        return ()
    return (geometry.block,) if layout == "slotted" else geometry.sizes


def _whole(lengths: np.ndarray, unit: int) -> np.ndarray:
    """Lengths, rounded up to multiples of a unit."""
    return -(-lengths // unit) * unit


def _sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sum of each values[offsets[i]:offsets[i + 1]], int64 [len(offsets) - 1]."""
    until = np.r_[0, np.cumsum(values)]
    return until[offsets[1:]] - until[offsets[:-1]]


def _statistics(
    layout: Layout, examples: ExampleIds, geometry: Geometry, plan: _Plan, regions: np.ndarray
) -> LayoutStatistics:
    kept = plan.outcomes == KEPT
    offsets = examples.example_offsets
    of_kept = np.repeat(kept, np.diff(offsets)) & (plan.last >= 0)
    sizes = _block_sizes(layout, geometry)
    blocks = np.bincount(plan.last[of_kept], minlength=len(sizes))
    n_full = plan.full[of_kept].sum()
    per_example = _sums(plan.full + (plan.last >= 0), offsets)[kept]
    fill = 0
    if sizes:
        blocks[-1] += n_full
        contents = np.diff(examples.text_offsets)[of_kept] + _THOUGHT_MARKS
        fill = int(blocks @ np.array(sizes) - contents.sum())
    return LayoutStatistics.count(sizes, blocks, per_example, regions, fill)


@njit
def _write_block(
    ids: np.ndarray,
    start: int,
    stop: int,
    end_of_thought: int,
    fill: int,
    line: np.ndarray,
    at: int,
    size: int,
) -> int:
    """Writes a thought's block: as many of ids[start:stop] as fit, then, if there is room, its end.

    Returns the place of the first id that is left.
    """
    n = min(size, stop - start)
    line[at : at + n] = ids[start : start + n]
    if n < size:
        line[at + n] = end_of_thought
        line[at + n + 1 : at + size] = fill
    return start + n


@njit(
    [
        types.void(
            readonly(dtype),
            readonly(types.int64),
            readonly(types.int64),
            readonly(types.int64),
            readonly(types.int64),
            types.UniTuple(types.int64, 7),
            readonly(types.int64),
            readonly(types.int64),
            dtype[:, ::1],
            types.uint8[:, ::1],
        )
        for dtype in (types.uint16, types.uint32)
    ],
    cache=True,
    nogil=True,
)
def _write(
    ids: np.ndarray,
    text_offsets: np.ndarray,
    example_offsets: np.ndarray,
    rooms: np.ndarray,
    kept: np.ndarray,
    marks: tuple[int, ...],
    sizes: np.ndarray,
    size_ids: np.ndarray,
    tokens: np.ndarray,
    regions: np.ndarray,
) -> None:
    """Writes examples into windows of pad; sizes and size_ids are empty but for adaptive."""
    bos, think, end_think, answer, eos, end_of_thought, fill = marks
    for row in range(len(kept)):
        line, region = tokens[row], regions[row]
        first, final = example_offsets[kept[row]], example_offsets[kept[row] + 1] - 1
        start, stop = text_offsets[first], text_offsets[first + 1]
        n = stop - start
        line[0] = bos
        line[1 : n + 1] = ids[start:stop]
        line[n + 1] = think
        region[: n + 2] = PROMPT
        at = rooms[first]
        for text in range(first + 1, final):
            start, stop = text_offsets[text], text_offsets[text + 1]
            region[at : at + rooms[text]] = THOUGHT
            if len(sizes) == 0:
                # A chain of equal blocks without size tokens is one block as long as all of them.
                _write_block(ids, start, stop, end_of_thought, fill, line, at, rooms[text])
                at += rooms[text]
            else:
                left = stop - start + 1
                while left > 0:
                    k = 0
                    while k < len(sizes) - 1 and sizes[k] < left:
                        k += 1
                    line[at] = size_ids[k]
                    start = _write_block(
                        ids, start, stop, end_of_thought, fill, line, at + 1, sizes[k]
                    )
                    left -= sizes[k]
                    at += 1 + sizes[k]
        start, stop = text_offsets[final], text_offsets[final + 1]
        n = stop - start
        line[at] = end_think
        line[at + 1] = answer
        line[at + 2 : at + 2 + n] = ids[start:stop]
        line[at + 2 + n] = eos
        region[at : at + n + 3] = ANSWER
