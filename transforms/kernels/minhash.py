"""MinHash signatures of character shingles, their LSH bands and what both are worth.

A signature estimates the Jaccard similarity of two texts' sets of shingles: Broder, "On the
resemblance and containment of documents" (1997). Of each minimum only 16 bits are kept: Li and
König, "b-Bit Minwise Hashing" (2010), b = 16; the bits are those of a hash of the minimum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from transforms.documents import TextBatch
from transforms.kernels import utf8
from transforms.kernels.blocks import Blocks
from transforms.kernels.readonly import readonly

# Shingles hashed before the permutations run over them: enough to make the ends of the vectorised
# loops rare, few enough for their scratch (16 bytes each) to stay in the first-level cache.
_BLOCK = 2048

# Shingles are filled up to a multiple of this, so that no permutation loop has a scalar tail; as
# many bytes are decoded together.
_LANES = 32
# Of the shingles' hashes seen so far in a text, 64 KiB: larger tables leave out little more.
_TABLE_BITS = 14


@dataclass(frozen=True)
class Signer:
    """Makes MinHash signatures.

    Attributes:
      permutations: length of a signature.
      shingle: code points in a shingle.
      seed: of the hash functions (its low 32 bits); only signatures of equal `Signer`s can be
        compared.
    """

    permutations: int = 128
    shingle: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        if self.permutations < 1 or self.shingle < 1:
            raise ValueError(f"permutations and shingle must be positive: {self}")

    @cached_property
    def _keys(self) -> np.ndarray:
        """Coefficients of the shingle hash, uint64 [shingle + 1]."""
        return _random(self.seed, 0, self.shingle + 1)

    @cached_property
    def _factors(self) -> np.ndarray:
        """Factors of the permutations, uint32 [permutations], odd: so each is a bijection."""
        return _random(self.seed, 1, self.permutations).astype(np.uint32) | np.uint32(1)

    @cached_property
    def _terms(self) -> np.ndarray:
        """Terms of the permutations, uint32 [permutations]."""
        return _random(self.seed, 2, self.permutations).astype(np.uint32)

    def sign(self, normalized: TextBatch) -> np.ndarray:
        """Signatures of normalised texts, uint16 [n_texts, permutations].

        A text's shingles are its runs of `shingle` code points; a shorter text, the empty one too,
        is its own single shingle. The texts must be valid UTF-8.
        """
        signatures = np.empty((len(normalized), self.permutations), np.uint16)
        _sign(
            normalized.data,
            normalized.offsets,
            self.shingle,
            self._keys,
            self._factors,
            self._terms,
            signatures,
        )
        return signatures


def band_keys(signatures: np.ndarray, bands: int) -> np.ndarray:
    """Keys that two texts share where a whole band of their signatures is equal.

    Args:
      signatures: uint16 [n, permutations].
      bands: a divisor of permutations.

    Returns:
      uint64 [n, bands]; keys of different bands differ though their values be equal.

    Raises:
      ValueError: the bands do not divide the permutations.
    """
    permutations = signatures.shape[1]
    if bands < 1 or permutations % bands:
        raise ValueError(f"{permutations} permutations do not divide into {bands} bands")
    keys = np.empty((len(signatures), bands), np.uint64)
    _band_keys(signatures, keys)
    return keys


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """Fraction of positions in which two signatures (uint16 [permutations]) are equal.

    It estimates the Jaccard similarity J without bias but for 2**-16 (1 - J), and with variance
    J (1 - J) / permutations.
    """
    return float(np.mean(a == b))


def candidate_probability(jaccard: float, bands: int, rows: int) -> float:
    """Probability that texts of this similarity share at least one of `bands` bands of `rows`.

    1 - (1 - J^rows)^bands: Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4.2.
    """
    return 1.0 - (1.0 - jaccard**rows) ** bands


def _random(seed: int, purpose: int, count: int) -> np.ndarray:
    # SplitMix64's output function over a counter (Steele, Lea, Flood 2014): defined here to the
    # last bit, as signatures kept in work files must outlive a change of numpy's generators.
    x: np.ndarray = np.arange(count, dtype=np.uint64)
    x += np.uint64((seed << 32 | purpose << 24) & 0xFFFFFFFFFFFFFFFF)
    x *= np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@intrinsic
def _widen_block(
    typing_context: Any, data: Any, at: Any, points: Any, filled: Any
) -> tuple[Any, Callable]:
    """Writes bytes + 1, and returns how many are ASCII before the first that is not."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        blocks = Blocks(_LANES, context, builder, signature, arguments)
        block = blocks.load(0, 1)
        points = ir.VectorType(ir.IntType(32), _LANES)
        ones = ir.Constant(points, [1] * _LANES)
        blocks.store(builder.add(builder.zext(block, points), ones), 2, 3)
        return blocks.size_before(blocks.beyond_ascii(block))

    return types.int64(data, at, points, filled), generate


@njit(
    types.UniTuple(types.int64, 2)(
        readonly(types.uint8), types.int64, types.int64, types.uint32[::1], types.int64, types.int64
    ),
    cache=True,
    nogil=True,
)
def _decode(
    data: np.ndarray, at: int, stop: int, points: np.ndarray, filled: int, full: int
) -> tuple[int, int]:
    """Appends code points + 1 of data[at:stop] to points until full; where both then stand.

    The 1 is added so that the zeros after a short text are no code points: "a" is not "a\\0".
    """
    while at < stop and filled < full:
        if data[at] < 0x80 and at + _LANES <= stop and filled + _LANES <= full:
            size = _widen_block(data, at, points, filled)
            filled += size
            at += size
        else:
            code_point, bytes_read = utf8.decode(data, at)
            points[filled] = code_point + 1
            filled += 1
            at += bytes_read
    return at, filled


@njit(
    types.void(
        types.uint32[::1],
        types.int64,
        readonly(types.uint64),
        types.uint64[::1],
        types.uint32[::1],
    ),
    cache=True,
    nogil=True,
)
def _hash_shingles(
    points: np.ndarray, count: int, keys: np.ndarray, sums: np.ndarray, hashes: np.ndarray
) -> None:
    """Hashes of the first `count` shingles of points.

    Multilinear hashing, strongly universal: key_0 + sum of key_j * point_j modulo 2^64, of which
    the high 32 bits count (Lemire and Kaser, "Strongly universal string hashing is fast", 2014).
    """
    for i in range(count):
        sums[i] = keys[0]
    for j in range(1, len(keys)):
        key = keys[j]
        for i in range(count):
            sums[i] += key * np.uint64(points[i + j - 1])
    for i in range(count):
        hashes[i] = np.uint32(sums[i] >> np.uint64(32))


@njit(types.uint16(types.uint32), cache=True, nogil=True)
def _fold(minimum: np.uint32) -> np.uint16:
    """16 bits that depend on all 32: the high half of MurmurHash3's finaliser.

    The low bits of factor * hash + term depend on the low bits of the hash alone: kept as they are,
    two texts of one shingle each would agree in every position once in 2^16 pairs.
    """
    x = np.uint32(minimum ^ minimum >> np.uint32(16))
    x = np.uint32(x * np.uint32(0x85EBCA6B))
    x = np.uint32(x ^ x >> np.uint32(13))
    return np.uint16(np.uint32(x * np.uint32(0xC2B2AE35)) >> np.uint32(16))


@njit(types.void(types.uint32[::1], types.int64), cache=True, nogil=True)
def _clear(table: np.ndarray, bits: int) -> None:
    """Makes room for 2**bits hashes, with what none of them is equal to at its place."""
    table[: 1 << bits] = 0xFFFFFFFF
    table[(1 << bits) - 1] = 0


@njit(
    types.int64(types.uint32[::1], types.int64, types.uint32[::1], types.int64),
    cache=True,
    nogil=True,
)
def _leave_out_repeated(hashes: np.ndarray, count: int, table: np.ndarray, bits: int) -> int:
    """Moves the hashes that are new to the front, and returns how many they are.

    Some that are not new are among them, as each place of the table remembers one hash only. More
    than half of the shingles of a text of some length are not its first of their kind, and a
    minimum does not change by what it has seen.
    """
    mask = np.uint32((1 << bits) - 1)
    fresh = 0
    for i in range(count):
        value = hashes[i]
        place = value & mask
        hashes[fresh] = value
        fresh += np.int64(table[place] != value)
        table[place] = value
    return fresh


@njit(
    types.void(
        types.uint32[::1],
        types.int64,
        readonly(types.uint32),
        readonly(types.uint32),
        types.uint32[::1],
    ),
    cache=True,
    nogil=True,
)
def _lower_minima(
    hashes: np.ndarray, count: int, factors: np.ndarray, terms: np.ndarray, minima: np.ndarray
) -> None:
    """Lowers each permutation's minimum to that of the first `count` hashes."""
    for p in range(len(factors)):
        factor, term, lowest = factors[p], terms[p], minima[p]
        for i in range(count):
            lowest = min(lowest, np.uint32(factor * hashes[i] + term))
        minima[p] = lowest


@njit(
    types.void(
        readonly(types.uint8),
        readonly(types.int64),
        types.int64,
        readonly(types.uint64),
        readonly(types.uint32),
        readonly(types.uint32),
        types.uint16[:, ::1],
    ),
    cache=True,
    nogil=True,
)
def _sign(
    data: np.ndarray,
    offsets: np.ndarray,
    shingle: int,
    keys: np.ndarray,
    factors: np.ndarray,
    terms: np.ndarray,
    signatures: np.ndarray,
) -> None:
    full = _BLOCK + shingle - 1
    points = np.empty(full, np.uint32)
    sums = np.empty(_BLOCK, np.uint64)
    hashes = np.empty(_BLOCK, np.uint32)
    table = np.empty(1 << _TABLE_BITS, np.uint32)
    minima = np.empty(len(factors), np.uint32)
    for text in range(len(offsets) - 1):
        minima[:] = np.uint32(0xFFFFFFFF)
        at, stop = offsets[text], offsets[text + 1]
        bits = 1
        while bits < _TABLE_BITS and 1 << bits < stop - at:
            bits += 1
        _clear(table, bits)
        at, filled = _decode(data, at, stop, points, 0, full)
        while filled < shingle:
            points[filled] = 0
            filled += 1
        while filled >= shingle:
            count = filled - shingle + 1
            _hash_shingles(points, count, keys, sums, hashes)
            fresh = _leave_out_repeated(hashes, count, table, bits)
            while fresh % _LANES:
                hashes[fresh] = hashes[0]
                fresh += 1
            _lower_minima(hashes, fresh, factors, terms, minima)
            for j in range(shingle - 1):
                points[j] = points[count + j]
            at, filled = _decode(data, at, stop, points, shingle - 1, full)
        for p in range(len(factors)):
            signatures[text, p] = _fold(minima[p])


@njit(
    types.void(readonly(types.uint16, 2), types.uint64[:, ::1]),
    cache=True,
    nogil=True,
)
def _band_keys(signatures: np.ndarray, keys: np.ndarray) -> None:
    rows = signatures.shape[1] // keys.shape[1]
    for text in range(keys.shape[0]):
        for band in range(keys.shape[1]):
            # A factor that fills the high bits, which no value can then turn into another band's.
            key = np.uint64(band + 1) * np.uint64(0x9E3779B97F4A7C15)
            for p in range(band * rows, (band + 1) * rows):
                # A round of MurmurHash3's 64-bit finaliser for each value.
                key = (key ^ signatures[text, p]) * np.uint64(0xFF51AFD7ED558CCD)
                key ^= key >> np.uint64(33)
            keys[text, band] = key * np.uint64(0xC4CEB9FE1A85EC53)
