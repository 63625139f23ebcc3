"""Measuring texts for the quality filter, exact for all of Unicode.

Texts must be valid UTF-8: the kernels decode without checks.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.extending import intrinsic

from transforms.documents import TextBatch
from transforms.kernels import utf8
from transforms.kernels.bits import popcount, trailing_zeros, word_at
from transforms.kernels.blocks import Blocks
from transforms.kernels.unicode_tables import (
    ALPHA,
    DIGIT,
    LINE_BREAK,
    N_CODE_POINTS,
    SPACE,
    character_flags,
)

HEAD_CHARACTERS = 2000

MEASURES = np.dtype(
    [
        ("characters", np.int64),
        ("words", np.int64),
        ("word_characters", np.int64),
        ("letters", np.int64),
        ("digits", np.int64),
        ("lines", np.int64),
        ("distinct_lines", np.int64),
        ("head_characters", np.int64),
        ("head_top", np.int64),
        ("markers", np.int64),
    ]
)
"""What `measure` says of a text; the rules over it are in `transforms.quality`.

- characters: code points.
- words: maximal runs of characters that are not `str.isspace`; word_characters: those in words.
- letters, digits: `str.isalpha`, `str.isdigit`.
- lines: those that `str.splitlines` cuts and that are not blank; distinct_lines: of these, the
  different ones, compared unstripped.
- head_characters: of the first 2000; head_top: how often the most common of them occurs there.
- markers: occurrences of `=`, `\\frac`, `$`, `^` and `\\sum`.
"""

# The signatures below take read-only arrays, which numba lets writable ones convert to: compiled
# (or loaded from the cache) once, at import, and never again for an array of the other kind.
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_OFFSETS = types.Array(types.int64, 1, "C", readonly=True)

# Bytes looked at together.
_WIDTH = 64
_ALL, _ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)
_MARK = 16
_BACKSLASH = ord("\\")
_FRAC = int.from_bytes(b"frac", "big")
_SUM = int.from_bytes(b"sum", "big")
_HASH_FACTOR = -0x61C8864680B583EB  # 2**64 / golden ratio, odd, as int64


@njit
def _integer_at(data, i, size, stop):
    """The big-endian integer of that many bytes from i on, 0 if they reach past the stop."""
    value = 0
    if i + size <= stop:
        for k in range(i, i + size):
            value = value << 8 | np.int64(data[k])
    return value


@njit
def _is_marker(data, i, stop):
    """Whether a marker begins at byte i, which is known to hold one of `=`, `$`, `^`, `\\`."""
    if data[i] != _BACKSLASH:
        return True
    return _integer_at(data, i + 1, 4, stop) == _FRAC or _integer_at(data, i + 1, 3, stop) == _SUM


@njit
def _same_line(data, lines, a, b):
    start_a, start_b = lines[a, 0], lines[b, 0]
    size = lines[a, 1] - start_a
    if lines[a, 2] != lines[b, 2] or size != lines[b, 1] - start_b:
        return False
    return np.array_equal(data[start_a : start_a + size], data[start_b : start_b + size])


@njit
def _count_distinct(data, lines, n_lines):
    """Number of different lines among the first n (start, stop, hash), in a table half full."""
    bits = 1
    while 1 << bits < 2 * n_lines:
        bits += 1
    mask = (1 << bits) - 1
    table = np.full(1 << bits, -1, np.int64)
    distinct = 0
    for line in range(n_lines):
        slot = lines[line, 2] >> (64 - bits) & mask
        while table[slot] >= 0 and not _same_line(data, lines, table[slot], line):
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = line
            distinct += 1
    return distinct


@njit
def _head_top(data, start, stop, of_ascii, of_others):
    """How often the most common character of the head occurs.

    The last two arguments are where it counts; `of_others` is zero before and after.
    """
    of_ascii[:] = 0
    seen = np.empty(HEAD_CHARACTERS, np.int64)
    n_seen = top = characters = 0
    i = start
    while i < stop and characters < HEAD_CHARACTERS:
        characters += 1
        if data[i] < 0x80:
            of_ascii[data[i]] += 1
            i += 1
            continue
        code_point, size = utf8.decode(data, i)
        count = np.int64(of_others[code_point]) + 1
        of_others[code_point] = count
        top = max(top, count)
        if count == 1:
            seen[n_seen] = code_point
            n_seen += 1
        i += size
    for k in range(n_seen):
        of_others[seen[k]] = 0
    for count in of_ascii:
        top = max(top, np.int64(count))
    return top


@intrinsic
def _look(typing_context: Any, data: Any, i: Any) -> tuple[Any, Callable]:
    """What the bytes from i on are, a bit for each; six uint64.

    White space, letters, digits, signs that are markers, line breaks, and bytes to be looked at by
    themselves: backslashes, and what is beyond ASCII.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        blocks = Blocks(_WIDTH, context, builder, signature, arguments)
        block = blocks.load(0, 1)
        capital = builder.and_(block, blocks.every(~0x20 & 0xFF))
        breaks = blocks.either(blocks.between(block, 10, 13), blocks.between(block, 28, 30))
        masks = (
            blocks.either(breaks, blocks.equal(block, *b" \t\x1f")),
            blocks.between(capital, ord("A"), ord("Z")),
            blocks.between(block, ord("0"), ord("9")),
            blocks.equal(block, *b"=$^"),
            breaks,
            blocks.either(blocks.equal(block, _BACKSLASH), blocks.beyond_ascii(block)),
        )
        return blocks.tuple_of(*map(blocks.bits, masks))

    return types.UniTuple(types.uint64, 6)(data, i), generate


@njit
def _hash_line(data, i, stop):
    hashed = stop - i
    while i < stop:
        left = stop - i
        if i + 8 <= len(data):
            word = word_at(data, i)
            if left < 8:
                word &= (1 << 8 * left) - 1
        else:
            word = 0
            for k in range(min(left, 8)):
                word |= np.int64(data[i + k]) << 8 * k
        hashed = (hashed ^ word) * _HASH_FACTOR
        # What differs in high bits only must reach the low ones.
        hashed ^= hashed >> 32
        i += 8
    return hashed


@njit
def _add_line(data, lines, n_lines, start, stop):
    lines[n_lines, 0], lines[n_lines, 1] = start, stop
    lines[n_lines, 2] = _hash_line(data, start, stop)
    return n_lines + 1


@njit
def _measure_text(data, i, stop, flags_of, lines):
    """Measures a text, and writes its lines that are not blank: start, stop, hash.

    Returns how many they are, less than 0 where there is no room for them, and its characters,
    words, word characters, letters, digits and markers.
    """
    characters = words = word_characters = letters = digits = markers = n_lines = 0
    line_start = i
    # Whether the character before is of a word, and whether one of this line is.
    in_word = in_line = np.uint64(0)
    while i < stop:
        if n_lines + _WIDTH > len(lines):
            n_lines = -1
            break
        if data[i] < 0x80 and i + _WIDTH <= len(data):
            spaces, alphabetic, decimal, signs, breaks, special = _look(data, i)
            size = min(trailing_zeros(special), stop - i)
            if size:
                chosen = _ALL >> np.uint64(_WIDTH - size)
                of_words = ~spaces & chosen
                characters += size
                words += popcount(of_words & ~(of_words << _ONE | in_word))
                word_characters += popcount(of_words)
                letters += popcount(alphabetic & chosen)
                digits += popcount(decimal & chosen)
                markers += popcount(signs & chosen)
                in_word = of_words >> np.uint64(size - 1)
                breaks &= chosen
                while breaks:
                    before = (breaks - _ONE) & ~breaks
                    end = i + trailing_zeros(breaks)
                    if in_line | of_words & before:
                        n_lines = _add_line(data, lines, n_lines, line_start, end)
                    line_start = end + 1
                    in_line = np.uint64(0)
                    of_words &= ~before
                    breaks &= breaks - _ONE
                in_line |= of_words
                i += size
                if size == _WIDTH or i == stop:
                    continue
        code_point, size = utf8.decode(data, i)
        flags = np.int64(flags_of[code_point])
        characters += 1
        letters += flags & ALPHA
        digits += (flags & DIGIT) >> 1
        was_in_word = in_word
        in_word = np.uint64(1 - ((flags & SPACE) >> 2))
        in_line |= in_word
        word_characters += np.int64(in_word)
        words += np.int64(in_word & ~was_in_word)
        if flags & _MARK:
            markers += _is_marker(data, i, stop)
        if flags & LINE_BREAK:
            if in_line:
                n_lines = _add_line(data, lines, n_lines, line_start, i)
            line_start = i + size
            in_line = np.uint64(0)
        i += size
    if in_line and n_lines >= 0:
        n_lines = _add_line(data, lines, n_lines, line_start, stop)
    return n_lines, (characters, words, word_characters, letters, digits, markers)


@njit(
    types.void(_BYTES, _OFFSETS, _BYTES, types.Array(from_dtype(MEASURES), 1, "C")),
    cache=True,
    nogil=True,
)
def _measure(data, offsets, flags_of, measures):
    lines = np.empty((1024, 3), np.int64)
    of_ascii, of_others = np.zeros(128, np.int16), np.zeros(N_CODE_POINTS, np.int16)
    for text in range(len(measures)):
        record = measures[text]
        start, stop = offsets[text], offsets[text + 1]
        n_lines, counts = _measure_text(data, start, stop, flags_of, lines)
        while n_lines < 0:
            lines = np.empty((2 * len(lines), 3), np.int64)
            n_lines, counts = _measure_text(data, start, stop, flags_of, lines)
        record.characters, record.words, record.word_characters = counts[:3]
        record.letters, record.digits, record.markers = counts[3:]
        record.lines = n_lines
        record.distinct_lines = _count_distinct(data, lines, n_lines)
        record.head_characters = min(record.characters, HEAD_CHARACTERS)
        record.head_top = _head_top(data, start, stop, of_ascii, of_others)


def measure(batch: TextBatch) -> np.ndarray:
    """Measures each text, for the quality filter of SPEC.md; `MEASURES` [n_texts]."""
    measures = np.empty(len(batch), MEASURES)
    _measure(batch.data, batch.offsets, _marked_flags(), measures)
    return measures


@functools.cache
def _marked_flags() -> np.ndarray:
    """`character_flags` with _MARK on the characters that a marker begins with."""
    flags = character_flags().copy()
    flags[[ord(sign) for sign in "=$^\\"]] |= _MARK
    return flags
