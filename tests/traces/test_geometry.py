import re

import pytest

from transforms.errors import RecipeError, TokenizerError
from transforms.traces.geometry import Geometry
from transforms.traces.special_tokens import SpecialTokens, size_name, special_names


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"block": 33}, "block 33 does not divide seq_len 2048: choose a seq_len such as 2046"),
        ({"block": 1}, "block is 1: give it at least 2 tokens"),
        ({"seq_len": 32}, "seq_len is 32: choose one between two blocks (64) and 1048576"),
        ({"seq_len": 1 << 21}, "seq_len is 2097152: choose one between"),
        ({"max_slots": 0}, "max_slots is 0: allow at least 1"),
        ({"sizes": (64, 1)}, "sizes [64, 1]: 1 is too small: give at least 2"),
        ({"sizes": (256, 64)}, "sizes [256, 64] do not ascend: write [64, 256]"),
        ({"sizes": (64, 64)}, "sizes [64, 64] do not ascend: write [64]"),
        ({"sizes": (64, 1984)}, "1984 leaves no room in seq_len 2048"),
    ],
)
def test_measures_that_do_not_go_together(changes, message):
    with pytest.raises(RecipeError, match=re.escape(message)) as error:
        Geometry(**changes)
    assert "\n" not in str(error.value)


def test_the_largest_size_that_fits():
    assert Geometry(sizes=(64, 1983)).sizes == (64, 1983)


def ids_by_role(sizes=(64, 256)):
    return {role: place for place, role in enumerate(special_names(sizes))}


def test_special_tokens_by_role():
    special = SpecialTokens.from_roles(ids_by_role())
    assert special == SpecialTokens(*range(9), sizes=(9, 10))
    assert special.ids() == tuple(range(11))
    assert SpecialTokens.from_roles(ids_by_role(())).sizes == ()


def test_names_by_role():
    names = special_names((64,), {"end_of_thought": "<|end|>"})
    assert names["end_of_thought"] == "<|end|>"
    assert names["fill"] == "<fill>"
    assert names["64"] == size_name(64) == "<size_64>"


def test_special_tokens_that_are_one():
    ids = ids_by_role() | {"pad": 2, "256": 9}
    message = re.escape("special tokens share an id (pad, eos, sizes[0], sizes[1])")
    with pytest.raises(TokenizerError, match=message):
        SpecialTokens.from_roles(ids)
