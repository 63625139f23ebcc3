import re

from transforms.kernels.unicode_tables import (
    ALPHA,
    DIGIT,
    LINE_BREAK,
    N_CODE_POINTS,
    SPACE,
    character_flags,
    lower_case,
)


def test_flags_of_every_character_are_those_of_str():
    white_space = re.compile(r"\s")
    wrong = [
        hex(code_point)
        for code_point, flags in enumerate(character_flags().tolist())
        for c in [chr(code_point)]
        if flags
        != ALPHA * c.isalpha()
        + DIGIT * c.isdigit()
        + SPACE * bool(white_space.match(c))
        + LINE_BREAK * (len(f"a{c}b".splitlines()) == 2)
    ]
    assert wrong == []


def test_lower_case_of_every_character_is_that_of_str():
    table = lower_case().tolist()
    wrong = {c for c in range(N_CODE_POINTS) if chr(table[c]) != chr(c).lower()}
    assert wrong == {0x130}
    assert table[0x130] == 0x130


def test_lower_case_is_at_most_half_longer():
    """`normalize` allocates by this."""
    for code_point in set(range(N_CODE_POINTS)) - set(range(0xD800, 0xE000)):
        c = chr(code_point)
        assert 2 * len(c.lower().encode()) <= 3 * len(c.encode())
