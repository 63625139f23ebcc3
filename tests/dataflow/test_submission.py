"""`--runner DataflowRunner`: what is refused, what is submitted, and what becomes of it."""

import re
import time

import pytest
import yaml

from beam_pipeline.cli import main
from tests.dataflow import cases
from tests.dataflow.cases import FLAGS, IMAGE
from tests.fakes import dataflow
from tests.jobs import recipe_of
from transforms import storage

TEMP = "--temp_location=gs://some-bucket/tmp"


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    """A recipe that reads nothing."""
    path = tmp_path_factory.mktemp("recipe") / "recipe.yaml"
    source = {"name": "web", "domain": "web", "weight": 1.0, "synthetic": {"documents": 5}}
    path.write_text(yaml.safe_dump(recipe_of([source])))
    return str(path)


def flags_without(*names):
    return [flag for flag in (*FLAGS, TEMP) if not flag.startswith(names)]


OUTPUT = ("--output", "gs://some-bucket/out")
REFUSED = {
    "project": (OUTPUT, flags_without("--project"), "needs --project:"),
    "region": (OUTPUT, flags_without("--region"), "needs --region:"),
    "temp": (OUTPUT, flags_without("--temp_location"), "needs --temp_location:"),
    "all": (OUTPUT, FLAGS[:1], "needs --project and --region and --temp_location:"),
    "image": (OUTPUT, flags_without("--sdk_container"), "would have no corpusbeam: give --sdk_c"),
    "project's name": (
        OUTPUT,
        [*flags_without("--project"), "--project=My Project"],
        r"Invalid Project ID \(My Project\)",
    ),
    "local output": (("--output", "out"), [*FLAGS, TEMP], "--output=out is on this machine"),
    "local work": (OUTPUT, [*FLAGS, TEMP, "--work_dir=w"], "--work_dir=w is on this machine"),
    "local temp": (OUTPUT, [*FLAGS, "--temp_location=tmp"], "--temp_location=tmp is on this"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_cannot_work_is_refused_at_once(synthetic, capsys, monkeypatch, mistake):
    output, flags, message = REFUSED[mistake]
    monkeypatch.setattr("beam_pipeline.run.launch_from", lambda *_: pytest.fail("launched"))
    assert main(["build", synthetic, *output, *flags]) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(rf"corpusbeam: error: [^\n]*{message}[^\n]*\n", err), err


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_an_input_on_this_machine_is_refused_before_it_is_read(case, tmp_path, capsys, monkeypatch):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(case.yaml("in"))
    monkeypatch.setattr("transforms.readers.planning.plan", lambda *_: pytest.fail("read"))
    assert main([case.command, str(recipe), *OUTPUT, *FLAGS, TEMP]) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(
        r"corpusbeam: error: source '\w+': \S+/in/\S+ is on this machine, .*\n", err
    )


def test_a_submitted_job_gives_the_bytes_of_a_local_one(prepared, bucket, service, capsys):
    there = prepared["corpus"]
    output = f"{bucket}/dataflow"
    service.run = dataflow.execute
    flags = (
        *FLAGS,
        f"--temp_location={bucket}/tmp",
        f"--dataflow_endpoint={service.endpoint}",
        "--machine_type=n2-highmem-4",
        "--max_num_workers=7",
    )
    assert main(["build", there.recipe, "--output", output, *flags]) == 0
    captured = capsys.readouterr()
    assert cases.contents(output) == there.expected
    assert cases.finished(output)

    (job,) = service.jobs
    (pool,) = job["environment"]["workerPools"]
    assert pool["machineType"] == "n2-highmem-4"
    assert pool["autoscalingSettings"]["maxNumWorkers"] == 7
    assert [i["containerImage"] for i in pool["sdkHarnessContainerImages"]] == [IMAGE]
    assert "use_runner_v2" in job["environment"]["experiments"]
    assert [p["name"] for p in pool["packages"]] == ["submission_environment_dependencies.txt"]
    assert not storage.expand(f"{bucket}/tmp/**/*main_session*")

    place = f"jobs/europe-west4/{dataflow.JOB_ID}?project=my-project"
    assert f"Dataflow job {dataflow.JOB_ID}: " in captured.err
    assert f"https://console.cloud.google.com/dataflow/{place}" in captured.err
    # The summary is told from what the job wrote.
    assert f"{output}/train" in captured.out


@pytest.fixture
def submit(synthetic, bucket, service, capsys, monkeypatch):
    """Runs the small job on the service, and gives its exit code and what it prints of errors."""
    sleep = time.sleep
    # Beam asks every five seconds how a job is.
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(seconds / 100))

    def run():
        output = ("--output", f"{bucket}/failed")
        flags = (
            f"--temp_location={bucket}/tmp",
            f"--dataflow_endpoint={service.endpoint}",
            # It would list what pip has installed here.
            "--experiments=disable_logging_submission_environment",
        )
        code = main(["build", synthetic, *output, *FLAGS, *flags, "--quiet"])
        return code, capsys.readouterr().err

    return run


WORKER_MISTAKE = """\
Traceback (most recent call last):
  File "apache_beam/runners/common.py", line 1512, in process
transforms.errors.SourceError: gs://b/a.gz changed while the job ran [while running 'Tokenize']
"""
WORKER_BUG = """\
Traceback (most recent call last):
  File "apache_beam/runners/common.py", line 1512, in process
KeyError: 'x' [while running 'Scan']
"""


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ("FAILED", WORKER_MISTAKE, r"gs://b/a\.gz changed while the job ran"),
        (
            "FAILED",
            WORKER_BUG,
            r"Dataflow job \S+ ended as FAILED: KeyError: 'x'.*; see https://\S+",
        ),
        ("CANCELLED", None, r"Dataflow job \S+ ended as CANCELLED: Dataflow gave no reason; .*"),
    ],
    ids=["mistake", "bug", "cancelled"],
)
def test_a_job_that_fails_is_one_line(submit, service, bucket, state, error, message):
    service.states = ["JOB_STATE_PENDING", "JOB_STATE_RUNNING", f"JOB_STATE_{state}"]
    service.error = error
    code, err = submit()
    assert code == 2
    assert re.fullmatch(rf"corpusbeam: error: {message}\n", err), err
    assert not storage.exists(f"{bucket}/failed/_SUCCESS")


def test_a_job_that_is_refused_is_one_line(submit, service):
    service.refusal = 403, "Current user cannot act as service account x@example.com."
    code, err = submit()
    assert code == 2
    assert re.fullmatch(r"corpusbeam: error: Dataflow did not take the job: .* act as .*\n", err), (
        err
    )
