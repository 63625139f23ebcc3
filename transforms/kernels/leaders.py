"""Edges between near duplicates in the buckets of one band, in time linear in the bucket."""

import numpy as np
from numba import njit, types

from transforms.kernels.readonly import readonly

# Positions compared between two looks at whether enough of them can still agree: one cache line.
_STRIDE = 32


def bucket_edges(
    signatures: np.ndarray,
    members: np.ndarray,
    bucket_starts: np.ndarray,
    min_agree: int,
    max_leaders: int = 64,
) -> np.ndarray:
    """Joins each member to the first leader of its bucket whose signature is like its own.

    Members are taken in order. One that agrees with no leader becomes a leader itself while the
    bucket has fewer than `max_leaders`, and stays alone after that.

    Args:
      signatures: uint16 [n, permutations].
      members: int64 [m], rows of `signatures`, bucket after bucket, in order of preference in each.
      bucket_starts: int64 [buckets + 1]; bucket i is
        members[bucket_starts[i]:bucket_starts[i + 1]].
      min_agree: positions in which two signatures must be equal.
      max_leaders: comparisons that a member may cost.

    Returns:
      int64 [edges, 2]: row of the leader, row of the member that joined it; in order of `members`.
    """
    edges = np.empty((bucket_starts[-1] - bucket_starts[0], 2), np.int64)
    found = _bucket_edges(signatures, members, bucket_starts, min_agree, max_leaders, edges)
    return edges[:found].copy()


@njit(
    types.boolean(readonly(types.uint16, 2), types.int64, types.int64, types.int64),
    cache=True,
    nogil=True,
)
def agrees(signatures: np.ndarray, a: int, b: int, min_agree: int) -> bool:
    """Whether rows a and b of uint16 [n, permutations] are equal in at least min_agree positions.

    A numba kernel, for other kernels to call.
    """
    permutations = signatures.shape[1]
    equal = 0
    for start in range(0, permutations, _STRIDE):
        if equal + permutations - start < min_agree:
            return False
        for p in range(start, min(start + _STRIDE, permutations)):
            equal += signatures[a, p] == signatures[b, p]
    return equal >= min_agree


@njit(
    types.int64(
        readonly(types.uint16, 2),
        readonly(types.int64),
        readonly(types.int64),
        types.int64,
        types.int64,
        types.int64[:, ::1],
    ),
    cache=True,
    nogil=True,
)
def _bucket_edges(
    signatures: np.ndarray,
    members: np.ndarray,
    bucket_starts: np.ndarray,
    min_agree: int,
    max_leaders: int,
    edges: np.ndarray,
) -> int:
    leaders = np.empty(max_leaders, np.int64)
    found = 0
    for bucket in range(len(bucket_starts) - 1):
        n_leaders = 0
        for row in members[bucket_starts[bucket] : bucket_starts[bucket + 1]]:
            joined = False
            for i in range(n_leaders):
                if agrees(signatures, leaders[i], row, min_agree):
                    edges[found, 0] = leaders[i]
                    edges[found, 1] = row
                    found += 1
                    joined = True
                    break
            if not joined and n_leaders < max_leaders:
                leaders[n_leaders] = row
                n_leaders += 1
    return found
