r"""Takes one column out of JSON lines, without a Python object for any line.

The kernel reads a line only where it can prove that it is a JSON object (RFC 8259, in valid UTF-8)
that orjson takes too, and that has the column as a string. Whatever else there is, it leaves to the
caller: it is no judge of what is wrong with a line, and need not know all that may be right.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from transforms.documents import TextBatch
from transforms.kernels import utf8
from transforms.kernels.blocks import Blocks
from transforms.kernels.readonly import readonly

# Bytes looked at together. Arrays that strings are written to have as many to spare.
_WIDTH = 32
# Bounds within which no parser has a limit: of orjson, 1024 levels and the largest double.
_MAX_DEPTH = 60
_MAX_INTEGER_DIGITS = 100
_MAX_EXPONENT_DIGITS = 2
# Any integer of that many characters fits 64 bits, so that parsers keep its digits as they are.
_MAX_ID_SIZE = 18

_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
_QUOTE, _BACKSLASH, _COMMA, _COLON, _SMALL_U = b'"\\,:u'
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b"{}[]"
_MINUS, _PLUS, _POINT, _ZERO, _NINE, _SMALL_E = b"-+.09e"
_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))

_ESCAPED = np.zeros(256, np.uint8)
_ESCAPED[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
_HEX = np.full(256, -1, np.int64)
_HEX[list(b"0123456789abcdefABCDEF")] = [*range(16), *range(10, 16)]


@dataclass(frozen=True)
class ReadLines:
    """What was read of lines; their rows are counted from 0 and leave out blank lines.

    Attributes:
      rows: int64 [n], of the lines that were read.
      texts: the column's value in each of them, n.
      ids: their ids, n; None where none were asked for.
      unread_rows: int64 [k], of the lines that are left to the caller.
      unread: int64 [k, 2], their first byte and the one after their last, without the line's end.
    """

    rows: np.ndarray
    texts: TextBatch
    ids: TextBatch | None
    unread_rows: np.ndarray
    unread: np.ndarray


def read_lines(lines: bytes, text_key: str, id_key: str | None, max_bytes: int) -> ReadLines:
    r"""The string at a key of the object in each line.

    Args:
      lines: whole lines, all of which end in `\n`.
      text_key: a key of the line's object.
      id_key: another one, whose value may be a string or an integer.
      max_bytes: leave lines whose text is longer.

    A line is left, too, whose id is asked for and is neither, or too large an integer. A line of
    what `bytes.strip` strips is blank.
    """
    data = np.frombuffer(lines, np.uint8)
    most = np.count_nonzero(data == _NEWLINE)
    texts, text_offsets = np.empty(len(data) + _WIDTH, np.uint8), np.zeros(most + 1, np.int64)
    ids = np.empty(0 if id_key is None else len(data) + _WIDTH, np.uint8)
    id_offsets = np.zeros(most + 1, np.int64)
    rows, unread = np.empty(most, np.int64), np.empty((most, 3), np.int64)
    n_read, n_unread = _read_lines(
        data,
        np.frombuffer(text_key.encode(), np.uint8),
        np.frombuffer((id_key or "").encode(), np.uint8),
        id_key is not None,
        max_bytes,
        texts,
        text_offsets,
        ids,
        id_offsets,
        rows,
        unread,
    )
    n_offsets = n_read + 1
    return ReadLines(
        rows[:n_read],
        TextBatch(texts[: text_offsets[n_read]], text_offsets[:n_offsets]),
        None if id_key is None else TextBatch(ids[: id_offsets[n_read]], id_offsets[:n_offsets]),
        unread[:n_unread, 0],
        unread[:n_unread, 1:],
    )


# Scanners below return the byte after what they scan, and -1 for what the kernel does not read.
# They stop at the line's end at the latest: no token goes over it. Strings are unescaped into an
# array as they are scanned, also those that nobody wants, and what follows is written over these.


@intrinsic
def _copy_block(typing_context: Any, data: Any, i: Any, out: Any, position: Any) -> Any:
    """Copies _WIDTH bytes and returns how many of them come before the first special one.

    Special are what a JSON string ends or is interrupted by, and bytes beyond ASCII.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        blocks = Blocks(_WIDTH, context, builder, signature, arguments)
        block = blocks.load(0, 1)
        blocks.store(block, 2, 3)
        special = blocks.either(
            blocks.beyond_ascii(block),
            blocks.between(block, 0, _SPACE - 1),
            blocks.equal(block, _QUOTE, _BACKSLASH),
        )
        return blocks.size_before(special)

    return types.int64(data, i, out, position), generate


@njit
def _copy_plain(data, i, out, position):
    """Copies bytes that stand for themselves, at most _WIDTH; returns how many."""
    if i + _WIDTH <= len(data):
        return _copy_block(data, i, out, position)
    size = 0
    byte = data[i]
    while _SPACE <= byte < 0x80 and byte != _QUOTE and byte != _BACKSLASH:
        out[position + size] = byte
        size += 1
        byte = data[i + size]
    return size


@njit
def _copy_beyond_ascii(data, i, out, position):
    while data[i] >= 0x80:
        size = utf8.valid_size(data, i)
        if not size:
            return -1, -1
        for k in range(size):
            out[position + k] = data[i + k]
        i += size
        position += size
    return i, position


@njit
def _code_unit(data, i):
    """The number that `\\uXXXX` at byte i stands for; less than 0 where that is not there."""
    if i + 6 > len(data) or data[i] != _BACKSLASH or data[i + 1] != _SMALL_U:
        return -1
    high = _HEX[data[i + 2]] << 12 | _HEX[data[i + 3]] << 8
    return high | _HEX[data[i + 4]] << 4 | _HEX[data[i + 5]]


@njit
def _copy_coded(data, i, out, position):
    """Writes the characters that a run of `\\uXXXX` at byte i stands for."""
    while True:
        character = _code_unit(data, i)
        i += 6
        if character < 0 or 0xDC00 <= character < 0xE000:
            return -1, -1
        if 0xD800 <= character < 0xDC00:
            low = _code_unit(data, i)
            i += 6
            if not 0xDC00 <= low < 0xE000:
                return -1, -1
            character = 0x10000 + ((character - 0xD800) << 10 | low - 0xDC00)
        if character < 0x80:
            out[position] = character
            position += 1
        else:
            position = utf8.encode(character, out, position)
        if data[i] != _BACKSLASH or data[i + 1] != _SMALL_U:
            return i, position


@njit
def _string(data, i, out, position):
    """Scans the string whose quote comes before byte i; also returns the position after it."""
    while i >= 0:
        plain = _copy_plain(data, i, out, position)
        i += plain
        position += plain
        if plain == _WIDTH:
            continue
        byte = data[i]
        if byte == _QUOTE:
            return i + 1, position
        if byte == _BACKSLASH:
            escaped = _ESCAPED[data[i + 1]]
            if escaped:
                out[position] = escaped
                i += 2
                position += 1
            else:
                i, position = _copy_coded(data, i, out, position)
        elif byte >= 0x80:
            i, position = _copy_beyond_ascii(data, i, out, position)
        else:
            i = -1
    return -1, -1


@njit
def _space(data, i):
    while data[i] == _SPACE or data[i] == _TAB or data[i] == _RETURN:
        i += 1
    return i


@njit
def _key(data, i, out, position):
    """Scans a key up to its value; also returns the position after it."""
    if data[i] != _QUOTE:
        return -1, -1
    i, position = _string(data, i + 1, out, position)
    if i < 0:
        return -1, -1
    i = _space(data, i)
    if data[i] != _COLON:
        return -1, -1
    return _space(data, i + 1), position


@njit
def _digits(data, i):
    while _ZERO <= data[i] <= _NINE:
        i += 1
    return i


@njit
def _number(data, i):
    first = i + 1 if data[i] == _MINUS else i
    i = _digits(data, first)
    size = i - first
    if not 1 <= size <= _MAX_INTEGER_DIGITS or (size > 1 and data[first] == _ZERO):
        return -1
    if data[i] == _POINT:
        first = i + 1
        i = _digits(data, first)
        if i == first:
            return -1
    if data[i] | 0x20 == _SMALL_E:
        first = i + 1
        if data[first] == _PLUS or data[first] == _MINUS:
            first += 1
        i = _digits(data, first)
        if not 1 <= i - first <= _MAX_EXPONENT_DIGITS:
            return -1
    return i


@njit
def _word(data, i, word):
    for k in range(len(word)):
        if data[i + k] != word[k]:
            return -1
    return i + len(word)


@njit
def _scalar(data, i, out, position):
    byte = data[i]
    if byte == _QUOTE:
        return _string(data, i + 1, out, position)[0]
    if byte == _TRUE[0]:
        return _word(data, i, _TRUE)
    if byte == _FALSE[0]:
        return _word(data, i, _FALSE)
    if byte == _NULL[0]:
        return _word(data, i, _NULL)
    return _number(data, i)


@njit
def _value(data, i, out, position):
    """Scans any value; its strings are written at the position, one over the other."""
    # A bit for each open bracket, the innermost one lowest: set where it is an object's.
    brackets = depth = 0
    while i >= 0:
        is_object = data[i] == _OPEN_OBJECT
        if is_object or data[i] == _OPEN_ARRAY:
            i = _space(data, i + 1)
            depth += 1
            brackets = brackets << 1 | is_object
            if depth > _MAX_DEPTH:
                return -1
            if data[i] != _CLOSE_OBJECT and data[i] != _CLOSE_ARRAY:
                if is_object:
                    i, _ = _key(data, i, out, position)
                continue
        else:
            i = _scalar(data, i, out, position)
            if i < 0:
                return -1
        while depth:
            i = _space(data, i)
            is_object = brackets & 1
            if data[i] == _COMMA:
                i = _space(data, i + 1)
                if is_object:
                    i, _ = _key(data, i, out, position)
                break
            if data[i] != (_CLOSE_OBJECT if is_object else _CLOSE_ARRAY):
                return -1
            i += 1
            depth -= 1
            brackets >>= 1
        else:
            return i
    return -1


@njit
def _identifier(data, i, out, position):
    """Scans a string or an integer, as a string; also returns the position after it."""
    if data[i] == _QUOTE:
        return _string(data, i + 1, out, position)
    stop = _number(data, i)
    # A minus zero is a zero to parsers.
    if stop < 0 or stop - i > _MAX_ID_SIZE or (data[i] == _MINUS and data[i + 1] == _ZERO):
        return -1, -1
    for k in range(i, stop):
        if data[k] != _MINUS and not _ZERO <= data[k] <= _NINE:
            return -1, -1
        out[position + k - i] = data[k]
    return stop, position + stop - i


@njit
def _is(key, out, start, stop):
    return np.array_equal(out[start:stop], key)


@njit
def _line(data, i, text_key, id_key, wants_id, texts, text_start, ids, id_start):
    """Scans the object at byte i and its line to the end; also returns where text and id end."""
    text_stop = -1
    id_stop = -1 if wants_id else id_start
    i = _space(data, i)
    if data[i] != _OPEN_OBJECT:
        return -1, -1, -1
    following = _COMMA
    while following == _COMMA:
        free = max(text_start, text_stop)
        i, key_stop = _key(data, _space(data, i + 1), texts, free)
        if i < 0:
            return -1, -1, -1
        # A key that comes again replaces its value.
        if _is(text_key, texts, free, key_stop):
            if data[i] != _QUOTE:
                return -1, -1, -1
            i, text_stop = _string(data, i + 1, texts, text_start)
        elif wants_id and _is(id_key, texts, free, key_stop):
            i, id_stop = _identifier(data, i, ids, id_start)
        else:
            i = _value(data, i, texts, free)
        if i < 0:
            return -1, -1, -1
        i = _space(data, i)
        following = data[i]
    if following != _CLOSE_OBJECT or text_stop < 0 or id_stop < 0:
        return -1, -1, -1
    i = _space(data, i + 1)
    return (i if data[i] == _NEWLINE else -1), text_stop, id_stop


@njit
def _skip_blank(data, i):
    while data[i] == _SPACE or (_TAB <= data[i] <= _RETURN and data[i] != _NEWLINE):
        i += 1
    return i


@njit(
    types.UniTuple(types.int64, 2)(
        readonly(types.uint8),
        readonly(types.uint8),
        readonly(types.uint8),
        types.boolean,
        types.int64,
        types.uint8[::1],
        types.int64[::1],
        types.uint8[::1],
        types.int64[::1],
        types.int64[::1],
        types.int64[:, ::1],
    ),
    cache=True,
    nogil=True,
)
def _read_lines(
    data,
    text_key,
    id_key,
    wants_id,
    max_bytes,
    texts,
    text_offsets,
    ids,
    id_offsets,
    rows,
    unread,
):
    n_read = n_unread = start = 0
    while start < len(data):
        stop = _skip_blank(data, start)
        if data[stop] != _NEWLINE:
            text_start, id_start = text_offsets[n_read], id_offsets[n_read]
            stop, text_stop, id_stop = _line(
                data, start, text_key, id_key, wants_id, texts, text_start, ids, id_start
            )
            row = n_read + n_unread
            if stop >= 0 and text_stop - text_start <= max_bytes:
                rows[n_read] = row
                n_read += 1
                text_offsets[n_read], id_offsets[n_read] = text_stop, id_stop
            else:
                stop = start
                while data[stop] != _NEWLINE:
                    stop += 1
                unread[n_unread, 0] = row
                unread[n_unread, 1] = start
                unread[n_unread, 2] = stop
                n_unread += 1
        start = stop + 1
    return n_read, n_unread
