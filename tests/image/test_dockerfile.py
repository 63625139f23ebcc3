"""The image agrees with the package, and with itself. It is not built here."""

import io
import json
import re
import sys
from importlib import metadata
from pathlib import PurePosixPath

import pytest
from dockerfile_parse import DockerfileParser
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.image.repository import JOBS, ROOT, check

DOCKERFILE = (ROOT / "Dockerfile").read_text()
PINS: dict[str, Requirement] = {
    canonicalize_name(requirement.name): requirement
    for line in re.findall(r"^\S+==\S+", (ROOT / "requirements/image.txt").read_text(), re.M)
    for requirement in [Requirement(line)]
}


@pytest.fixture(scope="module")
def dockerfile() -> DockerfileParser:
    return DockerfileParser(fileobj=io.BytesIO(DOCKERFILE.encode()))


def _instructions(dockerfile: DockerfileParser, name: str) -> list[str]:
    return [each["value"] for each in dockerfile.structure if each["instruction"] == name]


def _copies(dockerfile: DockerfileParser) -> list[tuple[list[str], str]]:
    """Files of the repository that are copied, and where to."""
    words = [value.split() for value in _instructions(dockerfile, "COPY")]
    return [(sources, target) for *sources, target in words if "--from" not in sources[0]]


@pytest.mark.skipif(sys.platform != "linux", reason="hadolint's wheel is not for every platform")
def test_hadolint_finds_nothing() -> None:
    check("hadolint", "Dockerfile")


def test_beam_is_the_version_that_the_package_wants_and_that_is_tested() -> None:
    (version,) = re.findall(r"beam_python[\d.]+_sdk:(\S+)", DOCKERFILE)
    assert version == metadata.version("apache-beam")
    assert PINS["apache-beam"].specifier == SpecifierSet(f"=={version}")


def test_python_is_one_version_which_the_package_takes() -> None:
    (beam,) = re.findall(r"beam_python([\d.]+)_sdk:", DOCKERFILE)
    (launcher,) = re.findall(r"/python(\d+)-template-launcher-base:", DOCKERFILE)
    (base,) = re.findall(r"^FROM python:(\d+\.\d+\.\d+)-", DOCKERFILE, re.M)
    (locked,) = re.findall(r"--python-version (\S+)", (ROOT / "Makefile").read_text())
    assert base.rpartition(".")[0] == beam == locked
    assert beam.replace(".", "") == launcher
    assert base in SpecifierSet(metadata.metadata("corpusbeam")["Requires-Python"])


def test_every_image_is_pinned(dockerfile: DockerfileParser) -> None:
    named = [value.split() for value in _instructions(dockerfile, "FROM")]
    stages = {words[2] for words in named if len(words) == 3}
    images = [words[0] for words in named if words[0] not in stages]
    assert len(images) == 3
    assert all(re.fullmatch(r"\S+:(?!latest)[\w.-]+", image) for image in images)


def test_the_builder_gets_what_is_copied(dockerfile: DockerfileParser) -> None:
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    sources = [source for copied, _ in _copies(dockerfile) for source in copied]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        path = PurePosixPath(source)
        assert any(
            path.match(pattern) or any(parent.match(pattern) for parent in path.parents)
            for pattern in allowed
        ), source


@pytest.mark.parametrize("job", JOBS)
def test_the_launcher_finds_the_file_that_it_runs(dockerfile: DockerfileParser, job: str) -> None:
    dockerfile.build_args = {"JOB": job}
    file = PurePosixPath(dockerfile.envs["FLEX_TEMPLATE_PYTHON_PY_FILE"])
    assert any(
        f"templates/{file.name}" in sources and PurePosixPath(target) == file.parent
        for sources, target in _copies(dockerfile)
    )
    assert f'launch("{job}")' in (ROOT / "templates" / file.name).read_text()


def test_workers_start_by_the_harness_of_beam(dockerfile: DockerfileParser) -> None:
    (entrypoint,) = _instructions(dockerfile, "ENTRYPOINT")
    assert json.loads(entrypoint) == ["/opt/apache/beam/boot"]


def test_kernels_are_for_a_cpu_that_is_stated_once(dockerfile: DockerfileParser) -> None:
    (argument,) = re.findall(r"^ARG NUMBA_CPU_NAME=(\S+)", DOCKERFILE, re.M)
    assert dockerfile.envs["NUMBA_CPU_NAME"] == argument
    instructions = [each["content"] for each in dockerfile.structure]
    assert sum(argument in text for text in instructions if not text.startswith("#")) == 1
    # Unset, it would be what the machine that builds the image happens to have.
    assert dockerfile.envs["NUMBA_CPU_FEATURES"] == ""


def test_a_worker_process_has_one_tokenizer_thread(dockerfile: DockerfileParser) -> None:
    assert dockerfile.envs["RAYON_NUM_THREADS"] == "1"


def test_pinned_requirements_are_what_the_package_wants() -> None:
    wanted = [Requirement(text) for text in metadata.requires("corpusbeam") or []]
    wanted = [each for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})]
    assert wanted
    for requirement in wanted:
        (pin,) = PINS[canonicalize_name(requirement.name)].specifier
        assert requirement.specifier.contains(pin.version), requirement


@pytest.mark.parametrize("name", ["image", "build"])
def test_every_pin_has_a_hash_and_no_index_is_named(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    entries = re.findall(r"^\S+==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", text, re.M)
    assert len(entries) == len(re.findall(r"^\w", text, re.M))
    assert "://" not in text
    assert "--index" not in text
