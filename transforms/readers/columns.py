"""From Arrow columns to rows, without a Python object a row where the rows are good."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transforms.documents import BadRow, RowBatch, TextBatch
from transforms.errors import SourceError
from transforms.readers import rows
from transforms.sources import SourceSpec


def field_path(schema: pa.Schema, column: str) -> list[str] | None:
    """The names that lead to a column: itself, or its dotted path into structs; None if absent."""
    if column in schema.names:
        return [column]
    path = column.split(".")
    fields: Iterable[pa.Field] = schema
    for depth, name in enumerate(path):
        found = [field for field in fields if field.name == name]
        if not found:
            return None
        is_leaf = depth == len(path) - 1
        if not is_leaf and not pa.types.is_struct(found[0].type):
            return None
        fields = [] if is_leaf else found[0].type
    return path


def check_columns(schema: pa.Schema, spec: SourceSpec, where: str) -> None:
    """Checks that the columns of the text and of the id exist and have types that can be read.

    Args:
      where: the file or dataset, for messages.

    Raises:
      SourceError: naming the columns there are, or the column and its type.
    """
    for column in spec.columns or ():
        kind = _type_of(schema, column, spec, where)
        if not _is_plain(kind):
            raise SourceError(
                f"source {spec.name!r}: {where}: column {column!r} is {kind}: name a column of "
                "strings, numbers or lists of them"
            )
    text_type = None if spec.columns else _type_of(schema, spec.text_column, spec, where)
    if text_type is not None and not _is_text(text_type):
        raise SourceError(
            f"source {spec.name!r}: {where}: column {spec.text_column!r} is {text_type}, not text: "
            "name a string column in text_column"
        )
    if spec.id_column is not None:
        id_type = _type_of(schema, spec.id_column, spec, where)
        if not (_is_text(id_type) or pa.types.is_integer(id_type)):
            raise SourceError(
                f"source {spec.name!r}: {where}: column {spec.id_column!r} is {id_type}: "
                "name a string or integer column in id_column"
            )


def _type_of(schema: pa.Schema, column: str, spec: SourceSpec, where: str) -> pa.DataType:
    path = field_path(schema, column)
    if path is None:
        raise no_such_column(spec, where, column, schema.names)
    kind: pa.DataType = schema.field(path[0]).type
    for name in path[1:]:
        kind = kind.field(name).type
    return kind


def no_such_column(spec: SourceSpec, where: str, column: str, names: Iterable[str]) -> SourceError:
    """The error that a column is missing, naming those there are."""
    shown = ", ".join(names) or "none"
    return SourceError(
        f"source {spec.name!r}: {where}: no column {column!r}; the columns are: {shown}"
    )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        check(kind)
        for check in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
        )
    )


def _is_plain(kind: pa.DataType) -> bool:
    """Whether JSON has words for the values of a column."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_plain(kind.value_type)
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    return _is_text(kind) or any(check(kind) for check in checks)


def to_rows(batch: pa.RecordBatch, first_row: int, spec: SourceSpec) -> RowBatch:
    """Rows of a record batch whose columns passed `check_columns`, numbered from `first_row`."""
    if spec.columns is None:
        texts = column_of(batch, spec.text_column).cast(pa.large_binary())
    else:
        texts = _as_texts([column_of(batch, column) for column in spec.columns], spec.columns)
    valid = _valid_text(texts, spec.max_doc_bytes)
    bad: list[BadRow] = []
    for place in np.flatnonzero(~valid).tolist():
        raw = texts[place].as_py()
        bad.append(rows.bad_row(first_row + place, _fault(raw, spec.max_doc_bytes), raw or b""))
    good = np.flatnonzero(valid)
    if bad:
        texts = texts.take(pa.array(good))
    ids = None
    if spec.id_column is not None:
        ids = _names(column_of(batch, spec.id_column).take(pa.array(good)))
    return RowBatch((first_row + good).astype(np.uint32), text_batch(texts), ids, bad)


def _names(ids: pa.Array) -> list[str | None]:
    """Ids as strings; None where there is none, or one that is not UTF-8."""
    try:
        return ids.cast(pa.string()).to_pylist()
    except pa.ArrowInvalid:
        return [
            raw.decode() if raw is not None and rows.encoding_fault(raw) is None else None
            for raw in ids.cast(pa.binary()).to_pylist()
        ]


def _as_texts(values: list[pa.Array], names: tuple[str, ...]) -> pa.LargeBinaryArray:
    """Several columns as texts, which are not UTF-8 where one of a row's values is not."""
    raw = [_undecoded(column) for column in values]
    texts = []
    for row in zip(*raw, strict=True):
        given = dict(zip(names, (value.as_py() for value in row), strict=True))
        try:
            texts.append(rows.as_text(given))
        except UnicodeDecodeError as error:
            texts.append(error.object)
    return pa.array(texts, pa.large_binary())


def _undecoded(values: pa.Array) -> pa.Array:
    """Text as bytes, also in lists, so that invalid UTF-8 is found row by row."""
    kind = values.type
    if _is_text(kind):
        return values.cast(pa.large_binary())
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type):
        return values.cast(pa.large_list(pa.large_binary()))
    return values


def text_batch(texts: pa.LargeBinaryArray) -> TextBatch:
    """The texts of a column without nulls; its buffers are shared, not copied."""
    if not len(texts):
        return TextBatch.from_bytes([])
    _, offset_buffer, data_buffer = texts.buffers()
    bounds = np.frombuffer(offset_buffer, np.int64)
    offsets = bounds[texts.offset : texts.offset + len(texts) + 1]
    start, stop = int(offsets[0]), int(offsets[-1])
    data = (
        np.frombuffer(data_buffer or b"", np.uint8, stop - start, start)
        if stop > start
        else (np.empty(0, np.uint8))
    )
    return TextBatch(data, offsets - start)


def column_of(batch: pa.RecordBatch, column: str) -> pa.Array:
    """The values of a column that `check_columns` found."""
    path = field_path(batch.schema, column)
    if path is None:
        raise KeyError(column)
    found = batch.column(path[0])
    return pc.struct_field(found, path[1:]) if len(path) > 1 else found


def _valid_text(texts: pa.LargeBinaryArray, limit: int) -> np.ndarray:
    """Which texts are there, of a fair size, and UTF-8; bool [n]."""
    sizes = pc.fill_null(pc.binary_length(texts), limit + 1).to_numpy(zero_copy_only=False)
    valid = sizes <= limit
    try:
        texts.cast(pa.large_string())
    except pa.ArrowInvalid:
        for place in np.flatnonzero(valid).tolist():
            valid[place] = rows.encoding_fault(texts[place].as_py()) is None
    return valid


def _fault(raw: bytes | None, limit: int) -> str:
    if raw is None:
        return rows.REASON_NULL_TEXT
    if len(raw) > limit:
        return rows.REASON_TOO_LARGE
    return rows.encoding_fault(raw) or rows.REASON_INVALID_UTF8
