"""Content digests and the three independent orders that decide what a corpus holds and where.

Every order is BLAKE2b-128 of (seed, purpose, source, text), the text standing as its own
BLAKE2b-128 so that an order can be derived without reading the text again. Equal keys mean
equal source and text, so no further tie-break on the text is needed.
"""

from itertools import pairwise
from typing import Literal

import numpy as np
from xxhash import xxh3_64_intdigest

from transforms.documents import TextBatch
from transforms.kernels.blake2b import blake2b

Purpose = Literal["keep", "pick", "shuffle"]
DIGEST_BYTES = 16


def digests(texts: TextBatch) -> np.ndarray:
    """BLAKE2b-128 of each text; uint64 [n, 2], big-endian halves, so that order is bytewise."""
    return _big_endian(blake2b(texts, DIGEST_BYTES))


def fingerprints(texts: TextBatch) -> np.ndarray:
    """xxh3-64 of each text, uint64 [n]: tells at little cost whether a text is still the same."""
    view = texts.data.data
    return np.array(
        [xxh3_64_intdigest(view[a:b]) for a, b in pairwise(texts.offsets.tolist())], np.uint64
    )


def order_keys(
    purpose: Purpose, seed: int, source: str, text_digests: np.ndarray, epoch: int = 0
) -> np.ndarray:
    """Keys of one order for documents of one source.

    Args:
      purpose: which order.
      seed: the recipe's.
      source: name of the source.
      text_digests: uint64 [n, 2], `digests` of the raw texts.
      epoch: which repetition of the source, from 0.

    Returns:
      uint64 [n, 2], compared by the first column, then the second.
    """
    prefix = f"{seed}\0{purpose}\0{source}\0{epoch}\0".encode()
    width = len(prefix) + DIGEST_BYTES
    rows = np.empty((len(text_digests), width), np.uint8)
    rows[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    raw = np.frombuffer(as_bytes(text_digests), np.uint8)
    rows[:, len(prefix) :] = raw.reshape(-1, DIGEST_BYTES)
    return digests(TextBatch(rows.ravel(), width * np.arange(len(rows) + 1)))


def held_out(texts: TextBatch, per_mille: int) -> np.ndarray:
    """Which texts belong to the validation split; bool [n]."""
    return _big_endian(blake2b(texts, 8))[:, 0] % np.uint64(1000) < per_mille


def as_bytes(halves: np.ndarray) -> bytes:
    """The digests of uint64 [n, 2], as they were, one after the other."""
    return np.ascontiguousarray(halves).astype(">u8").tobytes()


def _big_endian(words: np.ndarray) -> np.ndarray:
    return words.astype("<u8").view(">u8").astype(np.uint64)
