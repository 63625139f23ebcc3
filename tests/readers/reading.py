"""What a test needs to read a source whole, through plan and read."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transforms import readers
from transforms.documents import Piece
from transforms.readers import planning
from transforms.sources import FilesInput, SourceSpec

MALFORMED = Path(__file__).resolve().parents[1] / "data" / "malformed"


@dataclass
class Outcome:
    """All that pieces gave; rows are numbered over the pieces."""

    texts: list[str] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)
    notes: list[readers.FileNote] = field(default_factory=list)

    def reasons(self) -> list[str]:
        return [reason for _, reason in self.bad]


def files(*paths: Path | str, **options: Any) -> SourceSpec:
    return SourceSpec("s", "web", FilesInput(tuple(map(str, paths))), **options)


def read_pieces(pieces: list[Piece], spec: SourceSpec) -> Outcome:
    outcome = Outcome()
    before = 0
    for piece in pieces:
        count = 0
        for batch in readers.read(piece, spec):
            if isinstance(batch, readers.FileNote):
                outcome.notes.append(batch)
                continue
            assert len(batch.rows) == len(batch.texts)
            outcome.texts += batch.texts.strings()
            outcome.ids += batch.ids if batch.ids is not None else [None] * len(batch.rows)
            outcome.rows += [before + row for row in batch.rows.tolist()]
            outcome.bad += [(before + row.row, row.reason) for row in batch.bad]
            count += len(batch.rows) + len(batch.bad)
        before += count
    assert sorted([*outcome.rows, *(row for row, _ in outcome.bad)]) == list(range(before))
    return outcome


def read_source(spec: SourceSpec, piece_bytes: int = planning.PIECE_BYTES) -> Outcome:
    plan = planning.plan(0, spec, 0, piece_bytes)
    outcome = read_pieces(plan.pieces, plan.spec)
    outcome.notes = plan.skipped + outcome.notes
    return outcome
