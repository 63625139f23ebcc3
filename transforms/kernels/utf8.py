"""Characters to and from UTF-8, for kernels to call."""

import numpy as np
from numba import njit


@njit
def decode(data: np.ndarray, i: int) -> tuple[int, int]:
    """The code point that starts at byte i of valid UTF-8, and its number of bytes."""
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
def encode(code_point: int, out: np.ndarray, position: int) -> int:
    """Writes a code point from U+0080 on; returns the position after it."""
    if code_point < 0x800:
        out[position] = 0xC0 | code_point >> 6
        out[position + 1] = 0x80 | code_point & 0x3F
        return position + 2
    if code_point < 0x10000:
        out[position] = 0xE0 | code_point >> 12
        out[position + 1] = 0x80 | code_point >> 6 & 0x3F
        out[position + 2] = 0x80 | code_point & 0x3F
        return position + 3
    out[position] = 0xF0 | code_point >> 18
    out[position + 1] = 0x80 | code_point >> 12 & 0x3F
    out[position + 2] = 0x80 | code_point >> 6 & 0x3F
    out[position + 3] = 0x80 | code_point & 0x3F
    return position + 4


@njit
def valid_size(data: np.ndarray, i: int) -> int:
    """Bytes of the character from U+0080 on that begins at byte i; 0 where that is not UTF-8.

    Table 3-7 of the Unicode Standard. Reads no further than the first byte that is not fit, so
    that an ASCII byte somewhere behind i is all the guard it needs.
    """
    lead = data[i]
    if lead < 0xC2 or lead > 0xF4:
        return 0
    second = data[i + 1]
    if lead < 0xE0:
        return 2 if second & 0xC0 == 0x80 else 0
    lowest, highest = 0x80, 0xBF
    if lead == 0xE0:
        lowest = 0xA0
    elif lead == 0xED:
        highest = 0x9F
    elif lead == 0xF0:
        lowest = 0x90
    elif lead == 0xF4:
        highest = 0x8F
    if second < lowest or second > highest or data[i + 2] & 0xC0 != 0x80:
        return 0
    if lead < 0xF0:
        return 3
    return 4 if data[i + 3] & 0xC0 == 0x80 else 0
