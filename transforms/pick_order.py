"""Where taking documents in pick order ends, when no worker sees all of them.

A histogram of cost over 65 536 equal ranges of the pick key tells the range that holds the cut, and
only the documents of that range are sorted.
"""

from collections.abc import Iterable

import numpy as np

from transforms import records

RANGES = 1 << 16
_RANGE_SHIFT = np.uint64(64 - 16)


def histogram(picks: np.ndarray, cost: np.ndarray) -> bytes:
    """Cost by range of the pick key, sparse: packed (range uint32, cost int64) pairs."""
    ranges = (picks[:, 0] >> _RANGE_SHIFT).astype(np.int64)
    sums = np.bincount(ranges, weights=cost, minlength=RANGES).astype(np.int64)
    used = np.flatnonzero(sums)
    return _pack_histogram(used, sums[used])


def in_range(picks: np.ndarray, number: int) -> np.ndarray:
    """Which pick keys fall in one of the ranges, bool [n]."""
    return (picks[:, 0] >> _RANGE_SHIFT) == np.uint64(number)


def total_cost(packed: bytes) -> int:
    """What all documents of a histogram cost."""
    return int(_unpack_histogram(packed)[1].sum())


def range_of_cut(packed: bytes, rest: int) -> tuple[int, int]:
    """Where taking `rest` tokens, of which there are at least as many, ends in pick order.

    Returns:
      the range, and the cost of the ranges before it.
    """
    ranges, sums = _unpack_histogram(packed)
    reached = np.cumsum(sums)
    place = int(np.searchsorted(reached, rest))
    return int(ranges[place]), int(reached[place] - sums[place])


_HISTOGRAM = np.dtype([("range", "<u4"), ("cost", "<i8")])


def _pack_histogram(ranges: np.ndarray, sums: np.ndarray) -> bytes:
    packed = np.empty(len(ranges), _HISTOGRAM)
    packed["range"], packed["cost"] = ranges, sums
    return packed.tobytes()


def _unpack_histogram(packed: bytes) -> tuple[np.ndarray, np.ndarray]:
    found = np.frombuffer(packed, _HISTOGRAM)
    return found["range"], found["cost"]


def add_histograms(packed: Iterable[bytes]) -> bytes:
    """Sums sparse histograms; associative and commutative."""
    found = records.unpack(packed, _HISTOGRAM)
    ranges, where = np.unique(found["range"], return_inverse=True)
    sums = np.zeros(len(ranges), np.int64)
    np.add.at(sums, where, found["cost"])
    return _pack_histogram(ranges, sums)


def last_taken(picks: np.ndarray, cost: np.ndarray, rest: int) -> tuple[int, int]:
    """The pick key of the document with which the sum first reaches `rest` (at least 1)."""
    order = np.lexsort([picks[:, 1], picks[:, 0]])
    place = order[np.searchsorted(np.cumsum(cost[order]), rest)]
    return int(picks[place, 0]), int(picks[place, 1])


def taken(picks: np.ndarray, last_hi: int, last_lo: int) -> np.ndarray:
    """Which documents come no later than the one of this pick key, bool [n]."""
    hi, lo = np.uint64(last_hi), np.uint64(last_lo)
    return (picks[:, 0] < hi) | ((picks[:, 0] == hi) & (picks[:, 1] <= lo))
