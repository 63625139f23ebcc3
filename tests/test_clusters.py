import numpy as np

from transforms import clusters, records
from transforms.clusters import JoinForests, judge
from transforms.kernels.union_find import Forest, forest


def nodes_of(roots, keeps, signatures, copies=None):
    found = np.zeros(len(roots), records.node(signatures.shape[1]))
    found["root"] = roots
    found["ref"] = np.arange(len(roots)) + 100
    found["keep_hi"] = keeps
    found["copies"] = 1 if copies is None else copies
    found["signature"] = signatures
    return found


def edges_of(pairs):
    return np.array([(a + 100, b + 100) for a, b in pairs], records.EDGE)


# A~B and B~C agree in 8 of 10 positions, A and C in 6 only.
CHAIN = np.array([[0] * 10, [1] * 2 + [0] * 8, [1] * 2 + [0] * 6 + [2] * 2], np.uint16)


def test_cluster_keeps_one_and_tells_who_went_through_a_chain():
    nodes = nodes_of([100] * 3, [1, 2, 3], CHAIN, copies=[1, 5, 2])
    kept, chained, sizes, *_ = judge(nodes, edges_of([(0, 1), (1, 2)]), "cluster", 8)
    assert kept.tolist() == [True, False, False]
    assert chained.tolist() == [False, False, True]
    assert sizes.tolist() == [8, 8, 8]


def test_greedy_keeps_the_end_of_a_chain():
    nodes = nodes_of([100] * 3, [1, 2, 3], CHAIN)
    kept, chained, *_ = judge(nodes, edges_of([(0, 1), (1, 2)]), "greedy", 8)
    assert kept.tolist() == [True, False, True]
    assert not chained.any()


def test_greedy_drops_both_ends_if_the_middle_is_best():
    nodes = nodes_of([100] * 3, [2, 1, 3], CHAIN)
    kept, *_ = judge(nodes, edges_of([(0, 1), (1, 2)]), "greedy", 8)
    assert kept.tolist() == [False, True, False]


def test_node_order_does_not_matter():
    nodes = nodes_of([100, 100, 100, 103, 103], [3, 1, 2, 9, 8], np.zeros((5, 4), np.uint16))
    edges = edges_of([(1, 0), (1, 2), (4, 3)])
    expected = {101, 104}
    for seed in range(5):
        shuffled = nodes[np.random.default_rng(seed).permutation(5)]
        kept, *_ = judge(shuffled, edges, "cluster", 4)
        assert set(shuffled["ref"][kept].tolist()) == expected


def test_what_a_bundle_sends_and_the_joiner_holds_grows_with_documents_not_with_edges(monkeypatch):
    monkeypatch.setattr(clusters, "_LEAST_JOINED", 1000)
    combine = JoinForests()
    edges = np.random.default_rng(0).integers(0, 50, (5000, 2)).astype(np.uint64)
    sent = []
    for part in np.array_split(edges, 20):
        accumulator = combine.add_input(combine.create_accumulator(), part[:60].tobytes())
        sent.append(combine.compact(accumulator))
        assert sum(map(len, [sent[-1][0], *sent[-1][1]])) <= 16 * 50
    taken = []
    merged = combine.merge_accumulators(taken.append(a) or a for a in sent)
    assert len(taken) == 20
    assert sum(map(len, [merged[0], *merged[1]])) <= 16 * 50 + 1000
    found = Forest.from_bytes(combine.extract_output(merged))
    expected = forest(np.concatenate([part[:60] for part in np.array_split(edges, 20)]))
    assert found.to_bytes() == expected.to_bytes()


def test_a_chain_of_forty_becomes_one_component_in_any_grouping():
    combine = JoinForests()
    edges = np.array([(k, k + 1) for k in range(40)], np.uint64)
    shuffled = edges[np.random.default_rng(0).permutation(40)]
    accumulators = []
    for part in np.array_split(shuffled, 7):
        accumulators.append(combine.add_input(combine.create_accumulator(), part.tobytes()))
    joined = combine.merge_accumulators(
        [combine.merge_accumulators(accumulators[4:]), combine.merge_accumulators(accumulators[:4])]
    )
    forest = Forest.from_bytes(combine.extract_output(joined))
    assert forest.nodes.tolist() == list(range(41))
    assert not forest.roots.any()


def test_edges_that_wait_are_joined_in_time(monkeypatch):
    """An accumulator holds at most twice its forest, however many elements edges come in."""
    monkeypatch.setattr("transforms.clusters._LEAST_JOINED", 64)
    combine = JoinForests()
    accumulator = combine.create_accumulator()
    generator = np.random.default_rng(1)
    for _ in range(200):
        edges = generator.integers(0, 50, (3, 2)).astype(np.uint64)
        accumulator = combine.add_input(accumulator, edges.tobytes())
        joined, waiting = accumulator
        assert sum(map(len, waiting)) <= max(64, len(joined))
    forest = Forest.from_bytes(combine.extract_output(accumulator))
    assert forest.nodes.tolist() == list(range(50))
    assert not forest.roots.any()


def test_no_edges_are_no_forest():
    combine = JoinForests()
    forest = Forest.from_bytes(combine.extract_output(combine.create_accumulator()))
    found, _ = forest.roots_of(np.array([1, 2], np.uint64))
    assert not found.any()
