"""Fixed-size records that cross a shuffle, packed many to an element.

Beam costs about 9 us for each grouped element and 0.6 us for each record inside a packed one
(measured; see ARCHITECTURE.md), and a hot key's records then lie in one flat array.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from transforms.documents import ROW_BITS

DIGEST = [("digest_hi", "<u8"), ("digest_lo", "<u8")]
TEXT = [("text_hi", "<u8"), ("text_lo", "<u8")]
PREFERENCE = [("priority", "<u2"), ("keep_hi", "<u8"), ("keep_lo", "<u8")]

PREFERENCE_ORDER = ("priority", "keep_hi", "keep_lo")

EXACT = np.dtype(
    [*DIGEST, *PREFERENCE, ("tie", "<u8"), ("ref", "<u8"), ("size", "<u4"), ("source", "<u2")]
)
SURVIVOR = np.dtype([("position", "<u4"), ("copies", "<u4")])
BAND = np.dtype([("key", "<u8"), ("ref", "<u8")])
BUCKET = [("bucket_hi", "<u8"), ("bucket_lo", "<u8")]
MEMBER = np.dtype([*BUCKET, ("ref", "<u8")])
SEAT = np.dtype([*BUCKET, ("row", "<u4")])
EDGE = np.dtype([("a", "<u8"), ("b", "<u8")])
VERDICT = np.dtype(
    [
        ("position", "<u4"),
        ("kept", "?"),
        ("shown", "?"),
        ("cluster", "<u4"),
        ("best", "<u8"),
        ("agreement", "<u2"),
    ]
)
DOCUMENT = np.dtype(
    [
        *TEXT,
        *DIGEST,
        ("piece", "<u8"),
        ("place", "<u4"),
        ("offset", "<u8"),
        ("ids", "<u4"),
        ("size", "<u4"),
        ("cluster", "<u4"),
    ]
)
CHOSEN = np.dtype(
    [("shuffle_hi", "<u8"), ("shuffle_lo", "<u8"), ("source", "<u2"), *DOCUMENT.descr]
)


def scanned(permutations: int) -> np.dtype:
    """One scanned document in a piece's scan file: keys, place and MinHash signature."""
    return np.dtype(
        [
            *TEXT,
            *DIGEST,
            *PREFERENCE,
            ("tie", "<u8"),
            ("fingerprint", "<u8"),
            ("source", "<u2"),
            ("row", "<u4"),
            ("size", "<u4"),
            ("signature", "<u2", (permutations,)),
        ]
    )


def candidate(permutations: int) -> np.dtype:
    """One document that shares a bucket, with what comparing it takes."""
    return np.dtype([("ref", "<u8"), *PREFERENCE, ("signature", "<u2", (permutations,))])


def node(permutations: int) -> np.dtype:
    """One document that has a near-duplicate edge."""
    return np.dtype(
        [
            ("root", "<u8"),
            ("ref", "<u8"),
            *PREFERENCE,
            ("copies", "<u4"),
            ("size", "<u4"),
            ("source", "<u2"),
            ("signature", "<u2", (permutations,)),
        ]
    )


def refs(piece: int, positions: np.ndarray) -> np.ndarray:
    """References to documents by their position in a piece's scan file, uint64 [n]."""
    return np.uint64(piece) << np.uint64(ROW_BITS) | positions.astype(np.uint64)


def ref_pieces(references: np.ndarray) -> np.ndarray:
    """The piece number of each reference, int64 [n]."""
    return (references >> np.uint64(ROW_BITS)).astype(np.int64)


def ref_positions(references: np.ndarray) -> np.ndarray:
    """The position in the scan file of each reference, uint32 [n]."""
    return (references & np.uint64((1 << ROW_BITS) - 1)).astype(np.uint32)


def unpack(packed: Iterable[bytes], dtype: np.dtype) -> np.ndarray:
    """The records of a group's packed elements, in one array; read-only."""
    return np.frombuffer(b"".join(packed), dtype)


def widened(records: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The records, with the further fields of a dtype still to be set."""
    wider = np.empty(len(records), dtype)
    for name in records.dtype.names or ():
        wider[name] = records[name]
    return wider


def split(records: np.ndarray, keys: np.ndarray) -> Iterator[tuple[int, bytes]]:
    """Packs records by key.

    Args:
      records: structured [n].
      keys: int64 [n], not negative.

    Yields:
      (key, packed records of that key), keys ascending.
    """
    if not len(records):
        return
    order = np.argsort(keys, kind="stable")
    records, keys = records[order], keys[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    stops = np.r_[starts[1:], len(keys)]
    for key, start, stop in zip(
        keys[starts].tolist(), starts.tolist(), stops.tolist(), strict=True
    ):
        yield key, records[start:stop].tobytes()


def order_by(records: np.ndarray, *fields: str) -> np.ndarray:
    """Positions that sort records by fields, the first field deciding first; int64 [n]."""
    return np.lexsort([records[field] for field in reversed(fields)])


def run_starts(records: np.ndarray, *fields: str) -> np.ndarray:
    """Where runs of equal fields begin in sorted records; bool [n]."""
    begins = np.zeros(len(records), bool)
    begins[:1] = True
    for field in fields:
        begins[1:] |= records[field][1:] != records[field][:-1]
    return begins


def distinct(records: np.ndarray, *fields: str) -> np.ndarray:
    """Records sorted by fields, one of those in which all of them are equal.

    `np.unique` compares whole records, which takes ten times as long.
    """
    ordered = records[order_by(records, *fields)]
    return ordered[run_starts(ordered, *fields)]


def partition(hashes: np.ndarray, partitions: int) -> np.ndarray:
    """Which of a power of two of partitions each hash falls in, by its leading bits; int64."""
    bits = partitions.bit_length() - 1
    if not bits:
        return np.zeros(hashes.shape, np.int64)
    return (hashes >> np.uint64(64 - bits)).astype(np.int64)
