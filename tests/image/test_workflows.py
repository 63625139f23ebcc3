"""GitHub's workflows: their schema, their security, and what the form's values become."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from beam_pipeline.run import parse_options
from tests.image.repository import ROOT, check

WORKFLOWS = sorted(str(path) for path in (ROOT / ".github/workflows").glob("*.yml"))


def test_workflows_follow_githubs_schema() -> None:
    check("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)


def test_workflows_are_safe() -> None:
    check("zizmor", "--offline", "--persona=pedantic", "--no-progress", *WORKFLOWS)


@pytest.mark.skipif(not shutil.which("jq"), reason="the workflow's script needs jq")
def test_the_forms_values_become_launch_flags(tmp_path: Path) -> None:
    workflow: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/dataflow.yml").read_text())
    inputs = workflow[True]["workflow_dispatch"]["inputs"]  # YAML 1.1 reads `on` as true
    (step,) = [each for each in workflow["jobs"]["launch"]["steps"] if "jq" in each.get("run", "")]
    given = {
        "recipe": "gs://my-bucket/a, b=$(id) \"'.yaml",
        "output": "gs://my-bucket/out",
        "work_dir": "",
        "resume": "true",
        "offline": "false",
        "machine_type": "n2-standard-8",
        "max_workers": "20",
    }
    assert {*given, "job"} == inputs.keys()
    form = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
        if "inputs." in value
    }
    variables = {"REGION": "r", "BUCKET": "my-bucket", "WORKER_SERVICE_ACCOUNT": "w@p"}
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **variables, **form},
        check=True,
    )
    flags = json.loads((tmp_path / "flags.json").read_text())
    parameters = flags.pop("--parameters")
    assert parameters == {name: given[name] for name in ("recipe", "output", "resume", "offline")}
    assert flags == {
        "--region": "r",
        "--staging-location": "gs://my-bucket/staging",
        "--temp-location": "gs://my-bucket/temp",
        "--service-account-email": "w@p",
        "--worker-machine-type": "n2-standard-8",
        "--max-workers": 20,
    }
    parse_options([f"--{name}={value}" for name, value in parameters.items()])
