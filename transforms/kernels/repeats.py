"""Which keys occur more than once, without sorting them all: most occur once."""

import numpy as np
from numba import njit, types

from transforms.kernels.readonly import readonly

# Keys to a bucket, about, and how many a bucket may have for its keys to be compared in pairs.
_AIM = 4
_MOST_COMPARED = 32
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, odd


def may_repeat(keys: np.ndarray) -> np.ndarray:
    """Marks all keys that another one is equal to, and few others; bool [n].

    Args:
      keys: uint64 [n], hashes.
    """
    keys = np.ascontiguousarray(keys)
    bits = max(1, (len(keys) // _AIM).bit_length())
    marked = np.zeros(len(keys), np.bool_)
    _mark(keys, bits, marked)
    return marked


@njit(
    types.void(readonly(types.uint64), types.int64, types.boolean[::1]),
    cache=True,
    nogil=True,
)
def _mark(keys: np.ndarray, bits: int, marked: np.ndarray) -> None:
    shift = np.uint64(64 - bits)
    # Keys of one partition have their leading bits in common; mixed, they spread over all buckets.
    stops = np.zeros((1 << bits) + 1, np.int64)
    for k in range(len(keys)):
        stops[(keys[k] * _MIX >> shift) + np.uint64(1)] += 1
    for bucket in range(1 << bits):
        stops[bucket + 1] += stops[bucket]
    # Filled from the start of each bucket: what was its start becomes its stop.
    members = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        bucket = keys[k] * _MIX >> shift
        members[stops[bucket]] = k
        stops[bucket] += 1
    start = 0
    for bucket in range(1 << bits):
        stop = stops[bucket]
        if stop - start > _MOST_COMPARED:
            for k in range(start, stop):
                marked[members[k]] = True
        else:
            for a in range(start, stop):
                for b in range(a + 1, stop):
                    if keys[members[a]] == keys[members[b]]:
                        marked[members[a]] = marked[members[b]] = True
        start = stop
