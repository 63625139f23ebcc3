"""Measuring and normalising texts: one pass over their UTF-8, exact for all of Unicode.

Texts must be valid UTF-8: the kernels decode without checks.
"""

import functools

import numpy as np
from numba import from_dtype, njit, types

from transforms.documents import TextBatch
from transforms.kernels import utf8
from transforms.kernels.unicode_tables import (
    ALPHA,
    CAPITAL_SIGMA,
    DIGIT,
    DOTTED_CAPITAL_I,
    LINE_BREAK,
    N_CODE_POINTS,
    SPACE,
    character_flags,
    lower_case,
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
_CODE_POINTS = types.Array(types.uint32, 1, "C", readonly=True)

_MARK = 16
_BACKSLASH = ord("\\")
_SMALL_I = ord("i")
_FRAC = int.from_bytes(b"frac", "big")
_SUM = int.from_bytes(b"sum", "big")
_COMBINING_DOT_ABOVE = 0x307
_HASH_FACTOR = -0x61C8864680B583EB  # 2**64 / golden ratio, odd, as int64


@njit
def _decode(data, i):
    """The code point that starts at byte i, and its number of bytes."""
    lead = np.int64(data[i])
    if lead < 0x80:
        return lead, 1
    second = np.int64(data[i + 1] & 0x3F)
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | second, 2
    third = np.int64(data[i + 2] & 0x3F)
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | second << 6 | third, 3
    return (lead & 0x07) << 18 | second << 12 | third << 6 | np.int64(data[i + 3] & 0x3F), 4


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
def _append(lines, n_lines, start, stop, line_hash):
    """Writes one more line, in an array twice as long where there is no room."""
    if n_lines == len(lines):
        longer = np.empty((2 * n_lines, 3), np.int64)
        longer[:n_lines] = lines
        lines = longer
    lines[n_lines] = start, stop, line_hash
    return lines


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
def _head_top(data, start, stop, counts):
    """How often the most common character of the head occurs; counts is zero before and after."""
    seen = np.empty(HEAD_CHARACTERS, np.int64)
    n_seen = top = characters = 0
    i = start
    while i < stop and characters < HEAD_CHARACTERS:
        code_point, size = _decode(data, i)
        count = np.int64(counts[code_point]) + 1
        counts[code_point] = count
        top = max(top, count)
        if count == 1:
            seen[n_seen] = code_point
            n_seen += 1
        characters += 1
        i += size
    for k in range(n_seen):
        counts[seen[k]] = 0
    return top


# A function of its own so that the loop over characters owns no array that is replaced: numba would
# count references in every turn, at three times the cost.
@njit
def _measure_line(data, i, stop, flags_of):
    """Measures what is left of a text up to its next line break.

    Returns where the line ends, where the next one starts, a hash of the line, and its counts:
    characters (the break included), words, word characters, letters, digits, markers. The "\\n" of
    a "\\r\\n" makes a line of its own; it is blank, and blank lines do not count.
    """
    characters = words = word_characters = letters = digits = markers = 0
    line_hash = in_word = 0
    while i < stop:
        code_point, size = _decode(data, i)
        flags = np.int64(flags_of[code_point])
        characters += 1
        letters += flags & ALPHA
        digits += (flags & DIGIT) >> 1
        was_in_word = in_word
        in_word = 1 - ((flags & SPACE) >> 2)
        word_characters += in_word
        words += in_word & ~was_in_word
        if flags & LINE_BREAK:
            break
        if flags & _MARK:
            markers += _is_marker(data, i, stop)
        line_hash = (line_hash ^ code_point) * _HASH_FACTOR
        i += size
    following = i + size if i < stop else stop
    return i, following, line_hash, (characters, words, word_characters, letters, digits, markers)


@njit(
    types.void(_BYTES, _OFFSETS, _BYTES, types.Array(from_dtype(MEASURES), 1, "C")),
    cache=True,
    nogil=True,
)
def _measure(data, offsets, flags_of, measures):
    lines = np.empty((1024, 3), np.int64)
    counts = np.zeros(N_CODE_POINTS, np.int16)
    for text in range(len(measures)):
        record = measures[text]
        record.characters = record.words = record.word_characters = 0
        record.letters = record.digits = record.markers = 0
        n_lines = 0
        i, stop = offsets[text], offsets[text + 1]
        while i < stop:
            start = i
            end, i, line_hash, line = _measure_line(data, start, stop, flags_of)
            record.characters += line[0]
            record.words += line[1]
            record.word_characters += line[2]
            record.letters += line[3]
            record.digits += line[4]
            record.markers += line[5]
            if line[1]:
                lines = _append(lines, n_lines, start, end, line_hash)
                n_lines += 1
        record.lines = n_lines
        record.distinct_lines = _count_distinct(data, lines, n_lines)
        record.head_characters = min(record.characters, HEAD_CHARACTERS)
        record.head_top = _head_top(data, offsets[text], stop, counts)


@njit(types.boolean[:](_BYTES, _OFFSETS), cache=True, nogil=True)
def _has_sigma(data, offsets):
    found = np.zeros(len(offsets) - 1, np.bool_)
    lead, trail = 0xC0 | CAPITAL_SIGMA >> 6, 0x80 | CAPITAL_SIGMA & 0x3F
    for text in range(len(found)):
        hits = 0
        for i in range(offsets[text], offsets[text + 1] - 1):
            hits += (data[i] == lead) & (data[i + 1] == trail)
        found[text] = hits > 0
    return found


@njit(
    types.void(_BYTES, _OFFSETS, _CODE_POINTS, types.uint8[::1], types.int64[::1]),
    cache=True,
    nogil=True,
)
def _normalize(data, offsets, folded, out, out_offsets):
    """Writes the normalised texts; folded is lower case, with a space for every white space."""
    position = 0
    for text in range(len(offsets) - 1):
        first = position
        # As if a space came before, so that none is written at the beginning.
        after_space = 1
        i, stop = offsets[text], offsets[text + 1]
        while i < stop:
            code_point, size = _decode(data, i)
            code_point = np.int64(folded[code_point])
            i += size
            is_space = np.int64(code_point == 0x20)
            if code_point < 0x80:
                # A space after a space is overwritten by what follows.
                out[position] = code_point
                position += 1 - (is_space & after_space)
            elif code_point == DOTTED_CAPITAL_I:
                out[position] = _SMALL_I
                position = utf8.encode(_COMBINING_DOT_ABOVE, out, position + 1)
            else:
                position = utf8.encode(code_point, out, position)
            after_space = is_space
        if after_space and position > first:
            position -= 1
        out_offsets[text + 1] = position


def measure(batch: TextBatch) -> np.ndarray:
    """Measures each text, for the quality filter of SPEC.md; `MEASURES` [n_texts]."""
    measures = np.empty(len(batch), MEASURES)
    _measure(batch.data, batch.offsets, _marked_flags(), measures)
    return measures


def normalize(batch: TextBatch) -> TextBatch:
    r"""`re.sub(r"\s+", " ", text.lower()).strip()` of each text, the form that is deduplicated."""
    batch = _lower_sigmas(batch)
    # Lower case lengthens no character by more than half: some take three bytes instead of two.
    normalized = np.empty(len(batch.data) * 3 // 2, np.uint8)
    offsets = np.zeros(len(batch) + 1, np.int64)
    _normalize(batch.data, batch.offsets, _folded_case(), normalized, offsets)
    return TextBatch(normalized[: offsets[-1]], offsets)


def _lower_sigmas(batch: TextBatch) -> TextBatch:
    """Leaves to `str.lower` the texts with a capital sigma, whose lower case has context."""
    has_sigma = _has_sigma(batch.data, batch.offsets)
    if not has_sigma.any():
        return batch
    texts = batch.bytes_list()
    for text in np.flatnonzero(has_sigma):
        texts[text] = texts[text].decode().lower().encode()
    return TextBatch.from_bytes(texts)


@functools.cache
def _marked_flags() -> np.ndarray:
    """`character_flags` with _MARK on the characters that a marker begins with."""
    flags = character_flags().copy()
    flags[[ord(sign) for sign in "=$^\\"]] |= _MARK
    return flags


@functools.cache
def _folded_case() -> np.ndarray:
    """`lower_case` with a space for every white space."""
    return np.where(character_flags() & SPACE, np.uint32(ord(" ")), lower_case())
