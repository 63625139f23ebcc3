"""Copies of texts that are no near duplicates of them: a share of the words is replaced."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

SHARE = 0.35
_EVERY = 37
_GAPS = re.compile(r"(\s+)")


@dataclass(frozen=True)
class Substitution:
    """Replaces words by others of the same corpus.

    Attributes:
      pool: words with the frequencies of the corpus, so that a copy measures like its original
        and passes the same filter.
    """

    pool: tuple[str, ...]

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> "Substitution":
        """Draws the pool from texts."""
        words = chain.from_iterable(map(str.split, texts))
        return cls(tuple(islice(words, 0, None, _EVERY)))

    def copy(self, text: str, seed: str) -> str:
        """The text with `SHARE` of its words replaced; white space stays as it is."""
        parts = _GAPS.split(text)
        random = generator(seed)
        replaced = np.flatnonzero(random.random((len(parts) + 1) // 2) < SHARE)
        drawn = random.integers(0, len(self.pool), len(replaced))
        for place, word in zip((2 * replaced).tolist(), drawn.tolist(), strict=True):
            parts[place] = self.pool[word]
        return "".join(parts)


def generator(seed: str) -> np.random.Generator:
    """A random generator that depends on the seed alone, in every process."""
    digest = hashlib.blake2b(seed.encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
