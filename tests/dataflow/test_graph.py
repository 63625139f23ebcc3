"""The graph as Dataflow is given it, from a dry run: nothing is submitted."""

import apache_beam as beam
import pytest
from apache_beam.portability.api import beam_runner_api_pb2

from beam_pipeline.cli import main
from beam_pipeline.run import launch_from, parse_options
from tests.dataflow.cases import CASES, FLAGS, IMAGE
from tests.transforms import eager
from tests.transforms.test_graph import LARGEST_PAYLOAD, is_plain, names_of_nones

GROUP_BY_KEY = "beam:transform:group_by_key:v1"
DRY_RUN = "--dry_run=True"


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def options(case, bucket, prepared):
    return parse_options(
        [
            *FLAGS,
            DRY_RUN,
            f"--temp_location={bucket}/tmp",
            f"--recipe={prepared[case.name].recipe}",
            f"--output={bucket}/dry/{case.name}",
        ]
    )


@pytest.fixture(scope="module")
def launched(case, options):
    return launch_from(options, case.job)


def graph_of(case, options, launched) -> beam_runner_api_pb2.Pipeline:
    pipeline = beam.Pipeline(options=options)
    case.job.build(pipeline, launched)
    return pipeline.run().job.proto_pipeline  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def graph(case, options, launched):
    return graph_of(case, options, launched)


def test_whatever_is_grouped_has_a_key_of_one_encoding(graph):
    graph, checked = graph.components, []
    # Of combines over all, whose one key is None.
    nones = (*names_of_nones(graph), *(f"{name}/" for name in names_of_nones(graph)))
    for transform in graph.transforms.values():
        if transform.spec.urn != GROUP_BY_KEY or transform.unique_name.startswith(nones):
            continue
        (collection,) = transform.inputs.values()
        coder = graph.coders[graph.pcollections[collection].coder_id]
        assert coder.spec.urn == "beam:coder:kv:v1", transform.unique_name
        assert is_plain(graph, coder.component_coder_ids[0]), transform.unique_name
        checked.append(transform.unique_name)
    assert len(checked) > 5


def test_no_step_carries_a_tokenizer_or_another_large_thing(graph):
    sizes = {t.unique_name: len(t.spec.payload) for t in graph.components.transforms.values()}
    assert len(sizes) > 50
    assert {name: size for name, size in sizes.items() if size > LARGEST_PAYLOAD} == {}
    assert graph.ByteSize() < 8 * LARGEST_PAYLOAD


def steps_of(components):
    """Names of the steps that are not part of another, but for the root, which Beam names."""
    names = {t.unique_name.partition("/")[0] for t in components.transforms.values()}
    return {name for name in names if not name.startswith("ref_AppliedPTransform")} - {""}


def test_steps_have_the_names_that_they_have_in_another_build_and_on_this_machine(
    case, options, launched, graph
):
    again = graph_of(case, options, launched)
    names = sorted(t.unique_name for t in graph.components.transforms.values())
    assert sorted(t.unique_name for t in again.components.transforms.values()) == names
    local = eager.graph(lambda pipeline: case.job.build(pipeline, launched))
    assert len(steps_of(local)) > 10
    assert steps_of(graph.components) == steps_of(local)


def test_workers_run_the_given_image_and_no_main_module_is_pickled(graph):
    (environment,) = graph.components.environments.values()
    docker = beam_runner_api_pb2.DockerPayload.FromString(environment.payload)
    assert docker.container_image == IMAGE
    staged = {
        beam_runner_api_pb2.ArtifactStagingToRolePayload.FromString(d.role_payload).staged_name
        for d in environment.dependencies
    }
    # What is installed where the job was launched, for people who look into a failed job.
    assert staged == {"submission_environment_dependencies.txt"}


def test_the_command_ends_well_without_a_summary(bucket, prepared, capsys):
    argv = ["traces", prepared["traces"].recipe, "--output", f"{bucket}/dry/command"]
    assert main([*argv, *FLAGS, DRY_RUN, f"--temp_location={bucket}/tmp"]) == 0
    assert capsys.readouterr().out == ""
