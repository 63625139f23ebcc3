"""The graph of the corpus job, as a runner is given it."""

import re

import pytest

from beam_pipeline import corpus
from beam_pipeline.progress import steps
from tests.transforms import eager
from tests.transforms.steps import launched, pieces_of, texts_of

LARGEST_PAYLOAD = 64 << 10

# Keys of these have one encoding each, on every worker.
PLAIN_KEYS = {
    "beam:coder:varint:v1",
    "beam:coder:bytes:v1",
    "beam:coder:string_utf8:v1",
}
PAIRS = {"beam:coder:kv:v1", "beam:coder:tuple:v1"}
GROUPING = {
    "beam:transform:group_by_key:v1",
    "beam:transform:combine_per_key:v1",
    "beam:transform:combine_globally:v1",
}
# Beam combines globally under the one key None, which it adds itself.
GLOBAL = "/CombinePerKey"


def graph_of(job):
    return eager.graph(lambda pipeline: corpus.build(pipeline, job))


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """More than 200 pieces."""
    folder = tmp_path_factory.mktemp("graph")
    job = launched(folder, {"web": texts_of(120), "books": texts_of(120, seed=1)}, piece_bytes=350)
    assert len(pieces_of(job)) > 200
    return job


@pytest.fixture(scope="module")
def graph(job):
    return graph_of(job)


def is_plain(graph, coder_id):
    coder = graph.coders[coder_id]
    if coder.spec.urn in PAIRS:
        return all(is_plain(graph, part) for part in coder.component_coder_ids)
    return coder.spec.urn in PLAIN_KEYS


def names_of_nones(graph):
    """Transforms below a global combine, whose one key is None."""
    keyed = [
        t.unique_name.rpartition("/")[0]
        for t in graph.transforms.values()
        if t.unique_name.endswith("/KeyWithVoid")
    ]
    return tuple(f"{name}{GLOBAL}" for name in keyed)


def test_whatever_is_grouped_has_a_key_of_one_encoding(graph):
    checked = []
    for transform in graph.transforms.values():
        if transform.spec.urn not in GROUPING:
            continue
        if transform.unique_name.startswith(names_of_nones(graph)):
            continue
        (collection,) = transform.inputs.values()
        coder = graph.coders[graph.pcollections[collection].coder_id]
        assert coder.spec.urn in PAIRS, transform.unique_name
        assert is_plain(graph, coder.component_coder_ids[0]), transform.unique_name
        checked.append(transform.unique_name)
    assert len(checked) > 15
    assert "ExactDedup/GroupDigests" in checked
    assert "Tally/Sum" in checked


def test_records_cross_shuffles_as_bytes(graph):
    """Packed records have no coder of their own, which would cost more than they do."""
    packed = {
        "ExactDedup/GroupDigests",
        "SurvivorsByPiece",
        "FindEdges/GroupBands",
        "FindEdges/GroupBuckets",
        "FindEdges/GroupByPiece",
        "FindEdges/GroupCandidates",
        "Budget/GroupRange",
        "WriteShards/WriteRecords/GroupShard",
    }
    for transform in graph.transforms.values():
        if transform.unique_name in packed:
            packed.remove(transform.unique_name)
            (collection,) = transform.inputs.values()
            key, value = graph.coders[graph.pcollections[collection].coder_id].component_coder_ids
            assert graph.coders[key].spec.urn == "beam:coder:varint:v1"
            assert graph.coders[value].spec.urn == "beam:coder:bytes:v1"
    assert not packed


def test_no_step_carries_the_plan_or_another_large_thing(graph):
    sizes = {t.unique_name: len(t.spec.payload) for t in graph.transforms.values()}
    assert {name: size for name, size in sizes.items() if size > LARGEST_PAYLOAD} == {}
    assert sum(sizes.values()) < 4 * LARGEST_PAYLOAD


def test_the_graph_does_not_grow_with_the_input(job, graph, tmp_path):
    small = launched(tmp_path, {"web": texts_of(2), "books": texts_of(2, seed=1)})
    assert len(pieces_of(small)) == 2
    sizes = [
        sum(len(t.spec.payload) for t in g.transforms.values()) for g in (graph, graph_of(small))
    ]
    # Paths of other lengths are all that differs.
    assert abs(sizes[0] - sizes[1]) < 2000


def test_step_names_are_unique_and_do_not_depend_on_the_recipe(graph, tmp_path):
    names = [t.unique_name for t in graph.transforms.values() if t.unique_name]
    assert len(set(names)) == len(names)
    other = launched(
        tmp_path,
        {"code": texts_of(3)},
        dedup={"scope": "source", "keep": "greedy", "bands": 8},
        when_short="repeat",
        seed=9,
    )
    assert sorted(names) == sorted(
        t.unique_name for t in graph_of(other).transforms.values() if t.unique_name
    )


def test_steps_are_named_in_camel_case(graph):
    ours = {t.unique_name.partition("/")[0] for t in graph.transforms.values()}
    # Of the root, which Beam names.
    ours = {name for name in ours if not name.startswith("ref_AppliedPTransform")} - {""}
    assert {"Scan", "WriteShards"} <= ours
    assert {name for name in ours if not re.fullmatch(r"[A-Z][A-Za-z]+", name)} == set()


def works_of(steps):
    return [beginning for step in steps for beginning in step.work]


def names_none(graph, beginnings):
    names = [transform.unique_name for transform in graph.transforms.values()]
    return [b for b in beginnings if not any(name.startswith(b) for name in names)]


def test_the_steps_that_people_are_shown_are_in_the_graph(graph):
    assert names_none(graph, works_of(steps.CORPUS)) == []
