"""Connected components of edges that arrive in parts: forests that can be joined in any order."""

from typing import NamedTuple

import numpy as np
from numba import njit, types

from transforms.kernels.readonly import readonly


class Forest(NamedTuple):
    """The components of a graph: each node with the smallest node of its component.

    Two forests of the same graph are equal, whatever edges they came from and in whatever order.

    Attributes:
      nodes: uint64 [m], ascending; a node that has no edge is not in it.
      roots: uint64 [m].
    """

    nodes: np.ndarray
    roots: np.ndarray

    def roots_of(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Looks nodes up.

        Args:
          ids: uint64 [k].

        Returns:
          bool [k], whether the forest has the node; uint64 [k], its root, or else the id itself.
        """
        if not len(self.nodes):
            return np.zeros(len(ids), bool), ids.copy()
        places = np.minimum(np.searchsorted(self.nodes, ids), len(self.nodes) - 1)
        found = self.nodes[places] == ids
        return found, np.where(found, self.roots[places], ids)

    def to_bytes(self) -> bytes:
        """16 bytes a node, little-endian: all nodes, then all roots."""
        return np.concatenate(self).astype("<u8", copy=False).tobytes()

    @classmethod
    def from_bytes(cls, packed: bytes) -> "Forest":
        """What `to_bytes` packed; raises ValueError if it cannot have been."""
        nodes, roots = np.frombuffer(packed, "<u8").reshape(2, -1)
        return cls(nodes, roots)


def forest(edges: np.ndarray) -> Forest:
    """The components of the graph of these edges (uint64 [e, 2], any ids)."""
    ends = edges.reshape(-1)
    nodes, places = np.unique(ends, return_inverse=True)
    parents = np.arange(len(nodes))
    _unite(places, parents)
    return Forest(nodes, nodes[parents])


def join(a: Forest, b: Forest) -> Forest:
    """The components of the union of two graphs: associative and commutative."""
    return forest(np.concatenate([np.stack(a, axis=1), np.stack(b, axis=1)]))


@njit(types.void(readonly(types.int64), types.int64[::1]), cache=True, nogil=True)
def _unite(ends: np.ndarray, parents: np.ndarray) -> None:
    """Joins ends 2i and 2i + 1 for all i, then points every parent at the root.

    Union towards the smaller index, so that the root is the smallest of its component, with path
    halving (Tarjan and van Leeuwen, "Worst-case analysis of set union algorithms", 1984). No parent
    is ever larger than its child, which lets one ascending pass flatten the trees.
    """
    for i in range(0, len(ends), 2):
        a, b = ends[i], ends[i + 1]
        while parents[a] != a:
            parents[a] = parents[parents[a]]
            a = parents[a]
        while parents[b] != b:
            parents[b] = parents[parents[b]]
            b = parents[b]
        if a < b:
            parents[b] = a
        else:
            parents[a] = b
    for node in range(len(parents)):
        parents[node] = parents[parents[node]]
