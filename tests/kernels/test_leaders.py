import time
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from transforms.kernels.leaders import bucket_edges

# Of two values, so that rows often agree in about half of their positions.
SIGNATURES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40).flatmap(
    lambda shape: hnp.arrays(np.uint16, shape, elements=st.integers(0, 1), fill=st.nothing())
)


def plain_edges(signatures, members, starts, min_agree, max_leaders):
    edges = []
    for start, stop in pairwise(starts):
        leaders = []
        for row in members[start:stop]:
            like = [i for i in leaders if sum(signatures[i] == signatures[row]) >= min_agree]
            if like:
                edges.append([like[0], row])
            elif len(leaders) < max_leaders:
                leaders.append(row)
    return edges


@given(SIGNATURES, st.data())
def test_equals_the_plain_form(signatures, data):
    n, permutations = signatures.shape
    # A row may be in several buckets.
    members = data.draw(hnp.arrays(np.int64, st.integers(0, 60), elements=st.integers(0, n - 1)))
    cuts = data.draw(st.lists(st.integers(0, len(members)), max_size=4))
    starts = np.array([0, *sorted(cuts), len(members)])
    min_agree = data.draw(st.integers(0, permutations))
    max_leaders = data.draw(st.integers(1, 6))
    edges = bucket_edges(signatures, members, starts, min_agree, max_leaders)
    assert edges.shape == (len(edges), 2)
    assert edges.tolist() == plain_edges(
        signatures, members.tolist(), starts.tolist(), min_agree, max_leaders
    )


def test_a_row_like_two_leaders_joins_the_first():
    signatures = np.array([[0, 0], [1, 1], [2, 2], [1, 2]], np.uint16)
    assert bucket_edges(signatures, np.arange(4), np.array([0, 4]), 1).tolist() == [[1, 3]]


def test_a_row_is_compared_with_64_leaders_and_no_more():
    unlike = np.arange(66, dtype=np.uint16).repeat(128).reshape(66, 128)
    signatures = np.concatenate([unlike, unlike[63:]])
    n = len(signatures)
    edges = bucket_edges(signatures, np.arange(n), np.array([0, n]), 103)
    assert edges.tolist() == [[63, 66]]


def test_a_hundred_thousand_rows_in_one_bucket_take_linear_time():
    n = 100_000
    starts = np.array([0, n])
    equal = np.full((n, 128), 7, np.uint16)
    unlike = np.random.default_rng(0).integers(0, 1 << 16, (n, 128), np.uint16)
    began = time.process_time()
    joined, alone = (
        bucket_edges(signatures, np.arange(n), starts, 103) for signatures in (equal, unlike)
    )
    assert time.process_time() - began < 5  # all pairs would take minutes
    assert joined.tolist() == [[0, row] for row in range(1, n)]
    assert not len(alone)
