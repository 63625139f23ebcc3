"""Reading: whatever a source's input is, a piece gives batches of rows."""

from collections.abc import Callable, Iterator

import numpy as np

from transforms.documents import Piece, RowBatch, TextBatch
from transforms.errors import DamagedFileError
from transforms.readers.compressed import read_compressed_jsonl
from transforms.readers.hub import read_hub
from transforms.readers.jsonl import read_jsonl
from transforms.readers.landed import read_landed
from transforms.readers.parquet import read_parquet
from transforms.readers.rows import NOTE_DAMAGED, FileNote
from transforms.readers.synthetic import read_synthetic
from transforms.sources import SourceSpec

__all__ = ["FileNote", "read", "read_rows"]

_Reader = Callable[[Piece, SourceSpec], Iterator[RowBatch | FileNote]]
_READERS: dict[str, _Reader] = {
    "jsonl": read_jsonl,
    "compressed_jsonl": read_compressed_jsonl,
    "parquet": read_parquet,
    "hub": read_hub,
    "synthetic": read_synthetic,
    "landed": read_landed,
}


def read(piece: Piece, spec: SourceSpec) -> Iterator[RowBatch | FileNote]:
    """Rows of a piece, and notes of damage that was passed over.

    Rows are numbered from 0 within the piece. Reading again gives the same rows.

    Raises:
      DamagedFileError: a file is damaged and the source says `on_bad_file: fail`; otherwise the
        rows before the damage are given, then a note.
      SourceError: the input is not as the recipe says.
    """
    try:
        yield from _READERS[piece.kind](piece, spec)
    except DamagedFileError as error:
        if spec.on_bad_file == "fail":
            raise
        yield FileNote(piece.path, NOTE_DAMAGED, str(error))


def read_rows(
    piece: Piece, spec: SourceSpec, rows: np.ndarray
) -> Iterator[tuple[TextBatch, list[str | None] | None]]:
    """Texts and ids of some rows of a piece, in order; see `read`.

    Args:
      rows: integers [n], ascending.
    """
    for batch in read(piece, spec):
        if not isinstance(batch, RowBatch) or not len(batch.rows):
            continue
        wanted = np.flatnonzero(np.isin(batch.rows, rows, assume_unique=True))
        if len(wanted):
            ids = batch.ids
            names = None if ids is None else [ids[k] for k in wanted.tolist()]
            yield batch.texts.take(wanted), names
