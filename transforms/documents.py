"""What flows between reading and the kernels: pieces of input and columnar batches of rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from transforms.errors import InternalError
from transforms.kernels.gather import gather

CHUNK_BITS = 16
ROW_BITS = 24


@dataclass(frozen=True)
class TextBatch:
    """Texts as one UTF-8 buffer.

    Attributes:
      data: uint8 [n_bytes], the texts one after the other.
      offsets: int64 [n_texts + 1]; text i is `data[offsets[i]:offsets[i + 1]]`.
    """

    data: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_bytes(cls, texts: Sequence[bytes | memoryview]) -> "TextBatch":
        """Joins UTF-8 encoded texts."""
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(texts), np.uint8), offsets)

    @classmethod
    def from_strings(cls, texts: Iterable[str]) -> "TextBatch":
        """Encodes and joins texts; raises UnicodeEncodeError on a lone surrogate."""
        return cls.from_bytes([text.encode() for text in texts])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sizes(self) -> np.ndarray:
        """Bytes of each text, int64 [n_texts]."""
        return np.diff(self.offsets)

    def bytes_list(self) -> list[bytes]:
        """The texts, UTF-8 encoded."""
        joined = self.data.tobytes()
        bounds = self.offsets.tolist()
        return [joined[a:b] for a, b in pairwise(bounds)]

    def strings(self) -> list[str]:
        """The texts, decoded."""
        view = self.data.data
        return [str(view[a:b], "utf-8") for a, b in pairwise(self.offsets.tolist())]

    def take(self, chosen: np.ndarray) -> "TextBatch":
        """The texts at the given positions (int [k]) or where the mask (bool [n_texts]) is set."""
        positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        if len(positions) == len(self) and np.array_equal(positions, np.arange(len(self))):
            return self
        sizes = self.sizes()[positions]
        data = gather(self.data, self.offsets[positions], sizes)
        return TextBatch(data, np.concatenate([[0], np.cumsum(sizes)]))


@dataclass(frozen=True)
class Piece:
    """A part of one source's input that can be read again and gives the same rows each time.

    Attributes:
      number: unique in a run; `piece_number(parent, chunk)`. Bookkeeping only: no output byte may
        depend on it.
      source: place of the source in the recipe.
      kind: the reader that takes it: "jsonl", "compressed_jsonl", "parquet", "hub", "synthetic",
        "landed".
      path: the file, or for a hub shard and synthetic documents a name for messages.
      start, stop: half-open range: bytes (jsonl), row groups (parquet), dataset shard (hub),
        documents (synthetic); 0 and 0 where the piece is the whole file.
      rows_before: rows of the same file that precede this piece, where that is known (landed
        pieces), so that messages can name the row.
      land: it is to be landed before it is read.
      origin: of a landed piece, the path of the piece that was landed.
      size: bytes of text, about; known once the work is planned, and only progress goes by it.
    """

    number: int
    source: int
    kind: str
    path: str
    start: int = 0
    stop: int = 0
    rows_before: int = 0
    land: bool = False
    origin: str = ""
    size: int = 0

    def name(self) -> str:
        """The file or dataset shard that people know."""
        return self.origin or self.path


def piece_number(parent: int, chunk: int = 0) -> int:
    """The number of the chunk-th piece landed from the parent-th planned one.

    Raises:
      InternalError: more than 2**24 planned pieces, or 2**16 landed from one of them.
    """
    if not (0 <= parent < 1 << (64 - ROW_BITS - CHUNK_BITS) and 0 <= chunk < 1 << CHUNK_BITS):
        raise InternalError(f"piece {parent}.{chunk} is out of range: use larger pieces")
    return parent << CHUNK_BITS | chunk


@dataclass(frozen=True)
class BadRow:
    """A row that gives no document.

    Attributes:
      row: its place in the piece, counted from 0 together with the good rows.
      reason: one of the `REASON_*` words of `transforms.readers.rows`.
      sample: the start of the raw row, at most 2000 bytes.
    """

    row: int
    reason: str
    sample: bytes


@dataclass(frozen=True)
class RowBatch:
    """Rows of a piece, in their order there.

    Attributes:
      rows: uint32 [n], place in the piece of each good row.
      texts: the good rows' text, n of them; valid UTF-8, possibly empty or blank.
      ids: the good rows' ids as strings, None where a row has none; None as a whole where the
        source names no id column.
      bad: rows that give no document.
    """

    rows: np.ndarray
    texts: TextBatch
    ids: list[str | None] | None = None
    bad: list[BadRow] = field(default_factory=list)
