"""Near-duplicate edges: banded MinHash signatures, compared with the leaders of their bucket.

Signatures stay in the scan files. What is shuffled is, for every survivor, 16 bytes a band; and
for documents that share a bucket, a seat of 20 bytes in each *different* bucket, and their
signature once for all buckets that have the same home. A bucket's home is its smallest document:
copies that meet in many bands have mostly the same one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np

from transforms import records, storage
from transforms.counters import count
from transforms.kernels.leaders import bucket_edges
from transforms.kernels.minhash import band_keys
from transforms.kernels.repeats import may_repeat
from transforms.packed import PackingDoFn
from transforms.work import WorkFolder

MAX_LEADERS = 64
_GOLDEN = 0x9E3779B97F4A7C15
_UINT64 = (1 << 64) - 1


@dataclass(frozen=True)
class NearDedupSettings:
    """How near duplicates are found.

    Attributes:
      permutations: length of a signature.
      bands: how many bands it is cut into.
      threshold: share of equal positions that makes an edge.
      partitions: of each shuffle, all bands together if they are no more; a power of two.
      by_source: documents of different sources are never compared.
    """

    permutations: int
    bands: int
    threshold: float
    partitions: int
    by_source: bool
    work: WorkFolder

    @property
    def band_partitions(self) -> int:
        """Partitions of each band's keys; a power of two."""
        return 1 << max(0, (self.partitions // self.bands).bit_length() - 1)

    @property
    def min_agree(self) -> int:
        """Equal signature positions that make an edge: the least k with k/n >= threshold."""
        # The nudge keeps 0.8 * 10 = 8.000000000000002 from asking for 9.
        return int(np.ceil(self.threshold * self.permutations - 1e-9))


def band_records(
    signatures: np.ndarray, references: np.ndarray, bands: int, source: int | None
) -> np.ndarray:
    """Band keys of documents.

    Args:
      signatures: uint16 [n, permutations].
      references: uint64 [n].
      bands: how many.
      source: mixed into the keys if documents of different sources must not meet.

    Returns:
      `records.BAND` [bands, n].
    """
    found = np.empty((bands, len(signatures)), records.BAND)
    found["key"] = band_keys(signatures, bands).T
    if source is not None:
        found["key"] = _mix(found["key"] + _salt(source + 1))
    found["ref"] = references
    return found


def shared_buckets(found: np.ndarray) -> np.ndarray:
    """The buckets of at least two documents.

    Args:
      found: `records.BAND` of one band, all of the keys that occur in it.

    Returns:
      `records.MEMBER`; a bucket is named by its smallest document and a 64-bit digest of all, so
      that buckets of different bands with the same documents get the same name. Others may do so
      only where they have the smallest in common, which is in one bucket a band.
    """
    found = found[may_repeat(found["key"])]
    found = found[records.order_by(found, "key", "ref")]
    starts = np.flatnonzero(records.run_starts(found, "key"))
    sizes = np.diff(np.r_[starts, len(found)])
    shared = sizes > 1
    members = found["ref"][np.repeat(shared, sizes)]
    sizes = sizes[shared]
    out = np.empty(len(members), records.MEMBER)
    out["ref"] = members
    if len(members):
        starts = np.r_[0, np.cumsum(sizes)[:-1]]
        # Mixing is one-to-one, and spreads the references over the leading bits.
        out["bucket_hi"] = np.repeat(_mix(members[starts] + _salt(1)), sizes)
        # A sum does not depend on order, and each term is mixed, so sets of references get
        # different sums as random 64-bit numbers would.
        sums = np.add.reduceat(_mix(members + _salt(2)), starts)
        out["bucket_lo"] = np.repeat(_mix(sums + sizes.astype(np.uint64)), sizes)
    return out


class Candidates(NamedTuple):
    """Documents that share buckets, and which.

    Attributes:
      documents: `records.candidate`, each once.
      seats: `records.SEAT`, whole buckets; `row` is the place in `documents`.
    """

    documents: np.ndarray
    seats: np.ndarray

    def pack(self) -> bytes:
        """Bytes that may be joined to those of others."""
        sizes = np.array([len(self.documents), len(self.seats)], "<i8")
        return sizes.tobytes() + self.documents.tobytes() + self.seats.tobytes()


def unpack_candidates(packed: Iterable[bytes], permutations: int) -> Candidates:
    """Those of several `Candidates.pack`, together."""
    dtype = records.candidate(permutations)
    joined = b"".join(packed)
    documents: list[np.ndarray] = [np.empty(0, dtype)]
    seats: list[np.ndarray] = [np.empty(0, records.SEAT)]
    place = rows = 0
    while place < len(joined):
        n_documents, n_seats = np.frombuffer(joined, "<i8", 2, place).tolist()
        place += 16
        documents.append(np.frombuffer(joined, dtype, n_documents, place))
        place += documents[-1].nbytes
        seats.append(np.frombuffer(joined, records.SEAT, n_seats, place).copy())
        place += seats[-1].nbytes
        seats[-1]["row"] += rows
        rows += n_documents
    return Candidates(np.concatenate(documents), np.concatenate(seats))


def seated(
    members: np.ndarray, scanned: np.ndarray, partitions: int
) -> Iterator[tuple[int, Candidates]]:
    """What a piece's documents bring to the buckets they are in.

    Args:
      members: `records.MEMBER` of one piece.
      scanned: its scan file.

    Yields:
      (partition of the buckets' homes, candidates), partitions ascending.
    """
    if not len(members):
        return
    where = records.partition(members["bucket_hi"], partitions)
    order = np.lexsort([members["ref"], where])
    members, where = members[order], where[order]
    begins = np.r_[True, where[1:] != where[:-1]]
    is_new = begins | np.r_[True, members["ref"][1:] != members["ref"][:-1]]
    chosen = scanned[records.ref_positions(members["ref"][is_new])]
    documents = np.empty(len(chosen), records.candidate(scanned.dtype["signature"].shape[0]))
    documents["ref"] = members["ref"][is_new]
    for field in (*records.PREFERENCE_ORDER, "signature"):
        documents[field] = chosen[field]
    rows = np.cumsum(is_new) - 1
    starts = np.flatnonzero(begins)
    stops = np.r_[starts[1:], len(members)]
    seats = np.empty(len(members), records.SEAT)
    seats["bucket_hi"], seats["bucket_lo"] = members["bucket_hi"], members["bucket_lo"]
    seats["row"] = rows - np.repeat(rows[starts], stops - starts)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        here = documents[rows[start] : rows[stop - 1] + 1]
        yield int(where[start]), Candidates(here, seats[start:stop])


def edges_of(candidates: Candidates, min_agree: int) -> np.ndarray:
    """Compares the documents of each bucket with its leaders.

    Args:
      min_agree: equal signature positions that make an edge.

    Returns:
      `records.EDGE`, from leader to follower, each once.
    """
    documents, seats = candidates
    rank = np.empty(len(documents), np.int64)
    rank[records.order_by(documents, *records.PREFERENCE_ORDER)] = np.arange(len(documents))
    seats = seats[np.lexsort([rank[seats["row"]], seats["bucket_lo"], seats["bucket_hi"]])]
    starts = np.flatnonzero(records.run_starts(seats, "bucket_hi", "bucket_lo"))
    pairs = bucket_edges(
        np.ascontiguousarray(documents["signature"]),
        seats["row"].astype(np.int64),
        np.r_[starts, len(seats)].astype(np.int64),
        min_agree,
        MAX_LEADERS,
    )
    out = np.empty(len(pairs), records.EDGE)
    out["a"] = documents["ref"][pairs[:, 0]]
    out["b"] = documents["ref"][pairs[:, 1]]
    return records.distinct(out, "a", "b")


def _salt(number: int) -> np.uint64:
    return np.uint64(number * _GOLDEN & _UINT64)


def _mix(x: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser (Steele, Lea, Flood 2014), uint64 elementwise."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass
class _BandPiece(PackingDoFn):
    settings: NearDedupSettings

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
        piece, packed = group
        settings = self.settings
        positions = records.unpack(packed, records.SURVIVOR)["position"]
        count(len(positions))
        chosen = storage.load_array(settings.work.scan(piece))[positions]
        found = band_records(
            np.ascontiguousarray(chosen["signature"]),
            records.refs(piece, positions),
            settings.bands,
            int(chosen["source"][0]) if settings.by_source else None,
        )
        first = settings.band_partitions * np.arange(settings.bands)[:, None]
        where = first + records.partition(found["key"], settings.band_partitions)
        yield from self.packed(records.split(found.ravel(), where.ravel()))


@dataclass
class _ShareBuckets(PackingDoFn):
    settings: NearDedupSettings

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
        members = shared_buckets(records.unpack(group[1], records.BAND))
        where = records.partition(members["bucket_hi"], self.settings.partitions)
        yield from self.packed(records.split(members, where))


class _DistinctBuckets(PackingDoFn):
    """Removes copies of a bucket that several bands found, and asks each piece for its part."""

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
        members = records.unpack(group[1], records.MEMBER)
        members = records.distinct(members, "bucket_hi", "bucket_lo", "ref")
        yield from self.packed(records.split(members, records.ref_pieces(members["ref"])))


@dataclass
class _FetchSignatures(PackingDoFn):
    settings: NearDedupSettings

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
        piece, packed = group
        members = records.unpack(packed, records.MEMBER)
        scanned = storage.load_array(self.settings.work.scan(piece))
        found = seated(members, scanned, self.settings.partitions)
        yield from self.packed((where, candidates.pack()) for where, candidates in found)


@dataclass
class _CompareBuckets(beam.DoFn):
    settings: NearDedupSettings

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[bytes]:
        candidates = unpack_candidates(group[1], self.settings.permutations)
        edges = edges_of(candidates, self.settings.min_agree)
        if len(edges):
            yield edges.tobytes()


@dataclass
class FindEdges(beam.PTransform):
    """Finds pairs of near duplicates, linear in the documents of a bucket.

    In: (piece number, iterable of packed `records.SURVIVOR`). Out: packed `records.EDGE`. A
    worker holds one piece's signatures or one partition of candidates.
    """

    settings: NearDedupSettings

    def expand(
        self, survivors: beam.PCollection[tuple[int, Iterable[bytes]]]
    ) -> beam.PCollection[bytes]:
        """Wires the banding, the look-up of signatures and the comparison."""
        return (
            survivors
            | "BandPiece" >> beam.ParDo(_BandPiece(self.settings))
            | "GroupBands" >> beam.GroupByKey()
            | "ShareBuckets" >> beam.ParDo(_ShareBuckets(self.settings))
            | "GroupBuckets" >> beam.GroupByKey()
            | "DistinctBuckets" >> beam.ParDo(_DistinctBuckets())
            | "GroupByPiece" >> beam.GroupByKey()
            | "FetchSignatures" >> beam.ParDo(_FetchSignatures(self.settings))
            | "GroupCandidates" >> beam.GroupByKey()
            | "CompareBuckets" >> beam.ParDo(_CompareBuckets(self.settings))
        )
