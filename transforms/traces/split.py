"""What decides by the problem alone: which examples are duplicates, and which are held out.

Both are functions of SHA-256 of the problem, so that a problem never appears in both splits.
"""

import hashlib
from itertools import pairwise

import numpy as np

from transforms.documents import TextBatch


def problem_digests(problems: TextBatch) -> np.ndarray:
    """SHA-256 of each problem; uint64 [n, 4], big-endian words, so that order is bytewise."""
    view = problems.data.data
    hashes = [hashlib.sha256(view[a:b]).digest() for a, b in pairwise(problems.offsets.tolist())]
    return np.frombuffer(b"".join(hashes), ">u8").astype(np.uint64).reshape(-1, 4)


def in_validation(digests: np.ndarray, val_fraction: float) -> np.ndarray:
    """Which problems belong to the validation split.

    Args:
      digests: uint64 [n, 4], `problem_digests`.
      val_fraction: between 0 and 1; the first 4 bytes of the digest, as a fraction of 2**32, must
        be below it.

    Returns:
      bool [n].
    """
    return (digests[:, 0] >> np.uint64(32)) / 2**32 < val_fraction
