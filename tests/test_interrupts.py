"""A run that a person stops ends cleanly, says how to go on, and can be gone on with."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from beam_pipeline.cli import main
from tests import jobs
from tests.jobs import Corpus, recipe_of, source_of
from transforms.readers.synthetic import document

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A recipe, and the corpus of an undisturbed run."""
    folder = tmp_path_factory.mktemp("inputs")
    rows = [{"id": str(k), "text": document("web", "web", k)} for k in range(150)]
    web = jobs.write_rows(folder / "web.jsonl", rows)
    recipe = folder / "a recipe.yaml"
    recipe.write_text(yaml.safe_dump(recipe_of([source_of("web", web)], tokens_per_shard=10_000)))
    argv = ["build", str(recipe), "--output", str(folder / "corpus"), "--quiet"]
    assert main([*argv, "--piece_bytes=8000"]) == 0
    return recipe, Corpus(folder / "corpus")


def start(recipe: Path, output: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "beam_pipeline", "build", str(recipe), "--output", str(output)]
    return subprocess.Popen(
        [*command, "--piece_bytes=8000", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def await_work(process: subprocess.Popen, folder: Path, least: int = 1) -> None:
    """Waits until a stage has finished so many units of work."""
    deadline = time.monotonic() + 120
    while len(list(folder.glob("[!.]*.json"))) < least:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def await_handlers(process: subprocess.Popen) -> None:
    """Waits until the process handles SIGTERM, which Python does not by itself."""
    status = Path(f"/proc/{process.pid}/status")
    deadline = time.monotonic() + 60
    handled = 0
    while not handled >> (signal.SIGTERM - 1) & 1:
        assert time.monotonic() < deadline
        time.sleep(0.002)
        handled = int(re.findall(r"SigCgt:\s*(\w+)", status.read_text())[0], 16)


@pytest.mark.parametrize(
    ("number", "code", "stage", "options"),
    [
        (signal.SIGINT, 130, "scan", ("--quiet",)),
        (signal.SIGTERM, 143, "tokens", ()),
    ],
)
def test_a_stopped_run_says_how_to_go_on(inputs, tmp_path, number, code, stage, options):
    recipe, undisturbed = inputs
    output = tmp_path / "corpus"
    process = start(recipe, output, *options)
    await_work(process, output / "_work" / stage)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    if "--quiet" in options:
        assert err == last + "\n"
    assert not (output / "_SUCCESS").exists()
    assert not (output / "manifest.json").exists()
    done = {path.stem for path in (output / "_work" / "shards").glob("[!.]*.json")}
    named = [path for path in output.rglob("shard_*.tokens.bin") if not path.name.startswith(".")]
    assert len(named) == len(done)

    found = re.fullmatch(r"corpusbeam: stopped; go on with: (.* --resume)", last)
    assert found is not None
    python, *module, command, typed_recipe = shlex.split(found[1])[:5]
    assert (module, command, typed_recipe) == (["-m", "beam_pipeline"], "build", str(recipe))
    assert shutil.which(python)
    assert main(shlex.split(found[1])[3:]) == 0
    assert Corpus(output).hashes() == undisturbed.hashes()


def test_a_command_that_is_stopped_while_it_starts_leaves_nothing(inputs, tmp_path):
    process = start(inputs[0], tmp_path / "corpus")
    await_handlers(process)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err == "corpusbeam: stopped; to start over, give the same command again\n"
    assert not (tmp_path / "corpus").exists()


def test_a_second_interrupt_leaves_at_once(tmp_path):
    program = """
import os, signal, threading, time
from beam_pipeline import interrupts
interrupts.install(["corpusbeam", "build", "x"])
interrupts.advise_resume()
asked = threading.Event()
with interrupts.stopping(asked.set):
    os.kill(os.getpid(), signal.SIGINT)
    assert asked.wait(10)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert ran.returncode == 130
    assert ran.stderr == "corpusbeam: stopped; go on with: corpusbeam build x --resume\n"
