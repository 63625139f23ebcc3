"""The path of a Flex Template: a launcher that does not wait, then the job that it staged."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.dataflow import cases
from tests.dataflow.cases import IMAGE
from tests.fakes import dataflow
from transforms import storage

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def launch(name: str, parameters: dict[str, str], bucket: str, cwd: Path) -> dict:
    """Runs a launcher as Dataflow does, and gives the job that it left to be started."""
    template = f"{bucket}/launches/{name}/job_object"
    flags = {
        **parameters,
        "runner": "DataflowRunner",
        "project": "my-project",
        "region": "europe-west4",
        "job_name": f"my-{name}",
        "temp_location": f"{bucket}/tmp",
        "staging_location": f"{bucket}/staging",
        "template_location": template,
        "no_auth": "true",
        "option_of_a_later_launcher": "1",
    }
    done = subprocess.run(
        [
            sys.executable,
            TEMPLATES / f"{name}_main.py",
            *(f"--{name}={value}" for name, value in flags.items() if name != "no_auth"),
            "--no_auth",
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"template written to {template}; no job was started" in done.stderr
    assert "--option_of_a_later_launcher is left out" in done.stderr
    assert done.stdout == ""
    return orjson.loads(storage.read_bytes(template))


def test_the_job_of_a_launcher_that_does_not_wait_gives_the_same_bytes(prepared, bucket, tmp_path):
    there, output = prepared["traces"], f"{bucket}/flex/traces"
    parameters = {
        "recipe": there.recipe_there,
        "output": output,
        "sdk_container_image": IMAGE,
        "resume": "false",
    }
    job = launch("traces", parameters, bucket, tmp_path)
    assert not storage.exists(f"{output}/_SUCCESS")
    (pool,) = job["environment"]["workerPools"]
    assert pool["workerHarnessContainerImage"] == IMAGE
    dataflow.execute(job)
    assert cases.contents(output) == there.expected
    assert cases.finished(output)


def check_parameters(name: str, parameters: dict[str, str]) -> None:
    """As the service does, by the template's metadata."""
    metadata = orjson.loads((TEMPLATES / f"{name}.json").read_bytes())
    known = {p["name"]: p for p in metadata["parameters"]}
    required = {name for name, p in known.items() if not p.get("isOptional")}
    assert required <= parameters.keys() <= known.keys()
    for name, value in parameters.items():
        assert all(re.search(regex, value) for regex in known[name].get("regexes", ())), name


@pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed")
def test_gcloud_launches_the_template_and_its_job_gives_the_same_bytes(
    prepared, bucket, service, tmp_path, monkeypatch
):
    there, output = prepared["corpus"], f"{bucket}/flex/corpus"
    (tmp_path / "token").write_text("fake")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    monkeypatch.setenv("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_DATAFLOW", f"{service.endpoint}/")
    started = []

    def launcher(asked):
        assert asked["containerSpecGcsPath"] == f"{bucket}/templates/corpus.json"
        check_parameters("corpus", asked["parameters"])
        started.append(launch("corpus", asked["parameters"], bucket, tmp_path))

    service.launcher = launcher
    parameters = f"recipe={there.recipe_there},output={output},sdk_container_image={IMAGE}"
    command = [
        *("gcloud", "dataflow", "flex-template", "run", "my-job"),
        f"--template-file-gcs-location={bucket}/templates/corpus.json",
        *("--project=my-project", "--region=europe-west4"),
        f"--parameters={parameters},offline=true",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    dataflow.execute(started[0])
    assert cases.contents(output) == there.expected
    assert cases.finished(output)
