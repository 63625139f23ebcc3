"""Which rows of the clusters of near duplicates are kept."""

from typing import Literal, NamedTuple

import numpy as np
from numba import njit, types

from transforms.kernels.readonly import readonly

Keep = Literal["cluster", "greedy"]


class Decision(NamedTuple):
    """What becomes of each row.

    Attributes:
      kept: bool [n].
      chained: bool [n], rows dropped only because a chain of others links them to the row kept:
        their own signature is not like its.
      best: int64 [n], the best row of each one's component.
      agreement: int64 [n], positions in which the signature equals that of the best row.
    """

    kept: np.ndarray
    chained: np.ndarray
    best: np.ndarray
    agreement: np.ndarray


def decide(
    ranks: np.ndarray,
    edges: np.ndarray,
    components: np.ndarray,
    keep: Keep,
    signatures: np.ndarray,
    min_agree: int,
) -> Decision:
    """Decides which rows of clusters are kept.

    "cluster" keeps the best row of each component. "greedy" goes through the rows from the best to
    the worst and drops one only if it has an edge to one already kept, so that A~B~C loses B alone.

    Args:
      ranks: int64 [n], place in the order of preference, all different; the smallest is the best.
      edges: int64 [e, 2], rows that are near duplicates, in either order.
      components: int64 [n], equal for rows that edges connect.
      keep: the rule.
      signatures: uint16 [n, permutations].
      min_agree: positions in which the signatures of near duplicates are equal, at least.
    """
    rows = np.arange(len(ranks))
    best = _best_of_component(ranks, components)
    agreement = _count_equal(signatures, rows, best)
    if keep == "greedy":
        kept = _keep_greedily(ranks, edges)
        return Decision(kept, np.zeros(len(ranks), bool), best, agreement)
    return Decision(best == rows, agreement < min_agree, best, agreement)


def _best_of_component(ranks: np.ndarray, components: np.ndarray) -> np.ndarray:
    order = np.lexsort((ranks, components))
    ordered = components[order]
    first = np.ones(len(order), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    best = np.empty(len(order), np.int64)
    best[order] = order[first][np.cumsum(first) - 1]
    return best


def _keep_greedily(ranks: np.ndarray, edges: np.ndarray) -> np.ndarray:
    first_is_better = ranks[edges[:, 0]] < ranks[edges[:, 1]]
    better = np.where(first_is_better, edges[:, 0], edges[:, 1])
    worse = np.where(first_is_better, edges[:, 1], edges[:, 0])
    # By the worse end's rank: an edge is then met after all that decide on its better end.
    order = np.argsort(ranks[worse], kind="stable")
    kept = np.ones(len(ranks), bool)
    _drop_along(better[order], worse[order], kept)
    return kept


@njit(
    types.void(readonly(types.int64), readonly(types.int64), types.boolean[::1]),
    cache=True,
    nogil=True,
)
def _drop_along(better: np.ndarray, worse: np.ndarray, kept: np.ndarray) -> None:
    for i in range(len(better)):
        if kept[better[i]]:
            kept[worse[i]] = False


@njit(
    types.int64[::1](readonly(types.uint16, 2), readonly(types.int64), readonly(types.int64)),
    cache=True,
    nogil=True,
)
def _count_equal(signatures: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    equal = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        for p in range(signatures.shape[1]):
            equal[i] += signatures[a[i], p] == signatures[b[i], p]
    return equal
