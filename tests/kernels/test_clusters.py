import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transforms.kernels.clusters import decide

# Three documents, each like the next; the first and the last are not alike.
CHAIN = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]], np.uint16)
CHAIN_EDGES = np.array([[0, 1], [2, 1]])
ONE_COMPONENT = np.zeros(3, np.int64)


def test_cluster_keeps_the_best_and_says_what_only_the_chain_took():
    kept, chained, *_ = decide(np.array([0, 1, 2]), CHAIN_EDGES, ONE_COMPONENT, "cluster", CHAIN, 2)
    assert kept.tolist() == [True, False, False]
    assert chained.tolist() == [False, False, True]


def test_nothing_is_chained_where_all_are_like_the_best():
    kept, chained, *_ = decide(np.array([1, 0, 2]), CHAIN_EDGES, ONE_COMPONENT, "cluster", CHAIN, 2)
    assert kept.tolist() == [False, True, False]
    assert not chained.any()


def test_greedy_drops_only_what_is_like_something_kept():
    kept, chained, *_ = decide(np.array([0, 1, 2]), CHAIN_EDGES, ONE_COMPONENT, "greedy", CHAIN, 2)
    assert kept.tolist() == [True, False, True]
    assert not chained.any()


def test_no_rows():
    none = np.empty(0, np.int64)
    for keep in ("cluster", "greedy"):
        kept, chained, *_ = decide(
            none, np.empty((0, 2), np.int64), none, keep, np.empty((0, 4), np.uint16), 2
        )
        assert len(kept) == len(chained) == 0


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 15))
    rows = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(rows, rows).filter(lambda e: e[0] != e[1]), max_size=25))
    components = list(range(n))
    for _ in range(n):
        for a, b in pairs:
            components[a] = components[b] = min(components[a], components[b])
    ranks = draw(st.permutations(range(n)))
    signatures = draw(
        st.lists(st.lists(st.integers(0, 1), min_size=6, max_size=6), min_size=n, max_size=n)
    )
    return ranks, pairs, components, signatures


def decided(graph, keep):
    ranks, pairs, components, signatures = graph
    return decide(
        np.array(ranks),
        np.array(pairs, np.int64).reshape(-1, 2),
        np.array(components),
        keep,
        np.array(signatures, np.uint16),
        4,
    )


@given(graphs())
def test_cluster_equals_the_plain_form(graph):
    ranks, _, components, signatures = graph
    kept, chained, *_ = decided(graph, "cluster")
    for row, component in enumerate(components):
        members = [i for i, other in enumerate(components) if other == component]
        best = min(members, key=ranks.__getitem__)
        equal = sum(a == b for a, b in zip(signatures[row], signatures[best], strict=True))
        assert kept[row] == (row == best)
        assert chained[row] == (row != best and equal < 4)


@given(graphs())
def test_greedy_equals_the_plain_form(graph):
    ranks, pairs, _, _ = graph
    expected = set()
    for row in sorted(range(len(ranks)), key=ranks.__getitem__):
        if not any({(row, other), (other, row)} & set(pairs) for other in expected):
            expected.add(row)
    kept, *_ = decided(graph, "greedy")
    assert set(np.flatnonzero(kept).tolist()) == expected
