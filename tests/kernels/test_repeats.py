import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.kernels.repeats import may_repeat


def repeated(keys: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return counts[places] > 1


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)), max_size=200))
def test_all_that_repeat_are_marked(keys):
    keys = np.array(keys, np.uint64)
    marked = may_repeat(keys)
    assert marked.dtype == bool
    assert marked[repeated(keys)].all()


@pytest.mark.parametrize("leading_bits", [0, 10, 40])
def test_few_others_are_marked_where_keys_share_their_leading_bits(leading_bits):
    generator = np.random.default_rng(leading_bits)
    keys = generator.integers(0, 2**64, 20_000, np.uint64) >> np.uint64(leading_bits)
    keys[:50] = keys[100:150]
    assert (may_repeat(keys) != repeated(keys)).mean() < 0.01


def test_a_key_that_all_have():
    assert may_repeat(np.zeros(10_000, np.uint64)).all()
    assert not may_repeat(np.zeros(1, np.uint64)).any()
    assert len(may_repeat(np.zeros(0, np.uint64))) == 0


def test_keys_of_records():
    records = np.zeros(3, [("ref", "<u8"), ("key", "<u8")])
    records["key"] = 5, 6, 5
    assert may_repeat(records["key"]).tolist() == [True, False, True]
