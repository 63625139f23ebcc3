"""Rows in and out of jsonl files, counted."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

Row = dict[str, Any]


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of a gzip jsonl file."""
    with gzip.open(path) as lines:
        yield from map(orjson.loads, lines)


def write_rows(path: Path, rows: Iterable[Row], column: str) -> tuple[int, int]:
    """Writes rows as jsonl, gzip if the name ends so.

    Returns:
      how many documents, and bytes of their text.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    documents = text_bytes = 0
    with path.open("wb") as raw:
        # Without the name and time that gzip would record, equal rows give equal bytes.
        out = gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else raw
        for row in rows:
            documents += 1
            text_bytes += len(row[column].encode())
            out.write(orjson.dumps(row) + b"\n")
        if out is not raw:
            out.close()
    return documents, text_bytes
