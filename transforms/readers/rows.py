"""Words that readers share: why a row gives no document, and what is said of a damaged file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from transforms.documents import BadRow

REASON_INVALID_JSON = "invalid_json"
REASON_NOT_AN_OBJECT = "not_an_object"
REASON_MISSING_TEXT = "missing_text"
REASON_NULL_TEXT = "null_text"
REASON_TEXT_NOT_A_STRING = "text_not_a_string"
REASON_INVALID_UTF8 = "invalid_utf8"
REASON_LONE_SURROGATE = "lone_surrogate"
REASON_TOO_LARGE = "too_large"

NOTE_DAMAGED = "damaged"
NOTE_TRAILING_GARBAGE = "trailing_garbage"

SAMPLE_BYTES = 2000
BATCH_BYTES = 1 << 20
BATCH_ROWS = 4096


@dataclass(frozen=True)
class FileNote:
    """Damage that reading passed over.

    Attributes:
      path: the file.
      kind: one of the `NOTE_*` words.
      detail: one line for people.
    """

    path: str
    kind: str
    detail: str


def bad_row(row: int, reason: str, raw: bytes) -> BadRow:
    """A row that gives no document, with the start of its raw bytes."""
    return BadRow(row, reason, bytes(raw[:SAMPLE_BYTES]))


def as_text(values: Mapping[str, Any]) -> bytes:
    """Several columns of a row as one text: a JSON object, keys in the order given.

    Raises:
      UnicodeDecodeError: bytes that are not UTF-8.
      orjson.JSONEncodeError: a value that JSON has no words for.
    """
    return orjson.dumps({name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_plain(item) for item in value] if isinstance(value, list) else value


def is_empty(value: object) -> bool:
    """Whether a column says nothing: null, blank text or bytes, a list of nothing."""
    if isinstance(value, str | bytes):
        return not value.strip()
    return value is None or value == []


def encoding_fault(raw: bytes) -> str | None:
    """Why bytes are not UTF-8 text: a `REASON_*` word, or None where they are."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        pass
    else:
        return None
    try:
        raw.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return REASON_INVALID_UTF8
    return REASON_LONE_SURROGATE
