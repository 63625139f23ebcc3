r"""JSON lines: one object a line, lines ended by `\n` alone.

A byte-order mark at the file's start is skipped, a carriage return before `\n` is white space to
JSON, and a line of white space is no row.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson

from transforms import storage
from transforms.documents import BadRow, Piece, RowBatch, TextBatch
from transforms.kernels.json_text import ReadLines, read_lines
from transforms.readers import rows
from transforms.readers.lines import OverlongLine, range_blocks, whole_lines
from transforms.sources import SourceSpec

# JSON may write one byte of text as six (`\u0000`); the rest is room for the other columns.
ESCAPED_BYTES = 6
OTHER_COLUMNS_BYTES = 1 << 20

_SURROGATE_ESCAPE = re.compile(
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"  # a pair
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
    rb"|\\."  # any other escape, so that an escaped backslash hides what follows it
)


@dataclass(frozen=True)
class Row:
    """A good row: its text in UTF-8, and its id where the row has one."""

    text: bytes
    name: str | None


def read_jsonl(piece: Piece, spec: SourceSpec) -> Iterator[RowBatch]:
    """Rows whose line starts in the piece's byte range."""
    with storage.open_read(piece.path) as file:
        blocks = range_blocks(file, piece.start, piece.stop)
        yield from parse_blocks(blocks, spec, at_start=piece.start == 0)


def parse_blocks(blocks: Iterable[bytes], spec: SourceSpec, at_start: bool) -> Iterator[RowBatch]:
    """Rows of a stream of lines, about a block at a time.

    Args:
      blocks: bytes cut anywhere.
      at_start: whether they begin the file, where a byte-order mark may stand.
    """
    limit = ESCAPED_BYTES * spec.max_doc_bytes + OTHER_COLUMNS_BYTES
    parser = RunParser(spec)
    row = 0
    for lines in whole_lines(blocks, limit):
        if isinstance(lines, OverlongLine):
            batch = _overlong(lines, row, spec)
        else:
            batch = parser.parse(lines.removeprefix(codecs.BOM_UTF8) if at_start else lines, row)
        at_start = False
        count = len(batch.rows) + len(batch.bad)
        row += count
        if count:
            yield batch


def _overlong(line: OverlongLine, row: int, spec: SourceSpec) -> RowBatch:
    return _batch([], [], [], [rows.bad_row(row, rows.REASON_TOO_LARGE, line.head)], spec)


class RunParser:
    """Parses the runs of lines of one piece.

    A kernel that holds no lock reads what is as usual, `parse_lines` all else. After a run of which
    the kernel has left most lines, as where ids are floats, it is not asked again: what follows is
    of the same kind as a rule, and would be read twice.
    """

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        dotted = any("." in column for column in spec.read_columns)
        self._is_usual = spec.columns is None and not dotted

    def parse(self, lines: bytes, first_row: int) -> RowBatch:
        r"""Rows of whole lines, all of which end in `\n`; the first one is numbered `first_row`."""
        spec = self._spec
        if not self._is_usual:
            return parse_lines(lines[:-1].split(b"\n"), first_row, spec)
        usual = read_lines(lines, spec.text_column, spec.id_column, spec.max_doc_bytes)
        self._is_usual = len(usual.unread) <= len(usual.rows)
        if not len(usual.unread):
            ids: list[str | None] | None = None if usual.ids is None else [*usual.ids.strings()]
            return RowBatch((first_row + usual.rows).astype(np.uint32), usual.texts, ids)
        unusual = parse_lines([lines[start:stop] for start, stop in usual.unread.tolist()], 0, spec)
        return _merged(usual, unusual, first_row)


def _merged(usual: ReadLines, unusual: RowBatch, first_row: int) -> RowBatch:
    """Puts rows in the order of their lines; those of `unusual` count the unread lines alone."""
    rows = first_row + np.concatenate([usual.rows, usual.unread_rows[unusual.rows]])
    order = np.argsort(rows)
    texts = [*usual.texts.bytes_list(), *unusual.texts.bytes_list()]
    ids = None
    if usual.ids is not None and unusual.ids is not None:
        names = [*usual.ids.strings(), *unusual.ids]
        ids = [names[k] for k in order]
    bad = [replace(b, row=first_row + int(usual.unread_rows[b.row])) for b in unusual.bad]
    in_order = TextBatch.from_bytes([texts[k] for k in order])
    return RowBatch(rows[order].astype(np.uint32), in_order, ids, bad)


def parse_lines(lines: list[bytes], first_row: int, spec: SourceSpec) -> RowBatch:
    """Rows of whole lines, the first of them numbered `first_row`."""
    loads = orjson.loads
    text_column, id_column, limit = spec.text_column, spec.id_column, spec.max_doc_bytes
    columns = spec.columns
    plain = "." not in text_column
    numbers: list[int] = []
    texts: list[bytes] = []
    names: list[str | None] = []
    bad: list[BadRow] = []
    row = first_row
    for line in lines:
        if not line:
            continue
        try:
            values = loads(line)
            if columns is None:
                text = (values[text_column] if plain else lookup(values, text_column)).encode()
            else:
                text = rows.as_text(found_in(values, columns))
            name = None if id_column is None else name_of(lookup(values, id_column))
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError, UnicodeError):
            judged = judge(line, text_column, id_column, columns)
            if judged is None:
                continue
            if isinstance(judged, str):
                bad.append(rows.bad_row(row, judged, line))
                row += 1
                continue
            text, name = judged.text, judged.name
        if len(text) > limit:
            bad.append(rows.bad_row(row, rows.REASON_TOO_LARGE, line))
        else:
            numbers.append(row)
            texts.append(text)
            names.append(name)
        row += 1
    return _batch(numbers, texts, names, bad, spec)


def _batch(
    numbers: list[int],
    texts: list[bytes],
    names: list[str | None],
    bad: list[BadRow],
    spec: SourceSpec,
) -> RowBatch:
    ids = names if spec.id_column is not None else None
    return RowBatch(np.array(numbers, np.uint32), TextBatch.from_bytes(texts), ids, bad)


def lookup(values: object, column: str) -> Any:
    """The value of a column: a key as it stands, else a dotted path into objects.

    Raises:
      KeyError: there is no such column, or `values` is no object.
    """
    if not isinstance(values, dict):
        raise KeyError(column)
    if column in values:
        return values[column]
    for key in column.split("."):
        if not isinstance(values, dict):
            raise KeyError(column)
        values = values[key]
    return values


def found_in(values: object, columns: Iterable[str]) -> dict[str, Any]:
    """The values of several columns; None for what is missing.

    Raises:
      KeyError: `values` is no object.
    """
    if not isinstance(values, dict):
        raise KeyError
    found = {}
    for column in columns:
        try:
            found[column] = lookup(values, column)
        except KeyError:
            found[column] = None
    return found


def name_of(value: object) -> str | None:
    """A row's id as a string; None for what is neither a string nor an integer."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def judge(
    line: bytes,
    text_column: str,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
) -> Row | str | None:
    """What a line is: a row, a `REASON_*` word, or None for white space.

    Args:
      columns: make up the text, where they are given; `text_column` has no meaning then.

    Halves of surrogate pairs matter in the text only; in other columns they are replaced.
    """
    if not line.strip():
        return None
    try:
        values = orjson.loads(line)
        twin = values
    except orjson.JSONDecodeError:
        fault = rows.encoding_fault(line)
        if fault is not None:
            return fault
        try:
            # A column without halves comes out the same whatever replaces them.
            values = orjson.loads(_mend_surrogates(line, rb"\ufffd"))
            twin = orjson.loads(_mend_surrogates(line, rb"\ufffc"))
        except orjson.JSONDecodeError:
            return rows.REASON_INVALID_JSON
    if not isinstance(values, dict):
        return rows.REASON_NOT_AN_OBJECT
    if columns is not None:
        text = rows.as_text(found_in(values, columns))
        if text != rows.as_text(found_in(twin, columns)):
            return rows.REASON_LONE_SURROGATE
        return Row(text, _name(values, id_column))
    try:
        text = lookup(values, text_column)
    except KeyError:
        return rows.REASON_MISSING_TEXT
    if text is None:
        return rows.REASON_NULL_TEXT
    if not isinstance(text, str):
        return rows.REASON_TEXT_NOT_A_STRING
    if text != lookup(twin, text_column):
        return rows.REASON_LONE_SURROGATE
    return Row(text.encode(), _name(values, id_column))


def _name(values: dict, id_column: str | None) -> str | None:
    if id_column is None:
        return None
    try:
        return name_of(lookup(values, id_column))
    except KeyError:
        return None


def _mend_surrogates(line: bytes, substitute: bytes) -> bytes:
    return _SURROGATE_ESCAPE.sub(lambda found: substitute if found[1] else found[0], line)
