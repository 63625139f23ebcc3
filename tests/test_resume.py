"""A killed run goes on where it was, and gives the bytes of an undisturbed one."""

import os
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

PIECES = ("--piece_bytes=4000",)


def write_recipe(folder: Path) -> Path:
    rows = [{"id": str(k), "text": document("web", "web", k)} for k in range(300)]
    packed = jobs.write_rows(folder / "web.jsonl.gz", rows[:100])
    plain = jobs.write_rows(folder / "web.jsonl", rows[100:])
    recipe = recipe_of([source_of("web", [packed, plain], id_column="id")], tokens_per_shard=10_000)
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return path


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A recipe, and the corpus of an undisturbed run."""
    folder = tmp_path_factory.mktemp("inputs")
    recipe = write_recipe(folder)
    argv = ["build", str(recipe), "--output", str(folder / "corpus"), "--quiet", *PIECES]
    assert main(argv) == 0
    return recipe, Corpus(folder / "corpus")


def reports(work: Path) -> dict[Path, int]:
    """Finished units of work, and when they were."""
    found = {}
    for kind in ("landed", "scan", "tokens", "shards"):
        found |= {path: path.stat().st_mtime_ns for path in (work / kind).glob("[!.]*.json")}
    return found


def kill_at(recipe: Path, output: Path, stage: str, least: int) -> dict[Path, int]:
    """Starts a run and kills it once a stage has finished so many units of work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "beam_pipeline", "build", recipe, "--output", output, *PIECES],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[1],
    )
    deadline = time.monotonic() + 120
    work = output / "_work"
    while len(list((work / stage).glob("[!.]*.json"))) < least:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (output / "_SUCCESS").exists()
    return reports(work)


@pytest.mark.parametrize(
    ("stage", "least", "options"),
    [
        ("scan", 20, ("--direct_num_workers=1",)),
        ("tokens", 20, ()),
        ("shards", 3, ("--direct_running_mode=multi_processing", "--direct_num_workers=2")),
    ],
)
def test_a_killed_run_is_resumed(inputs, tmp_path, stage, least, options, monkeypatch):
    recipe, undisturbed = inputs
    output = tmp_path / "corpus"
    done = kill_at(recipe, output, stage, least)
    seen_at_the_end: dict[Path, int] = {}

    def keep_looking(folder):
        seen_at_the_end.update(reports(Path(folder)))

    if not options or "multi_processing" not in options[0]:
        monkeypatch.setattr("beam_pipeline.finish.storage.remove_tree", keep_looking)
    # The plan stays as it was, whatever the size of pieces is now.
    argv = ["build", str(recipe), "--output", str(output), "--resume", "--quiet", *options]
    assert main([*argv, "--piece_bytes=9000"]) == 0
    assert Corpus(output).hashes() == undisturbed.hashes()
    assert Corpus(output).manifest == undisturbed.manifest
    if seen_at_the_end:
        assert {path: seen_at_the_end[path] for path in done} == done
        assert len(seen_at_the_end) > len(done)
    assert not [path for split in ("train", "val") for path in (output / split).glob("*.tmp")]


def test_without_resume_a_killed_run_starts_anew(inputs, tmp_path):
    recipe, undisturbed = inputs
    output = tmp_path / "corpus"
    kill_at(recipe, output, "shards", 2)
    stray = output / "train" / "shard_00099.tokens.bin"
    stray.write_bytes(b"from an earlier try")
    assert main(["build", str(recipe), "--output", str(output), "--quiet", *PIECES]) == 0
    assert Corpus(output).hashes() == undisturbed.hashes()
    assert not stray.exists()


def resume(capsys, recipe, output):
    code = main(["build", str(recipe), "--output", str(output), "--resume", "--quiet"])
    return code, capsys.readouterr().err


def test_work_of_another_recipe_or_of_changed_inputs_is_refused_by_name(tmp_path, capsys):
    recipe = write_recipe(tmp_path)
    output = tmp_path / "corpus"
    kill_at(recipe, output, "scan", 5)
    text = recipe.read_text()
    recipe.write_text(text.replace("seq_len: 64", "seq_len: 128"))
    code, err = resume(capsys, recipe, output)
    assert code == 2
    assert "holds the work of another run: recipe.seq_len was 64 and is now 128" in err
    assert b'"seq_len": 64' in (output / "_STARTED.json").read_bytes()

    changed = yaml.safe_load(text)
    changed["sources"][0]["filter"]["min_words"] = 7
    recipe.write_text(yaml.safe_dump(changed))
    code, err = resume(capsys, recipe, output)
    assert code == 2
    assert ": recipe.sources.web.filter.min_words was " in err
    assert err.endswith(" and is now 7.0: start anew, without --resume\n")

    recipe.write_text(text)
    path = tmp_path / "web.jsonl"
    path.write_bytes(path.read_bytes().replace(b"the", b"teh"))
    code, err = resume(capsys, recipe, output)
    assert code == 2
    assert "web.jsonl was" in err


def test_there_must_be_something_to_resume(inputs, tmp_path, capsys):
    recipe, undisturbed = inputs
    code, err = resume(capsys, recipe, tmp_path / "new")
    assert code == 2
    assert "holds no work to resume" in err
    code, err = resume(capsys, recipe, undisturbed.folder)
    assert code == 2
    assert "is finished: there is nothing to resume" in err
