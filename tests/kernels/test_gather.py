import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.kernels.gather import gather, scatter

dtypes = pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])


@dtypes
@given(st.lists(st.integers(0, 40), max_size=20), st.randoms(use_true_random=False))
def test_ranges_come_in_the_order_given(dtype, lengths, random):
    flat = np.arange(sum(lengths), dtype=dtype)
    stops = np.cumsum(lengths, dtype=np.int64)
    ranges = [(stop - length, length) for stop, length in zip(stops, lengths, strict=True)]
    random.shuffle(ranges)
    starts, sizes = np.array(ranges, np.int64).reshape(-1, 2).T
    found = gather(flat, starts, sizes)
    assert found.dtype == dtype
    assert found.tolist() == [i for a, n in ranges for i in flat[a : a + n].tolist()]


@dtypes
def test_what_lies_between_places_stays(dtype):
    out = np.full(10, 7, dtype)
    flat = np.frombuffer(np.arange(6, dtype=dtype).tobytes(), dtype)
    scatter(flat, np.array([4, 0]), np.array([2, 1]), np.array([1, 8]), out)
    assert out.tolist() == [7, 4, 5, 7, 7, 7, 7, 7, 0, 7]
