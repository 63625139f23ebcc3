"""The form of a text that is deduplicated: lower case, single spaces. Exact for all of Unicode.

Texts must be valid UTF-8: the kernel decodes without checks.
"""

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from transforms.documents import TextBatch
from transforms.kernels import utf8
from transforms.kernels.blocks import Blocks
from transforms.kernels.readonly import readonly
from transforms.kernels.unicode_tables import (
    CAPITAL_SIGMA,
    DOTTED_CAPITAL_I,
    SPACE,
    character_flags,
    lower_case,
)

# Bytes looked at together; what is written to has as many to spare.
_WIDTH = 32
_SPACE = ord(" ")
_CASE = ord("a") - ord("A")
_SMALL_I = ord("i")
_COMBINING_DOT_ABOVE = 0x307


def normalize(batch: TextBatch) -> TextBatch:
    r"""`re.sub(r"\s+", " ", text.lower()).strip()` of each text."""
    # Lower case lengthens no character by more than half: some take three bytes instead of two.
    normalized = np.empty(len(batch.data) * 3 // 2 + _WIDTH, np.uint8)
    offsets = np.zeros(len(batch) + 1, np.int64)
    has_sigma = np.zeros(len(batch), np.bool_)
    _normalize(batch.data, batch.offsets, _folded_case(), normalized, offsets, has_sigma)
    if has_sigma.any():
        return normalize(_lowered(batch, has_sigma))
    return TextBatch(normalized[: offsets[-1]], offsets)


def _lowered(batch: TextBatch, which: np.ndarray) -> TextBatch:
    """Leaves some texts to `str.lower`: the lower case of a capital sigma has context."""
    texts = batch.bytes_list()
    for text in np.flatnonzero(which):
        texts[text] = texts[text].decode().lower().encode()
    return TextBatch.from_bytes(texts)


@functools.cache
def _folded_case() -> np.ndarray:
    """`lower_case` with a space for every white space."""
    return np.where(character_flags() & SPACE, np.uint32(_SPACE), lower_case())


@intrinsic
def _fold_block(
    typing_context: Any, data: Any, i: Any, out: Any, position: Any, after_space: Any
) -> Any:
    """Writes a block in lower case, and returns how much of it counts.

    That is what comes before the first byte beyond ASCII or white space after another one; the
    second number is 1 if the last byte that counts is a space, or `after_space` if none does.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        blocks = Blocks(_WIDTH, context, builder, signature, arguments)
        integer = ir.IntType(64)
        one = ir.Constant(integer, 1)
        block = blocks.load(0, 1)
        space = blocks.either(
            blocks.equal(block, _SPACE), blocks.between(block, 9, 13), blocks.between(block, 28, 31)
        )
        small = builder.add(block, blocks.every(_CASE))
        lower = builder.select(blocks.between(block, ord("A"), ord("Z")), small, block)
        blocks.store(builder.select(space, blocks.every(_SPACE), lower), 2, 3)
        # Bit k says that byte k follows a space.
        before = builder.or_(builder.shl(blocks.bits(space), one), arguments[4])
        ends = builder.or_(
            builder.and_(blocks.bits(space), before), blocks.bits(blocks.beyond_ascii(block))
        )
        size = builder.cttz(
            builder.or_(ends, ir.Constant(integer, 1 << _WIDTH)), ir.Constant(ir.IntType(1), 1)
        )
        return blocks.tuple_of(size, builder.and_(builder.lshr(before, size), one))

    signature = types.UniTuple(types.int64, 2)(data, i, out, position, after_space)
    return signature, generate


@njit(
    types.void(
        readonly(types.uint8),
        readonly(types.int64),
        readonly(types.uint32),
        types.uint8[::1],
        types.int64[::1],
        types.boolean[::1],
    ),
    cache=True,
    nogil=True,
)
def _normalize(
    data: np.ndarray,
    offsets: np.ndarray,
    folded: np.ndarray,
    out: np.ndarray,
    out_offsets: np.ndarray,
    has_sigma: np.ndarray,
) -> None:
    """Writes the normalised texts, and which of them have a capital sigma."""
    position = 0
    for text in range(len(offsets) - 1):
        first = position
        # As if a space came before, so that none is written at the beginning.
        after_space = np.int64(1)
        i, stop = offsets[text], offsets[text + 1]
        while i < stop:
            if data[i] < 0x80 and i + _WIDTH <= stop:
                size, after_space = _fold_block(data, i, out, position, after_space)
                i += size
                position += size
                while after_space and i < stop and data[i] == _SPACE:
                    i += 1
                if size == _WIDTH or i == stop:
                    continue
            code_point, size = utf8.decode(data, i)
            has_sigma[text] |= code_point == CAPITAL_SIGMA
            code_point = np.int64(folded[code_point])
            i += size
            is_space = np.int64(code_point == _SPACE)
            if code_point < 0x80:
                # A space after a space is overwritten by what follows.
                out[position] = code_point
                position += 1 - (is_space & after_space)
            elif code_point == DOTTED_CAPITAL_I:
                out[position] = _SMALL_I
                position = utf8.encode(_COMBINING_DOT_ABOVE, out, position + 1)
            else:
                position = utf8.encode(code_point, out, position)
            after_space = is_space
        if after_space and position > first:
            position -= 1
        out_offsets[text + 1] = position
