"""Duplicates to show to people: the largest clusters, the most copied texts, and their first lines.

What is shown depends on texts alone. Each partition names its largest clusters, and marks some of
their members; the second read, which has the texts at hand, keeps the first lines of those.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from transforms import ledger, records
from transforms.documents import RowBatch
from transforms.statistics import Statistics, entry

SHOWN = 5
EXCERPT_CHARACTERS = 600
_CLUSTER = "cluster:"
_COPIED = "copied:"
# Of a cluster so many members are looked at: a million signatures would be 256 MB.
_LOOKED_AT = 1000


class Member(NamedTuple):
    """A document of a cluster.

    Attributes:
      source: its place in the recipe.
      piece, position: of its scan file and in it; bookkeeping, not to be shown.
      agree: positions of its signature that are those of the kept one's.
    """

    source: int
    piece: int
    position: int
    agree: int

    def ref(self) -> np.uint64:
        """The reference to it."""
        return records.refs(self.piece, np.array([self.position]))[0]


class Specimen(NamedTuple):
    """A cluster of near duplicates, or one text and its exact copies.

    Attributes:
      key: from the text of the document that stands for it; settles the order of equal sizes.
      texts: how many different texts are in it.
      documents: how many there are with all exact copies.
      members: some of them, the one that stands for it first.
    """

    key: str
    texts: int
    documents: int
    members: tuple[Member, ...]

    def entry(self, source: str) -> ledger.Entry:
        """As it travels."""
        kind = _CLUSTER if self.texts > 1 else _COPIED
        numbers = (self.texts, self.documents, *(n for member in self.members for n in member))
        return entry(source, kind + self.key, numbers)


def largest_clusters(nodes: np.ndarray) -> list[Specimen]:
    """The clusters with most texts, of all that are whole among the nodes.

    Three members are shown: the one preferred, the one least like it, and one halfway.

    Args:
      nodes: `records.node`.
    """
    _, component, texts = np.unique(nodes["root"], return_inverse=True, return_counts=True)
    order = records.order_by(nodes, *records.PREFERENCE_ORDER)
    _, first = np.unique(component[order], return_index=True)
    best = order[first]
    largest = np.lexsort([nodes["keep_lo"][best], nodes["keep_hi"][best], -texts])[:SHOWN]
    return [
        _specimen(nodes, order[component[order] == cluster], int(texts[cluster]))
        for cluster in largest.tolist()
    ]


def _specimen(nodes: np.ndarray, members: np.ndarray, texts: int) -> Specimen:
    """Describes a cluster by its members in order of preference."""
    documents = int(nodes["copies"][members].sum(dtype=np.int64))
    some = nodes[members[:_LOOKED_AT]]
    agree = (some["signature"] == some["signature"][0]).sum(axis=1)
    others = 1 + np.argsort(agree[1:], kind="stable")
    shown = dict.fromkeys([0, int(others[0]), int(others[len(others) // 2])])
    return Specimen(_key(some[0], "keep"), texts, documents, tuple(_members(some, agree, shown)))


def _members(some: np.ndarray, agree: np.ndarray, shown: Iterable[int]) -> Iterator[Member]:
    pieces, positions = records.ref_pieces(some["ref"]), records.ref_positions(some["ref"])
    for k in shown:
        yield Member(int(some["source"][k]), int(pieces[k]), int(positions[k]), int(agree[k]))


def _key(document: np.void, field: str) -> str:
    return f"{int(document[field + '_hi']):016x}{int(document[field + '_lo']):016x}"


def most_copied(found: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """Positions of the documents with most copies, none of those with one only; int64 [<= SHOWN].

    Args:
      found: records with a digest, one for each digest.
      copies: integers [n].
    """
    copied = np.flatnonzero(copies > 1)
    most_first = -copies[copied].astype(np.int64)
    some = found[copied]
    return copied[np.lexsort([some["digest_lo"], some["digest_hi"], most_first])[:SHOWN]]


def copied_texts(survivors: np.ndarray, copies: np.ndarray) -> list[Specimen]:
    """The most copied texts.

    Args:
      survivors: `records.EXACT`.
      copies: int64 [n], how many documents have the text.
    """
    shown = most_copied(survivors, copies)
    members = _members(survivors, np.zeros(len(survivors), np.int64), shown.tolist())
    return [
        Specimen(_key(survivors[k], "digest"), 1, int(copies[k]), (member,))
        for k, member in zip(shown.tolist(), members, strict=True)
    ]


def wanted_positions(
    survivors: np.ndarray, verdicts: np.ndarray, scanned: np.ndarray
) -> np.ndarray:
    """Positions of a piece's documents whose first lines may be shown, ascending, int64 [n].

    Args:
      survivors: `records.SURVIVOR` of the piece.
      verdicts: `records.VERDICT` of the piece.
      scanned: its scan file.
    """
    copied = most_copied(scanned[survivors["position"]], survivors["copies"])
    marked = verdicts["position"][verdicts["shown"]]
    return np.union1d(survivors["position"][copied], marked).astype(np.int64)


def excerpts(batch: RowBatch, rows: np.ndarray) -> Iterator[tuple[int, str]]:
    """The first lines of some documents of a batch.

    Args:
      rows: integers [n], places in the piece, ascending.

    Yields:
      (place in `rows`, excerpt) of those that the batch has.
    """
    texts = batch.texts
    places = np.minimum(np.searchsorted(batch.rows, rows), len(batch.rows) - 1)
    for k in np.flatnonzero(batch.rows[places] == rows).tolist():
        start, stop = texts.offsets[places[k]], texts.offsets[places[k] + 1]
        raw = texts.data[start : min(stop, start + 4 * EXCERPT_CHARACTERS)].tobytes()
        yield k, raw.decode(errors="ignore")[:EXCERPT_CHARACTERS]


def from_statistics(found: Statistics) -> tuple[list[Specimen], list[Specimen]]:
    """The largest clusters of near duplicates and the most copied texts of all partitions."""
    kinds = []
    for prefix in (_CLUSTER, _COPIED):
        specimens = [
            _arrived(name.removeprefix(prefix), numbers)
            for of_source in found.values()
            for name, numbers in of_source.items()
            if name.startswith(prefix)
        ]
        specimens.sort(key=lambda s: (-s.texts, -s.documents if s.texts == 1 else 0, s.key))
        kinds.append(specimens[:SHOWN])
    return kinds[0], kinds[1]


def _arrived(key: str, numbers: tuple[int, ...]) -> Specimen:
    texts, documents, *flat = numbers
    size = len(Member._fields)
    members = tuple(Member(*flat[k : k + size]) for k in range(0, len(flat), size))
    return Specimen(key, texts, documents, members)
