"""MinHash, banding and clusters with numpy and dictionaries: the idiom of common dedup scripts."""

import zlib
from collections import defaultdict

import numpy as np

PERMUTATIONS = 128
BANDS = 16
SHINGLE = 5
THRESHOLD = 0.8
MAX_LEADERS = 64

_PRIME = np.uint64((1 << 32) + 15)
# Bounds the matrix of permuted hashes, which for a long document would take gigabytes.
_BLOCK = 1024

_random = np.random.default_rng(1)
_FACTORS = _random.integers(1, 1 << 32, PERMUTATIONS, np.uint64)
_TERMS = _random.integers(0, 1 << 32, PERMUTATIONS, np.uint64)


def signature(normalized: str) -> np.ndarray:
    """MinHash of a text's distinct character shingles, uint32 [PERMUTATIONS]."""
    starts = range(max(len(normalized) - SHINGLE + 1, 1))
    shingles = {normalized[i : i + SHINGLE] for i in starts}
    hashes = np.fromiter(
        (zlib.crc32(shingle.encode()) for shingle in shingles), np.uint64, len(shingles)
    )
    least = np.full(PERMUTATIONS, _PRIME)
    for start in range(0, len(hashes), _BLOCK):
        permuted = (hashes[start : start + _BLOCK, None] * _FACTORS + _TERMS) % _PRIME
        np.minimum(least, permuted.min(axis=0), out=least)
    return least.astype(np.uint32)


def clusters(signatures: np.ndarray) -> np.ndarray:
    """Near-duplicate clusters.

    Args:
      signatures: uint32 [n, PERMUTATIONS], best document first.

    Returns:
      int64 [n], the best document of each one's cluster; itself if it has no near duplicate.
    """
    best = list(range(len(signatures)))

    def find(document: int) -> int:
        while best[document] != document:
            best[document] = best[best[document]]
            document = best[document]
        return document

    for bucket in _buckets(signatures):
        leaders: list[int] = []
        for document in bucket:
            agreement = (signatures[leaders] == signatures[document]).mean(axis=1)
            near = np.flatnonzero(agreement >= THRESHOLD)
            if len(near):
                a, b = find(leaders[near[0]]), find(document)
                best[max(a, b)] = min(a, b)
            elif len(leaders) < MAX_LEADERS:
                leaders.append(document)
    return np.array([find(document) for document in range(len(signatures))])


def _buckets(signatures: np.ndarray) -> list[list[int]]:
    """Documents that share a band, for each band; only those of at least two."""
    rows = PERMUTATIONS // BANDS
    found = []
    for band in range(BANDS):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for document, part in enumerate(signatures[:, band * rows : (band + 1) * rows]):
            buckets[part.tobytes()].append(document)
        found += [bucket for bucket in buckets.values() if len(bucket) > 1]
    return found
