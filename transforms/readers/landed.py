"""Landed pieces: rows of what should not be read twice, kept as Arrow IPC files.

A record batch holds good rows only or bad rows only. What reading passed over stands in the
metadata of the last file, so that reading the landed pieces tells it again.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import orjson
import pyarrow as pa

from transforms import storage
from transforms.documents import CHUNK_BITS, BadRow, Piece, RowBatch, TextBatch, piece_number
from transforms.readers.columns import text_batch
from transforms.readers.rows import FileNote
from transforms.sources import SourceSpec

LANDED_BYTES = 8 << 20

_SCHEMA = pa.schema(
    [
        ("row", pa.uint32()),
        ("text", pa.large_binary()),
        ("id", pa.string()),
        ("reason", pa.string()),
        ("sample", pa.binary()),
    ]
)
_NOTES = b"notes"


def land_rows(
    rows: Iterable[RowBatch | FileNote], piece: Piece, work_dir: str, landed_bytes: int = 0
) -> Iterator[Piece]:
    """Writes the rows of a piece as landed pieces of about `landed_bytes` of text.

    They are at least of `LANDED_BYTES`.

    Names and bytes are the same each time, so a repeated landing overwrites itself.
    """
    limit = max(LANDED_BYTES, landed_bytes)
    writer = _Writer(piece, work_dir)
    notes: list[FileNote] = []
    for batch in rows:
        if isinstance(batch, FileNote):
            notes.append(batch)
            continue
        size = len(batch.texts.data)
        if writer.held and writer.held + size > limit:
            yield writer.flush([])
        writer.add(batch)
    if writer.held or notes:
        yield writer.flush(notes)


def read_landed(piece: Piece, spec: SourceSpec) -> Iterator[RowBatch | FileNote]:
    """Rows of a landed piece, and the notes that its last file keeps."""
    if storage.is_remote(piece.path):
        source = pa.BufferReader(storage.read_bytes(piece.path))
    else:
        source = pa.memory_map(piece.path)
    with pa.ipc.open_file(source) as file:
        for index in range(file.num_record_batches):
            yield _from_arrow(file.get_batch(index), with_ids=spec.id_column is not None)
        for note in orjson.loads(file.schema.metadata[_NOTES]):
            yield FileNote(**note)


class _Writer:
    """Gathers batches into files.

    Attributes:
      held: bytes of text and samples gathered since the last file, at least 1 if there are rows.
    """

    def __init__(self, piece: Piece, work_dir: str) -> None:
        self._piece = piece
        self._folder = storage.join(work_dir, "landed")
        self._batches: list[pa.RecordBatch] = []
        self._chunk = 0
        self._rows_before = 0
        self._rows = 0
        self.held = 0

    def add(self, batch: RowBatch) -> None:
        before = self._rows_before
        if len(batch.texts):
            self._batches.append(_good_rows(batch, before))
        if batch.bad:
            self._batches.append(_bad_rows(batch.bad, before))
        self._rows += len(batch.rows) + len(batch.bad)
        self.held += max(1, len(batch.texts.data) + sum(len(row.sample) for row in batch.bad))

    def flush(self, notes: list[FileNote]) -> Piece:
        piece = self._piece
        number = piece_number(piece.number >> CHUNK_BITS, self._chunk)
        path = storage.join(self._folder, f"{number:012x}.arrow")
        schema = _SCHEMA.with_metadata({_NOTES: orjson.dumps(notes)})
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(sink, schema, options=options) as file:
            for batch in self._batches:
                file.write_batch(batch)
        storage.write_whole(path, memoryview(sink.getvalue()))
        landed = Piece(
            number,
            piece.source,
            "landed",
            path,
            rows_before=self._rows_before,
            origin=piece.name(),
            size=self.held,
        )
        self._rows_before += self._rows
        self._batches, self._rows, self.held = [], 0, 0
        self._chunk += 1
        return landed


def _good_rows(batch: RowBatch, before: int) -> pa.RecordBatch:
    count = len(batch.texts)
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        count,
        [
            None,
            pa.py_buffer(np.ascontiguousarray(batch.texts.offsets)),
            pa.py_buffer(np.ascontiguousarray(batch.texts.data)),
        ],
    )
    names = pa.nulls(count, pa.string()) if batch.ids is None else pa.array(batch.ids, pa.string())
    rows = pa.array(batch.rows - np.uint32(before), pa.uint32())
    rest = [pa.nulls(count, pa.string()), pa.nulls(count, pa.binary())]
    return pa.record_batch([rows, texts, names, *rest], schema=_SCHEMA)


def _bad_rows(bad: list[BadRow], before: int) -> pa.RecordBatch:
    return pa.record_batch(
        [
            pa.array([row.row - before for row in bad], pa.uint32()),
            pa.nulls(len(bad), pa.large_binary()),
            pa.nulls(len(bad), pa.string()),
            pa.array([row.reason for row in bad], pa.string()),
            pa.array([row.sample for row in bad], pa.binary()),
        ],
        schema=_SCHEMA,
    )


def _from_arrow(batch: pa.RecordBatch, with_ids: bool) -> RowBatch:
    rows = batch.column("row").to_numpy()
    if batch.column("reason").null_count == 0:
        reasons = batch.column("reason").to_pylist()
        samples = batch.column("sample").to_pylist()
        bad = [BadRow(*found) for found in zip(rows.tolist(), reasons, samples, strict=True)]
        no_ids: list[str | None] | None = [] if with_ids else None
        return RowBatch(np.empty(0, np.uint32), TextBatch.from_bytes([]), no_ids, bad)
    ids = batch.column("id").to_pylist() if with_ids else None
    return RowBatch(rows, text_batch(batch.column("text")), ids)
