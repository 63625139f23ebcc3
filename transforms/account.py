"""What became of the rows of one piece: counts, samples of the rejected, notes of damage."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson
from apache_beam.pvalue import TaggedOutput

from transforms import ledger, statistics
from transforms.documents import BadRow, Piece
from transforms.readers.rows import FileNote

REJECTS_PER_REASON = 20
SAMPLE_CHARACTERS = 2000

Reject = tuple[tuple[str, str], tuple[bytes, bytes]]
Note = tuple[str, str, str]

_RejectOutput = TaggedOutput[Literal["rejects"], Reject]
_NoteOutput = TaggedOutput[Literal["notes"], Note]
AccountOutput = ledger.EntryOutput | _RejectOutput | _NoteOutput
"""A part of an account beside the main output of a DoFn."""


class PieceAccount(NamedTuple):
    """The account of one piece.

    Attributes:
      outcomes: (documents, bytes) by ledger outcome, `read` included.
      rejects: by outcome, the least rejected rows by key, as (key, JSON for people).
      notes: (path, kind, detail) of damage that was passed over.
      statistics: histograms of its documents, by name.
    """

    outcomes: dict[str, tuple[int, int]]
    rejects: dict[str, list[tuple[bytes, bytes]]]
    notes: list[Note]
    statistics: dict[str, statistics.Counts]

    def read(self) -> tuple[int, int]:
        """How many rows were read, and the bytes of their text."""
        return self.outcomes.get(ledger.READ, (0, 0))

    def report(self) -> dict[str, Any]:
        """The account as JSON can hold it."""
        rejects = {
            outcome: [(key.hex(), row.decode()) for key, row in sampled]
            for outcome, sampled in self.rejects.items()
        }
        return {
            "outcomes": self.outcomes,
            "rejects": rejects,
            "notes": self.notes,
            "statistics": self.statistics,
        }

    def tagged(self, source: str) -> Iterator[AccountOutput]:
        """The account, as a DoFn puts it out."""
        for outcome, (documents, size) in self.outcomes.items():
            entry = ledger.entry(source, outcome, documents, size)
            yield ledger.EntryOutput("entries", entry)
        for name, counts in self.statistics.items():
            yield ledger.EntryOutput("entries", statistics.entry(source, name, counts))
        for outcome, sampled in self.rejects.items():
            for sample in sampled:
                yield _RejectOutput("rejects", ((source, outcome), sample))
        for note in self.notes:
            yield _NoteOutput("notes", note)


def account_of(report: dict[str, Any]) -> PieceAccount:
    """Inverse of `PieceAccount.report`."""
    return PieceAccount(
        {outcome: (n, size) for outcome, (n, size) in report["outcomes"].items()},
        {
            outcome: [(bytes.fromhex(key), row.encode()) for key, row in sampled]
            for outcome, sampled in report["rejects"].items()
        },
        [(path, kind, detail) for path, kind, detail in report["notes"]],
        {name: tuple(counts) for name, counts in report["statistics"].items()},
    )


class Accountant:
    """Keeps the account of one piece while its rows are read."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._documents: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._rejects: dict[str, list[tuple[bytes, bytes]]] = {}
        self._notes: list[Note] = []
        self._statistics: dict[str, statistics.Counts] = {}

    def note(self, note: FileNote) -> None:
        """Keeps a note of damage."""
        self._notes.append((note.path, note.kind, note.detail))

    def count(self, outcome: str, documents: int, size: int) -> None:
        """Counts documents, and their bytes of text."""
        if documents:
            self._documents[outcome] += documents
            self._bytes[outcome] += size

    def measure(self, name: str, values: np.ndarray) -> None:
        """Counts a statistic of all documents into its histogram."""
        self._statistics[name] = statistics.histogram(name, values)

    def bad_row(self, row: BadRow) -> None:
        """Counts and samples a row that gives no document."""
        outcome = f"{ledger.MALFORMED}:{row.reason}"
        self.count(ledger.READ, 1, 0)
        self.count(outcome, 1, 0)
        self.sample(outcome, row.row, row.sample)

    def sample(self, outcome: str, row: int, raw: bytes) -> None:
        """Keeps a rejected row if its key is among the least of its outcome."""
        key = hashlib.blake2b(raw, digest_size=16).digest()
        sampled = self._rejects.setdefault(outcome, [])
        if len(sampled) == REJECTS_PER_REASON and key > sampled[-1][0]:
            return
        excerpt = raw[: 4 * SAMPLE_CHARACTERS].decode(errors="replace")[:SAMPLE_CHARACTERS]
        shown = {
            "reason": outcome,
            "file": self._piece.name(),
            "from_byte": self._piece.start if self._piece.kind == "jsonl" else 0,
            "row": self._piece.rows_before + row,
            "text": excerpt,
        }
        sampled.append((key, orjson.dumps(shown)))
        sampled.sort()
        del sampled[REJECTS_PER_REASON:]

    def account(self) -> PieceAccount:
        """The account so far."""
        outcomes = {name: (count, self._bytes[name]) for name, count in self._documents.items()}
        return PieceAccount(outcomes, self._rejects, self._notes, self._statistics)
