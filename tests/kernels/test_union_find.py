import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.kernels.union_find import Forest, forest, join

# Few small ids so that components grow, and the ends of the range.
IDS = st.one_of(st.integers(0, 12), st.integers(2**64 - 4, 2**64 - 1))
EDGES = st.lists(st.tuples(IDS, IDS), max_size=30)


def array(edges):
    return np.array(edges, np.uint64).reshape(-1, 2)


def as_dict(trees):
    return dict(zip(trees.nodes.tolist(), trees.roots.tolist(), strict=True))


def plain_components(edges):
    roots = {node: node for edge in edges for node in edge}
    for _ in roots:
        for a, b in edges:
            roots[a] = roots[b] = min(roots[a], roots[b])
    return roots


@given(EDGES)
def test_roots_are_the_smallest_of_each_component(edges):
    trees = forest(array(edges))
    assert as_dict(trees) == plain_components(edges)
    assert trees.nodes.tolist() == sorted(set(trees.nodes.tolist()))


@given(st.lists(EDGES, min_size=1, max_size=5), st.randoms())
def test_parts_join_to_the_whole_in_any_order(parts, random):
    whole = as_dict(forest(array([edge for part in parts for edge in part])))
    forests = [forest(array(part)) for part in parts]
    while len(forests) > 1:
        random.shuffle(forests)
        forests.append(join(forests.pop(), forests.pop()))
    assert as_dict(forests[0]) == whole


def test_a_chain_joined_edge_by_edge():
    edges = [(i, i + 1) for i in range(40)]
    trees = forest(array([]))
    for edge in edges[::2] + edges[1::2]:
        trees = join(trees, forest(array([edge])))
    assert as_dict(trees) == dict.fromkeys(range(41), 0)


@pytest.mark.parametrize("order", [1, -1])
def test_a_chain_of_a_million_is_no_quadratic_case(order):
    ids = np.arange(1_000_001, dtype=np.uint64)[::order]
    trees = forest(np.stack([ids[:-1], ids[1:]], axis=1))
    assert not trees.roots.any()
    assert len(trees.nodes) == len(ids)


@given(EDGES)
def test_bytes_round_trip(edges):
    trees = forest(array(edges))
    packed = trees.to_bytes()
    assert len(packed) == 16 * len(trees.nodes)
    again = Forest.from_bytes(packed)
    assert as_dict(again) == as_dict(trees)
    assert as_dict(join(again, again)) == as_dict(trees)


@pytest.mark.parametrize("packed", [b"1234567", b"12345678"])
def test_bytes_of_no_forest(packed):
    with pytest.raises(ValueError, match=r"buffer size|reshape"):
        Forest.from_bytes(packed)


@given(EDGES, st.lists(IDS, max_size=20))
def test_looking_up_roots(edges, ids):
    roots = plain_components(edges)
    found, looked_up = forest(array(edges)).roots_of(np.array(ids, np.uint64))
    assert found.tolist() == [i in roots for i in ids]
    assert looked_up.tolist() == [roots.get(i, i) for i in ids]
