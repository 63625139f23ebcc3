"""The graph of the traces job, and that it fails if it loses a row."""

import pytest

from beam_pipeline import traces
from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.progress import steps
from beam_pipeline.run import parse_options
from beam_pipeline.run import run as run_job
from beam_pipeline.traces_job import TRACES
from beam_pipeline.traces_launch import launch_traces
from tests import jobs
from tests.traces_jobs import recipe_of, trace_rows, write_recipe
from tests.transforms import eager
from tests.transforms.steps import files_in
from tests.transforms.test_graph import GROUPING, is_plain, names_none, names_of_nones, works_of
from transforms import ledger, shards
from transforms.errors import InternalError
from transforms.traces import parse_rows

PACKED = {
    "DedupProblems/GroupProblems",
    "Limit/GroupRange",
    "EncodeExamples/GroupPiece",
    "WriteLayouts/WriteRecords/GroupShard",
    "SettleTokenizer/Sample/GroupRange",
}


@pytest.fixture
def job(tmp_path):
    path = jobs.write_rows(tmp_path / "rows.jsonl", trace_rows())
    recipe = write_recipe(tmp_path, recipe_of(path, limit=100))
    return launch_traces(JobArguments(str(recipe), str(tmp_path / "out"), piece_bytes=2000))


def test_whatever_is_grouped_has_a_key_of_one_encoding_and_records_are_bytes(job):
    graph = eager.graph(lambda pipeline: traces.build(pipeline, job))
    packed = set(PACKED)
    for transform in graph.transforms.values():
        if transform.spec.urn not in GROUPING:
            continue
        if transform.unique_name.startswith(names_of_nones(graph)):
            continue
        (collection,) = transform.inputs.values()
        key, value = graph.coders[graph.pcollections[collection].coder_id].component_coder_ids
        assert is_plain(graph, key), transform.unique_name
        if transform.unique_name in packed:
            packed.remove(transform.unique_name)
            assert graph.coders[value].spec.urn == "beam:coder:bytes:v1"
    assert not packed


def test_the_steps_that_people_are_shown_are_in_the_graph(job):
    graph = eager.graph(lambda pipeline: traces.build(pipeline, job))
    # Where there is no limit, no first rows are landed.
    assert names_none(graph, works_of(steps.TRACES)) == ["LandFirstRows/LandFirst"]


def _without_its_first_window(contents, *rest, write_shard=shards.write_shard):
    columns = {name: values[1:] for name, values in contents.columns.items()}
    return write_shard(contents._replace(tokens=contents.tokens[1:], columns=columns), *rest)


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        (ledger, ("DUPLICATE", ledger.CHAINED)),
        (ledger, ("OVER_LIMIT", ledger.CHAINED)),
        (ledger, ("ENCODED", ledger.CHAINED)),
        (shards, ("write_shard", _without_its_first_window)),
    ],
    ids=["duplicate", "over-limit", "encoded", "lost-window"],
)
def test_a_job_whose_account_does_not_balance_leaves_no_success(job, monkeypatch, place, fault):
    monkeypatch.setattr(place, *fault)
    with pytest.raises(InternalError, match="ledger does not balance"):
        run_job(job, parse_options([]), TRACES)
    left = files_in(job.output)
    assert "_SUCCESS" not in left
    assert not [name for name in left if name.endswith("manifest.json")]


def test_a_worker_with_another_unicode_is_refused(job, monkeypatch):
    monkeypatch.setattr("transforms.unicode.unicodedata.unidata_version", "1.0.0")
    step = parse_rows._ParsePiece(job.parse)
    with pytest.raises(InternalError, match=r"this worker's Python has Unicode 1\.0\.0"):
        step.setup()
