"""Fixed-size records of examples that cross a shuffle, and the examples that they stand for."""

from collections.abc import Iterator

import numpy as np

from transforms import records, storage
from transforms.work import WorkFolder

PROBLEM = [(f"problem_{k}", "<u8") for k in range(4)]
PROBLEM_ORDER = tuple(name for name, _ in PROBLEM)

# A parsed example; in a piece's work file they stand in the order of their rows.
PARSED = np.dtype([*PROBLEM, *records.TEXT, ("ref", "<u8"), ("size", "<u4")])
# One that has no duplicate any more.
UNIQUE = np.dtype([*PARSED.descr, ("pick_hi", "<u8"), ("pick_lo", "<u8")])
# One that has been encoded: ranges of its piece's work files of ids and of lengths.
ENCODED = np.dtype(
    [
        ("shuffle_hi", "<u8"),
        ("shuffle_lo", "<u8"),
        *PROBLEM,
        ("piece", "<u8"),
        ("offset", "<u8"),
        ("ids", "<u4"),
        ("first_text", "<u4"),
        ("texts", "<u4"),
        ("size", "<u4"),
    ]
)


def problems(found: np.ndarray) -> np.ndarray:
    """SHA-256 of the problems of records, uint64 [n, 4]."""
    return np.stack([found[name] for name in PROBLEM_ORDER], axis=1)


def text_digests(found: np.ndarray) -> np.ndarray:
    """Digests of the whole examples of records, uint64 [n, 2]."""
    return np.stack([found["text_hi"], found["text_lo"]], axis=1)


def examples_of(found: np.ndarray, work: WorkFolder) -> Iterator[bytes]:
    """The examples of records, as `Example.to_json` writes them, from the work file of a piece.

    Args:
      found: with `ref`, all of one piece.
    """
    (piece,) = set(records.ref_pieces(found["ref"]).tolist())
    stops = np.cumsum(storage.load_array(work.parsed(piece))["size"].astype(np.int64))
    raw = storage.read_bytes(work.examples(piece))
    for position in records.ref_positions(found["ref"]).tolist():
        yield raw[stops[position - 1] if position else 0 : stops[position]]
