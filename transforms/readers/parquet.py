"""Parquet files by row groups; only the columns of the text and of the id are read."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from transforms import storage
from transforms.documents import Piece, RowBatch
from transforms.errors import DamagedFileError
from transforms.readers import columns
from transforms.readers.rows import BATCH_BYTES, BATCH_ROWS
from transforms.sources import SourceSpec


@contextmanager
def _named_damage(path: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        reason = str(error).partition("\n")[0]
        raise DamagedFileError(
            f"{path}: damaged or not parquet ({reason}); fetch the file again, "
            "or set on_bad_file: skip"
        ) from error


def read_parquet(piece: Piece, spec: SourceSpec) -> Iterator[RowBatch]:
    """Rows of the piece's row groups.

    Raises:
      DamagedFileError: after the rows before the damage.
      SourceError: a column is missing or of a wrong type.
    """
    row = 0
    with _named_damage(piece.path), _open(piece.path) as file:
        columns.check_columns(file.schema_arrow, spec, piece.path)
        for group in range(piece.start, piece.stop):
            # One row group at a time: damage in one takes no rows of those before with it.
            batches = file.iter_batches(
                batch_size=_batch_rows(file, group, spec.text_columns),
                row_groups=[group],
                columns=list(spec.read_columns),
                use_threads=False,
            )
            for batch in batches:
                yield columns.to_rows(batch, row, spec)
                row += batch.num_rows


def row_group_ranges(path: str, spec: SourceSpec, piece_bytes: int) -> list[tuple[int, int]]:
    """Ranges of row groups that hold about `piece_bytes` of text each.

    Raises:
      DamagedFileError: the footer cannot be read.
      SourceError: a column is missing or of a wrong type.
    """
    with _named_damage(path), _open(path) as file:
        columns.check_columns(file.schema_arrow, spec, path)
        groups = range(file.num_row_groups)
        sizes = [_text_bytes(file, group, spec.text_columns) for group in groups]
    ranges: list[tuple[int, int]] = []
    start, held = 0, 0
    for group, size in enumerate(sizes):
        if group > start and held + size > piece_bytes:
            ranges.append((start, group))
            start, held = group, 0
        held += size
    if sizes:
        ranges.append((start, len(sizes)))
    return ranges


def row_counts(path: str) -> list[int]:
    """Rows of each row group.

    Raises:
      DamagedFileError: the footer cannot be read.
    """
    with _named_damage(path), _open(path) as file:
        return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]


@contextmanager
def _open(path: str) -> Iterator[pq.ParquetFile]:
    if storage.is_remote(path):
        source = pa.PythonFile(storage.open_read(path), mode="r")
    else:
        source = pa.memory_map(path)
    with (
        source,
        pq.ParquetFile(
            source, pre_buffer=storage.is_remote(path), page_checksum_verification=True
        ) as file,
    ):
        yield file


def _text_bytes(file: pq.ParquetFile, group: int, columns: tuple[str, ...]) -> int:
    described = file.metadata.row_group(group)
    chunks = (described.column(index) for index in range(described.num_columns))
    # What a list holds is a column of its own, below the list's name.
    return sum(
        chunk.total_uncompressed_size
        for chunk in chunks
        if any(f"{chunk.path_in_schema}.".startswith(f"{column}.") for column in columns)
    )


def _batch_rows(file: pq.ParquetFile, group: int, columns: tuple[str, ...]) -> int:
    """Rows that hold about `BATCH_BYTES` of text."""
    count = file.metadata.row_group(group).num_rows
    text = _text_bytes(file, group, columns)
    return max(1, min(BATCH_ROWS, BATCH_BYTES * count // max(1, text)))
