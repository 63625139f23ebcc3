import numpy as np
import pytest

from transforms import records, specimens, statistics
from transforms.documents import RowBatch, TextBatch

# Of seven clusters, how many texts each has.
TEXTS = [2, 9, 3, 9, 4, 2, 5]


@pytest.fixture
def nodes():
    generator = np.random.default_rng(3)
    found = np.zeros(sum(TEXTS), records.node(32))
    found["root"] = np.repeat(np.arange(len(TEXTS)), TEXTS)
    found["ref"] = records.refs(7, np.arange(len(found)))
    found["keep_hi"] = generator.permutation(len(found)) + 1
    found["copies"] = generator.integers(1, 4, len(found))
    found["signature"] = generator.integers(0, 3, (len(found), 32))
    return found


def best_of(nodes, root):
    of_root = nodes[nodes["root"] == root]
    return of_root[np.argmin(of_root["keep_hi"])]


def test_the_largest_clusters_come_first_and_the_preferred_member_stands_for_each(nodes):
    found = specimens.largest_clusters(nodes)
    assert [s.texts for s in found] == [9, 9, 5, 4, 3]
    assert found[0].key < found[1].key
    roots = sorted((1, 3), key=lambda root: best_of(nodes, root)["keep_hi"])
    for specimen, root in zip(found, roots, strict=False):
        best = best_of(nodes, root)
        assert specimen.members[0].ref() == best["ref"]
        assert specimen.members[0].agree == 32
        assert specimen.documents == nodes["copies"][nodes["root"] == root].sum()


def test_the_member_least_like_the_preferred_one_is_shown(nodes):
    for specimen in specimens.largest_clusters(nodes):
        best = nodes[nodes["ref"] == specimen.members[0].ref()][0]
        of_cluster = nodes[nodes["root"] == best["root"]]
        agree = (of_cluster["signature"] == best["signature"]).sum(axis=1)
        assert specimen.members[1].agree == agree.min()
        refs = [member.ref() for member in specimen.members]
        assert len(set(refs)) == len(refs) == min(3, specimen.texts)


def test_order_and_partitions_of_nodes_do_not_show(nodes):
    whole = specimens.largest_clusters(nodes)
    shuffled = np.random.default_rng(1).permutation(nodes)
    assert specimens.largest_clusters(shuffled) == whole
    parts = [nodes[nodes["root"] % 3 == k] for k in range(3)]
    entries = [s.entry("web") for part in parts for s in specimens.largest_clusters(part)]
    _, found = statistics.apart(entries)
    assert specimens.from_statistics(found) == (whole, [])


def test_only_texts_with_copies_count_as_copied():
    survivors = np.zeros(4, records.EXACT)
    survivors["digest_hi"] = [9, 1, 5, 7]
    survivors["ref"] = records.refs(3, np.arange(4))
    found = specimens.copied_texts(survivors, np.array([6, 1, 8, 6]))
    assert [(s.documents, s.members[0].position) for s in found] == [(8, 2), (6, 3), (6, 0)]
    _, told = statistics.apart([s.entry("web") for s in found])
    assert specimens.from_statistics(told) == ([], found)


def test_excerpts_are_the_beginnings_of_the_rows_asked_for():
    texts = ["a", "ü" * 900, "c", "d"]
    batch = RowBatch(np.array([2, 5, 6, 9], np.uint32), TextBatch.from_strings(texts))
    found = dict(specimens.excerpts(batch, np.array([1, 5, 9, 12])))
    assert found == {1: "ü" * specimens.EXCERPT_CHARACTERS, 2: "d"}
