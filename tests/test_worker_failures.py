"""Workers that die or fail: the run ends in a line that says why, and can be gone on with."""

import re

import pytest
import yaml

from beam_pipeline.cli import main
from tests import jobs
from tests.jobs import Corpus
from tests.test_same_bytes import math_rows, recipe, web_rows

PIECES = "--piece_bytes=20000"

# Python runs a module of this name at its start. Only worker processes are given it.
SITECUSTOMIZE = """\
import os, signal, sys

if any(argument.endswith("sdk_worker_main") for argument in sys.orig_argv):
    from transforms import errors, tokenize

    tokenize_piece, done = tokenize.tokenize_piece, []

    def failing(*arguments):
        done.append(arguments)
        if len(done) > 2:
            {fault}
        return tokenize_piece(*arguments)

    tokenize.tokenize_piece = failing
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The recipe, and what a run that is not disturbed makes of it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    jobs.write_rows(folder / "in" / "web.jsonl", web_rows())
    jobs.write_rows(folder / "in" / "math.jsonl", math_rows())
    corpus = jobs.build(folder, recipe(folder / "in"), PIECES)
    path = folder / "in" / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe(folder / "in")))
    return path, corpus.hashes()


@pytest.fixture
def command(undisturbed, tmp_path):
    """Runs the job in this process, or in worker processes of which some meet a fault."""

    def run(*options, fault=None, workers=1):
        output = str(tmp_path / "corpus")
        argv = ["build", str(undisturbed[0]), "--output", output, "--quiet", PIECES, *options]
        if fault is None:
            return main(argv)
        (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE.format(fault=fault))
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("PYTHONPATH", str(tmp_path))
            processes = f"--direct_num_workers={workers}"
            return main([*argv, "--direct_running_mode=multi_processing", processes])

    return run


def test_a_run_whose_worker_was_killed_says_so_and_is_resumed(
    command, undisturbed, tmp_path, capfd
):
    assert command(fault="os.kill(os.getpid(), signal.SIGKILL)", workers=2) == 2
    err = capfd.readouterr().err
    assert re.fullmatch(r"corpusbeam: error: a worker process died .*--resume.*\n", err), err
    assert not (tmp_path / "corpus" / "_SUCCESS").exists()
    assert command("--resume") == 0
    assert Corpus(tmp_path / "corpus").hashes() == undisturbed[1]


def test_a_mistake_that_a_worker_meets_is_one_line(command, tmp_path, capfd):
    assert command(fault="raise errors.SourceError('a.jsonl changed while the job ran')") == 2
    assert capfd.readouterr().err == "corpusbeam: error: a.jsonl changed while the job ran\n"
    assert not (tmp_path / "corpus" / "_SUCCESS").exists()


def test_a_fault_of_ours_is_shown_whole_and_the_next_run_gives_the_same_bytes(
    command, undisturbed, tmp_path, capfd
):
    with pytest.raises(RuntimeError, match="ZeroDivisionError: one over nothing"):
        command(fault="raise ZeroDivisionError('one over nothing')")
    # What the workers printed too: it might tell more than the error that reaches this process.
    assert "ZeroDivisionError: one over nothing" in capfd.readouterr().err
    assert not (tmp_path / "corpus" / "_SUCCESS").exists()
    assert command() == 0
    assert Corpus(tmp_path / "corpus").hashes() == undisturbed[1]
