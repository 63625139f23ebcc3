"""Generated documents: a deterministic corpus that needs no network.

A document is a pure function of its source's name and its index. Every 97th repeats the last
original exactly, every 53rd repeats it with about 5% of its words replaced.
"""

import hashlib
from collections.abc import Iterator

import numpy as np

from transforms.documents import Piece, RowBatch, TextBatch
from transforms.readers.rows import BATCH_BYTES
from transforms.sources import SourceSpec

EXACT_EVERY = 97
NEAR_EVERY = 53
FEWEST_WORDS, MOST_WORDS = 60, 400
REPLACED_SHARE = 0.05

# Each is such that any text of it passes the filter of its domain.
_WORDS = {
    "web": "river market winter garden people station morning history window travel kitchen "
    "music village paper summer island teacher bridge forest letter",
    "synthetic": "lesson example students chapter energy system theory reason nature method "
    "question answer science society measure process structure concept results history",
    "code": "def return self.value for item in range(count): if index else: while True: "
    "result.append(item) import os class Reader: print(name) yield total += len(rows)",
    "math": r"let $x=3$ $y^2$ \frac{1}{2} \sum_{k=1} then n=10 so f(x)=7 hence $a+b=12$ the root "
    r"x^2+1=5 is 42 and $z$ \frac{3}{4} equals",
}
VOCABULARIES = {domain: tuple(words.split()) for domain, words in _WORDS.items()}

_STEP_DOCUMENTS = BATCH_BYTES // (MOST_WORDS * 8)


def read_synthetic(piece: Piece, spec: SourceSpec) -> Iterator[RowBatch]:
    """The documents of the piece's range; ids are their indexes."""
    for start in range(piece.start, piece.stop, _STEP_DOCUMENTS):
        indexes = range(start, min(piece.stop, start + _STEP_DOCUMENTS))
        texts = [document(spec.name, spec.domain, index).encode() for index in indexes]
        rows = np.arange(start, indexes.stop, dtype=np.uint32) - np.uint32(piece.start)
        ids: list[str | None] | None = None
        if spec.id_column is not None:
            ids = [str(index) for index in indexes]
        yield RowBatch(rows, TextBatch.from_bytes(texts), ids)


def document(source: str, domain: str, index: int) -> str:
    """The text of one document, 60 to 400 words and a full stop."""
    vocabulary = VOCABULARIES[domain]
    place = index + 1
    words = _words(source, _last_original(index), vocabulary)
    if place % NEAR_EVERY == 0 and place % EXACT_EVERY != 0:
        _replace_some(words, source, index, vocabulary)
    return " ".join(words) + "."


def _last_original(index: int) -> int:
    while (index + 1) % EXACT_EVERY == 0 or (index + 1) % NEAR_EVERY == 0:
        index -= 1
    return index


def _words(source: str, index: int, vocabulary: tuple[str, ...]) -> list[str]:
    numbers = _numbers(source, index, "words", 1 + MOST_WORDS)
    count = FEWEST_WORDS + int(numbers[0]) % (MOST_WORDS - FEWEST_WORDS + 1)
    return [vocabulary[k] for k in (numbers[1 : 1 + count] % len(vocabulary)).tolist()]


def _replace_some(words: list[str], source: str, index: int, vocabulary: tuple[str, ...]) -> None:
    count = max(1, round(REPLACED_SHARE * len(words)))
    numbers = _numbers(source, index, "replace", 2 * count).tolist()
    for where, shift in zip(numbers[:count], numbers[count:], strict=True):
        old = vocabulary.index(words[where % len(words)])
        new = (old + 1 + shift % (len(vocabulary) - 1)) % len(vocabulary)
        words[where % len(words)] = vocabulary[new]


def _numbers(source: str, index: int, purpose: str, count: int) -> np.ndarray:
    """Uniform numbers below 2**32, uint32 [count]; the same on every platform and version."""
    seed = f"{source}\0{index}\0{purpose}".encode()
    return np.frombuffer(hashlib.shake_128(seed).digest(4 * count), "<u4")
