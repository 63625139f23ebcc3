"""What the running Python says of every character, as tables for the kernels.

Taken from the interpreter and not from a file, so that a kernel and `str` cannot disagree. The
manifest records `unicodedata.unidata_version` for the same reason.
"""

import functools

import numpy as np

from transforms.errors import InternalError

N_CODE_POINTS = 0x110000

# Compiled into the kernels, whose cache does not notice a change here: it must then be removed.
ALPHA = 1
DIGIT = 2
SPACE = 4
LINE_BREAK = 8

DOTTED_CAPITAL_I = 0x130
CAPITAL_SIGMA = 0x3A3
SMALL_SIGMA = 0x3C3


@functools.cache
def character_flags() -> np.ndarray:
    """Flags of every code point, read-only uint8 [0x110000].

    ALPHA is `str.isalpha`, DIGIT `str.isdigit`, SPACE `str.isspace` (the same set as `\\s` of
    `re`), LINE_BREAK what `str.splitlines` cuts at.
    """
    characters = np.arange(N_CODE_POINTS, dtype=np.uint32).view("U1")
    flags = np.zeros(N_CODE_POINTS, np.uint8)
    flags[np.strings.isalpha(characters)] |= ALPHA
    flags[np.strings.isdigit(characters)] |= DIGIT
    flags[np.strings.isspace(characters)] |= SPACE
    # In order of code point no "\r" comes before a "\n", so every break ends a line of its own.
    *broken, _ = _all_characters().splitlines(keepends=True)
    flags[[ord(line[-1]) for line in broken]] |= LINE_BREAK
    flags.flags.writeable = False
    return flags


@functools.cache
def lower_case() -> np.ndarray:
    """The lower-case code point of every code point, read-only uint32 [0x110000].

    Two characters do not fit in a table. U+0130 becomes two characters; here it stands for itself.
    U+03A3 depends on its neighbours; here it becomes U+03C3, its form inside a word.

    Raises:
      InternalError: this Python knows another character that becomes several.
    """
    characters = _all_characters()
    for misfit in (DOTTED_CAPITAL_I, CAPITAL_SIGMA):
        characters = characters.replace(chr(misfit), "\0")
    encoded = characters.lower().encode("utf-32-le", "surrogatepass")
    table = np.frombuffer(encoded, "<u4").astype(np.uint32)
    if len(table) != N_CODE_POINTS:
        raise InternalError("a character besides U+0130 becomes several in lower case")
    table[DOTTED_CAPITAL_I] = DOTTED_CAPITAL_I
    table[CAPITAL_SIGMA] = SMALL_SIGMA
    table.flags.writeable = False
    return table


def _all_characters() -> str:
    code_points = np.arange(N_CODE_POINTS, dtype="<u4")
    return code_points.tobytes().decode("utf-32-le", "surrogatepass")
