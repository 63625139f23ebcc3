"""BLAKE2b of many texts, several at a time: RFC 7693, without key, salt or personalisation.

A CPU that adds eight numbers at once compresses a block of each of eight texts in the time of one.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from transforms.documents import TextBatch
from transforms.kernels.pointers import item_pointer
from transforms.kernels.readonly import readonly

BLOCK_BYTES = 128
# Texts at a time: 64-bit words in a register of AVX-512. Narrower ones take as many in more steps.
LANES = 8

_ROUNDS = 12
_STATE_WORDS, _BLOCK_WORDS = 8, 16
_ALL_ONES = 0xFFFFFFFFFFFFFFFF
# The first 64 bits behind the point of the square roots of 2, 3, 5, 7, 11, 13, 17 and 19.
_IV = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
_SIGMA = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
_COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
_DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, LANES)


def blake2b(texts: TextBatch, digest_size: int) -> np.ndarray:
    """The digest of each text.

    Args:
      digest_size: bytes, 8 to 64 in steps of 8.

    Returns:
      uint64 [n_texts, digest_size // 8], the digest's words, each of 8 bytes little-endian.
    """
    digests = np.empty((len(texts), digest_size // 8), np.uint64)
    sizes = texts.sizes()
    # A text that would go on while the other lanes have none left is hashed by itself.
    long = sizes * LANES > sizes.sum()
    view = texts.data.data
    for text in np.flatnonzero(long).tolist():
        raw = view[texts.offsets[text] : texts.offsets[text + 1]]
        digest = hashlib.blake2b(raw, digest_size=digest_size).digest()
        digests[text] = np.frombuffer(digest, "<u8")
    short = np.flatnonzero(~long)
    longest_first = short[np.argsort(-sizes[short], kind="stable")]
    _hash(texts.data, texts.offsets, longest_first, digest_size, digests)
    return digests


def _rotated_right(builder: ir.IRBuilder, value: ir.Value, bits: int) -> ir.Value:
    low = builder.lshr(value, ir.Constant(_VECTOR, [bits] * LANES))
    high = builder.shl(value, ir.Constant(_VECTOR, [64 - bits] * LANES))
    return builder.or_(low, high)


def _transposed(builder: ir.IRBuilder, rows: Sequence[ir.Value]) -> list[ir.Value]:
    """Columns of a square of words, by exchanging ever smaller squares in it."""
    rows = list(rows)
    size = LANES // 2
    while size:
        # Places of the first row are below LANES, those of the second from there on.
        upper = [k if not k & size else k - size + LANES for k in range(LANES)]
        lower = [k + size if not k & size else k + LANES for k in range(LANES)]
        masks = [
            ir.Constant(ir.VectorType(ir.IntType(32), LANES), places) for places in (upper, lower)
        ]
        for k in range(LANES):
            if not k & size:
                pair = rows[k], rows[k + size]
                rows[k], rows[k + size] = (builder.shuffle_vector(*pair, mask) for mask in masks)
        size //= 2
    return rows


def _mix(
    builder: ir.IRBuilder, v: list[ir.Value], places: Sequence[int], x: ir.Value, y: ir.Value
) -> None:
    """The function G of RFC 7693, 3.1."""
    a, b, c, d = places
    for word, of_d, of_b in ((x, 32, 24), (y, 16, 63)):
        v[a] = builder.add(builder.add(v[a], v[b]), word)
        v[d] = _rotated_right(builder, builder.xor(v[d], v[a]), of_d)
        v[c] = builder.add(v[c], v[d])
        v[b] = _rotated_right(builder, builder.xor(v[b], v[c]), of_b)


@intrinsic
def _compress(
    typing_context: Any, states: Any, addresses: Any, counted: Any, finals: Any
) -> tuple[Any, Any]:
    """The function F of RFC 7693, 3.2, on a block of each lane.

    Its arguments are arrays: uint64 [8, LANES], which it changes; int64 [LANES], where each lane's
    block is; uint64 [LANES], bytes so far, this block's included; uint64 [LANES], all ones for a
    last block, else 0.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        def pointer(argument: int, *indices: int) -> ir.Value:
            places = [ir.Constant(_WORD, index) for index in indices]
            kind = signature.args[argument]
            return item_pointer(context, builder, kind, arguments[argument], *places)

        def load(at: ir.Value) -> ir.Value:
            return builder.load(builder.bitcast(at, _VECTOR.as_pointer()), align=1)

        blocks = [
            builder.inttoptr(builder.load(pointer(1, lane)), _VECTOR.as_pointer())
            for lane in range(LANES)
        ]
        words: list[ir.Value] = []
        for part in range(_BLOCK_WORDS // LANES):
            rows = [
                builder.load(builder.gep(block, [ir.Constant(_WORD, part)]), align=1)
                for block in blocks
            ]
            words += _transposed(builder, rows)
        before = [load(pointer(0, word, 0)) for word in range(_STATE_WORDS)]
        v = before + [ir.Constant(_VECTOR, [word] * LANES) for word in _IV.tolist()]
        v[12] = builder.xor(v[12], load(pointer(2, 0)))
        v[14] = builder.xor(v[14], load(pointer(3, 0)))
        for turn in range(_ROUNDS):
            order = _SIGMA[turn % len(_SIGMA)]
            for k, places in enumerate(_COLUMNS + _DIAGONALS):
                _mix(builder, v, places, words[order[2 * k]], words[order[2 * k + 1]])
        for word in range(_STATE_WORDS):
            after = builder.xor(before[word], builder.xor(v[word], v[word + _STATE_WORDS]))
            at = builder.bitcast(pointer(0, word, 0), _VECTOR.as_pointer())
            builder.store(after, at, align=1)
        return context.get_dummy_value()

    return types.void(states, addresses, counted, finals), generate


@njit(
    types.void(
        readonly(types.uint8),
        readonly(types.int64),
        readonly(types.int64),
        types.int64,
        types.uint64[:, ::1],
    ),
    cache=True,
    nogil=True,
)
def _hash(
    data: np.ndarray, offsets: np.ndarray, order: np.ndarray, size: int, digests: np.ndarray
) -> None:
    """Hashes the texts at the places in order, each in the lane that is free first."""
    states = np.zeros((_STATE_WORDS, LANES), np.uint64)
    # Of the last blocks, which are filled up with zeros.
    tails = np.zeros((LANES, BLOCK_BYTES), np.uint8)
    texts = np.full(LANES, -1, np.int64)
    at = np.zeros(LANES, np.int64)
    addresses = np.empty(LANES, np.int64)
    counted = np.zeros(LANES, np.uint64)
    finals = np.zeros(LANES, np.uint64)
    first_address, tail_address = np.int64(data.ctypes.data), np.int64(tails.ctypes.data)
    begun = done = 0
    while done < len(order):
        for lane in range(LANES):
            if texts[lane] < 0 and begun < len(order):
                texts[lane] = order[begun]
                begun += 1
                at[lane], counted[lane] = offsets[texts[lane]], 0
                for word in range(_STATE_WORDS):
                    states[word, lane] = _IV[word]
                # Digest size, no key, fan-out 1, depth 1: RFC 7693, 2.5.
                states[0, lane] ^= np.uint64(0x01010000 ^ size)
            addresses[lane] = tail_address + lane * BLOCK_BYTES
            finals[lane] = 0
            if texts[lane] < 0:
                continue
            left = offsets[texts[lane] + 1] - at[lane]
            if left > BLOCK_BYTES:
                addresses[lane] = first_address + at[lane]
            else:
                tails[lane, :left] = data[at[lane] : at[lane] + left]
                tails[lane, left:] = 0
                finals[lane] = _ALL_ONES
            counted[lane] += np.uint64(min(left, BLOCK_BYTES))
            at[lane] += BLOCK_BYTES
        _compress(states, addresses, counted, finals)
        for lane in range(LANES):
            if finals[lane]:
                for word in range(digests.shape[1]):
                    digests[texts[lane], word] = states[word, lane]
                texts[lane] = -1
                done += 1
