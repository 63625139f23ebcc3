"""tools/flex_template.py, with the real gcloud where it exists; the API is a stand-in."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.cloud.dataflow_v1beta3 import types
from google.protobuf import json_format

from tests.image.repository import JOBS, ROOT

IMAGE = "europe-west4-docker.pkg.dev/my-project/corpusbeam/corpusbeam-corpus:1.0"
TEMPLATE = "gs://my-bucket/templates/corpus.json"

GCLOUD = shutil.which("gcloud")
needs_gcloud = pytest.mark.skipif(not GCLOUD, reason="gcloud is not installed")


def _run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "tools/flex_template.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def api() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of an API that starts no job, and what it is asked for."""
    asked: list[dict[str, Any]] = []

    class Api(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"job": {"id": "1"}}')

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("localhost", 0), Api) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://localhost:{server.server_port}/", asked
        server.shutdown()


@needs_gcloud
@pytest.mark.parametrize("job", JOBS)
def test_a_template_file_names_its_image_twice(tmp_path: Path, job: str) -> None:
    arguments = ["build", job, "--image", IMAGE, "--template", TEMPLATE, "--project=my-project"]
    done = _run(*arguments, "--print-only", CLOUDSDK_CONFIG=str(tmp_path))
    assert done.returncode == 0, done.stderr
    printed = json.loads(yaml.safe_load(done.stdout))
    spec = json_format.ParseDict(printed, types.ContainerSpec.pb()())
    assert spec.image == IMAGE
    assert spec.default_environment.machine_type == "n2-standard-4"
    given = json.loads((ROOT / f"templates/{job}.json").read_text())
    for parameter in given["parameters"]:
        if parameter["name"] == "sdk_container_image":
            parameter["defaultValue"] = IMAGE
    assert printed["metadata"] == given


@needs_gcloud
@pytest.mark.parametrize("job", JOBS)
def test_a_launch_adds_the_templates_image(
    tmp_path: Path, api: tuple[str, list[dict[str, Any]]], job: str
) -> None:
    address, asked = api
    # Cloud Storage alone is a stub: it holds the template file.
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(
        f'#!/bin/sh\nif [ "$1" = storage ]; then echo \'{{"image": "{IMAGE}"}}\'; '
        f'else exec {GCLOUD} "$@"; fi\n'
    )
    gcloud.chmod(0o755)
    (tmp_path / "token").write_text("none")
    example = f"templates/examples/{job}.yaml"
    done = _run(
        *("launch", TEMPLATE, "--job", "web-1", "--flags-file", example, "--project=my-project"),
        PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        CLOUDSDK_CONFIG=str(tmp_path),
        CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=str(tmp_path / "token"),
        CLOUDSDK_API_ENDPOINT_OVERRIDES_DATAFLOW=address,
    )
    assert done.returncode == 0, done.stderr
    flags = yaml.safe_load((ROOT / example).read_text())
    launch = asked[0]["launchParameter"]
    assert launch["jobName"] == "web-1"
    assert launch["containerSpecGcsPath"] == TEMPLATE
    assert launch["parameters"] == {**flags["--parameters"], "sdk_container_image": IMAGE}
    assert launch["environment"]["machineType"] == flags["--worker-machine-type"]


BUILD = ["build", "corpus", "--image", IMAGE, "--template", TEMPLATE]
LAUNCH = ["launch", TEMPLATE, "--job", "web-1", "--flags-file", "templates/examples/corpus.yaml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*BUILD[:3], "not an image", *BUILD[4:]], "--image=not an image"),
        ([*BUILD[:-1], "corpus.json"], "gs://BUCKET/FILE.json"),
        (BUILD[:2], "--image, --template"),
        ([*LAUNCH[:-1], "none.yaml"], "--flags-file=none.yaml: there is no such file"),
        (LAUNCH[:2], "--job, --flags-file"),
        (BUILD, "gcloud is not on the PATH"),
    ],
)
def test_a_mistake_is_told_in_a_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = _run(*arguments, PATH=str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("content", ["no JSON", "[]", "{}"])
def test_what_is_no_template_is_not_launched(tmp_path: Path, content: str) -> None:
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(f"#!/bin/sh\necho '{content}'\n")
    gcloud.chmod(0o755)
    done = _run(*LAUNCH, PATH=str(tmp_path))
    assert done.returncode == 2
    assert "is not a template file: build it first" in done.stderr


@pytest.mark.parametrize("arguments", [BUILD, LAUNCH])
def test_a_failure_of_gcloud_is_not_hidden(tmp_path: Path, arguments: list[str]) -> None:
    gcloud = tmp_path / "gcloud"
    gcloud.write_text("#!/bin/sh\necho no such bucket >&2\nexit 7\n")
    gcloud.chmod(0o755)
    done = _run(*arguments, PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (7, "no such bucket\n")
