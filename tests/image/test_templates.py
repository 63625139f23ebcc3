"""What the console and the API are told of the parameters is what the jobs take."""

import argparse
import dataclasses
import json
import re
from typing import Any

import pytest
import yaml
from apache_beam.options.pipeline_options import PipelineOptions, WorkerOptions
from google.cloud.dataflow_v1beta3 import TemplateMetadata
from google.protobuf import json_format

from beam_pipeline import recipe_file as recipes
from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.options import CorpusOptions
from beam_pipeline.run import parse_options
from tests.image.repository import JOBS, ROOT

METADATA = {job: json.loads((ROOT / f"templates/{job}.json").read_text()) for job in JOBS}

# The one parameter that is Beam's: without it workers would not have this package.
IMAGE = "sdk_container_image"

every_job = pytest.mark.parametrize("job", JOBS)


def _parameters(job: str) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in METADATA[job]["parameters"]}


def _options() -> dict[str, argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False)
    CorpusOptions._add_argparse_args(parser)
    return {action.dest: action for action in parser._actions}


def _takes(parameter: dict[str, Any], value: str) -> bool:
    return all(re.fullmatch(pattern, value) for pattern in parameter["regexes"])


def _suits(job: str, recipe: dict[str, Any]) -> bool:
    sources = recipe.get("sources") if job == "corpus" else [recipe.get("source")]
    return all(source and "files" not in source for source in sources or [None])


@every_job
def test_metadata_is_what_the_service_reads(job: str) -> None:
    read = json_format.ParseDict(METADATA[job], TemplateMetadata.pb()())
    assert json_format.MessageToDict(read) == METADATA[job]
    assert all(each["label"] and each["helpText"] for each in METADATA[job]["parameters"])


@every_job
def test_every_parameter_is_an_option_and_back(job: str) -> None:
    assert _parameters(job).keys() - {IMAGE} == _options().keys()
    options = PipelineOptions([f"--{IMAGE}=host/image:1"]).view_as(WorkerOptions)
    assert options.sdk_container_image == "host/image:1"


@every_job
def test_what_is_required_is_what_a_launch_cannot_do_without(job: str) -> None:
    required = {name for name, each in _parameters(job).items() if not each.get("isOptional")}
    without_default = {
        field.name
        for field in dataclasses.fields(JobArguments)
        if field.default is dataclasses.MISSING
    }
    assert required == {*without_default, IMAGE}


@every_job
def test_types_choices_and_defaults_are_those_of_the_options(job: str) -> None:
    for name, option in _options().items():
        parameter = _parameters(job)[name]
        choices = [each["value"] for each in parameter.get("enumOptions", [])]
        assert choices == list(option.choices or [])
        kind = parameter["paramType"]
        assert (kind == "ENUM") == bool(choices)
        assert (kind == "BOOLEAN") == isinstance(option.default, bool)
        assert (kind == "NUMBER") == (option.type is int)
        default = None if option.default is None else str(option.default).lower()
        assert parameter.get("defaultValue") == default


@every_job
def test_defaults_and_choices_are_taken_by_the_form_and_by_the_job(job: str) -> None:
    for name, parameter in _parameters(job).items():
        choices = [each["value"] for each in parameter.get("enumOptions", [])]
        default = [parameter["defaultValue"]] if "defaultValue" in parameter else []
        switch = ["true", "false"] if parameter["paramType"] == "BOOLEAN" else []
        for value in choices + default + switch:
            assert _takes(parameter, value)
            parsed = parse_options([f"--{name}={value}"]).view_as(CorpusOptions)
            assert str(getattr(parsed, name)).lower() == value


@every_job
def test_the_form_takes_the_examples(job: str) -> None:
    parameters = _parameters(job)
    for parameter in parameters.values():
        for example in re.findall(r"Example: (\S+)", parameter["helpText"]):
            assert _takes(parameter, example), example
    flags = yaml.safe_load((ROOT / f"templates/examples/{job}.yaml").read_text())
    given = flags["--parameters"]
    assert given.keys() <= parameters.keys()
    for name, value in given.items():
        assert _takes(parameters[name], value), value


@every_job
def test_the_form_names_the_shipped_recipes_that_need_no_files_here(job: str) -> None:
    suited = {
        name
        for name, path in recipes.shipped().items()
        if _suits(job, yaml.safe_load(path.read_text()))
    }
    recipe = _parameters(job)["recipe"]
    named = re.search(r"ships with corpusbeam: ([\w, -]+)\.", recipe["helpText"])
    assert named
    assert set(re.split(r", | or ", named[1])) == suited
    assert all(_takes(recipe, name) for name in suited)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recipe", ""),
        ("recipe", "web.yaml"),
        ("recipe", "/home/me/web.yaml"),
        ("recipe", "gs://my-bucket/web.json"),
        ("recipe", "gs://my-bucket"),
        ("output", "out"),
        ("output", "gs://my-bucket"),
        ("output", "gs://My_Bucket/out"),
        ("output", "s3://my-bucket/out"),
        ("work_dir", "/tmp"),
        ("sdk_container_image", "corpusbeam"),
        ("sdk_container_image", "https://host/project/image:1"),
        ("resume", "yes"),
        ("piece_bytes", "0"),
        ("piece_bytes", "4MB"),
        ("tokenizer_backend", "fast"),
    ],
)
@every_job
def test_the_form_refuses(job: str, name: str, value: str) -> None:
    assert not _takes(_parameters(job)[name], value)


def test_the_templates_differ_in_words_only() -> None:
    def without_words(job: str) -> list[dict[str, Any]]:
        return [{**each, "helpText": ""} for each in METADATA[job]["parameters"]]

    assert without_words("corpus") == without_words("traces")


@every_job
def test_the_documentation_lists_the_parameters(job: str) -> None:
    text = (ROOT / "docs/flex-template.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", text.split("## Parameters")[1], re.M)
    assert [row[:2] for row in rows] == [
        (each["name"], each["label"]) for each in METADATA[job]["parameters"]
    ]
    for (name, _, default), each in zip(rows, METADATA[job]["parameters"], strict=True):
        assert (default == "required") == (not each.get("isOptional")), name
        if "defaultValue" in each:
            assert default == f"`{each['defaultValue']}`"
