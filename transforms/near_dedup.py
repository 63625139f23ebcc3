"""Near-duplicate edges: banded MinHash signatures, compared with the leaders of their bucket.

Signatures stay in the scan files. What is shuffled is, for every survivor, 16 bytes a band; and
for documents that share a bucket, their signature once for each *different* bucket: copies that
meet in all their bands are compared once, not once a band.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np

from transforms import records, storage
from transforms.counters import count
from transforms.kernels.leaders import bucket_edges
from transforms.kernels.minhash import band_keys
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
      partitions: of each shuffle's keys; a power of two.
      by_source: documents of different sources are never compared.
    """

    permutations: int
    bands: int
    threshold: float
    partitions: int
    by_source: bool
    work: WorkFolder

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
      `records.MEMBER`; a bucket is named by a 128-bit digest of who is in it, so that buckets
      of different bands with the same documents get the same name.
    """
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
        for field, salt in (("bucket_hi", _salt(1)), ("bucket_lo", _salt(2))):
            # A sum does not depend on order, and each term is mixed, so sets of references get
            # different sums as random 64-bit numbers would.
            sums = np.add.reduceat(_mix(members + salt), starts)
            out[field] = np.repeat(_mix(sums + sizes.astype(np.uint64)), sizes)
    return out


def edges_of(candidates: np.ndarray, min_agree: int) -> np.ndarray:
    """Compares the documents of each bucket with its leaders.

    Args:
      candidates: `records.candidate`, whole buckets.
      min_agree: equal signature positions that make an edge.

    Returns:
      `records.EDGE`, from leader to follower.
    """
    bucket = ("bucket_hi", "bucket_lo")
    ordered = candidates[records.order_by(candidates, *bucket, *records.PREFERENCE_ORDER)]
    starts = np.flatnonzero(records.run_starts(ordered, *bucket))
    pairs = bucket_edges(
        np.ascontiguousarray(ordered["signature"]),
        np.r_[starts, len(ordered)].astype(np.int64),
        min_agree,
        MAX_LEADERS,
    )
    out = np.empty(len(pairs), records.EDGE)
    out["a"] = ordered["ref"][pairs[:, 0]]
    out["b"] = ordered["ref"][pairs[:, 1]]
    return out


def _salt(number: int) -> np.uint64:
    return np.uint64(number * _GOLDEN & _UINT64)


def _mix(x: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser (Steele, Lea, Flood 2014), uint64 elementwise."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass
class _BandPiece(beam.DoFn):
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
        for band in range(settings.bands):
            where = records.partition(found[band]["key"], settings.partitions)
            yield from records.split(found[band], where + band * settings.partitions)


@dataclass
class _ShareBuckets(beam.DoFn):
    settings: NearDedupSettings

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
        members = shared_buckets(records.unpack(group[1], records.BAND))
        yield from records.split(
            members, records.partition(members["bucket_hi"], self.settings.partitions)
        )


def _distinct_buckets(group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
    """Removes copies of a bucket that several bands found, and asks each piece for its part."""
    members = np.unique(records.unpack(group[1], records.MEMBER))
    yield from records.split(members, records.ref_pieces(members["ref"]))


@dataclass
class _FetchSignatures(beam.DoFn):
    settings: NearDedupSettings

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
        piece, packed = group
        members = records.unpack(packed, records.MEMBER)
        scanned = storage.load_array(self.settings.work.scan(piece))
        chosen = scanned[records.ref_positions(members["ref"])]
        found = np.empty(len(members), records.candidate(self.settings.permutations))
        for field in records.MEMBER.names:
            found[field] = members[field]
        for field in (*records.PREFERENCE_ORDER, "signature"):
            found[field] = chosen[field]
        yield from records.split(
            found, records.partition(found["bucket_hi"], self.settings.partitions)
        )


@dataclass
class _CompareBuckets(beam.DoFn):
    settings: NearDedupSettings

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[bytes]:
        candidates = records.unpack(group[1], records.candidate(self.settings.permutations))
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
            | "DistinctBuckets" >> beam.FlatMap(_distinct_buckets)
            | "GroupByPiece" >> beam.GroupByKey()
            | "FetchSignatures" >> beam.ParDo(_FetchSignatures(self.settings))
            | "GroupCandidates" >> beam.GroupByKey()
            | "CompareBuckets" >> beam.ParDo(_CompareBuckets(self.settings))
        )
