"""Laid out traces are a pure function of rows, recipe and tokenizer."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests import jobs
from tests.jobs import DEMO, PROCESSES
from tests.traces_jobs import Traces, build, build_rows, recipe_of, trace_rows

REPO = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """One file, one thread, one piece."""
    folder = tmp_path_factory.mktemp("reference")
    traces = build_rows(folder, trace_rows(), "--direct_num_workers=1", limit=100)
    assert set(traces.manifest["layouts"]) == {
        f"{split}/{layout}"
        for split in ("train", "validation")
        for layout in ("flat", "slotted", "adaptive")
    }
    assert traces.manifest["layouts"]["train/flat"]["n_shards"] > 2
    assert traces.ledger()["over_limit"] == 22
    return traces


def same_file(folder):
    return jobs.write_rows(folder / "in" / "rows.jsonl", trace_rows())


def shuffled_file(folder):
    rows = trace_rows()
    random.Random(1).shuffle(rows)
    return jobs.write_rows(folder / "in" / "other.jsonl", rows)


def many_files(folder):
    """Rows shuffled and dealt out, some files gzipped."""
    rows = trace_rows()
    random.Random(5).shuffle(rows)
    for k in range(15):
        suffix = ".jsonl.gz" if k % 3 == 0 else ".jsonl"
        jobs.write_rows(folder / "in" / f"{(k * 7) % 15}-{k}{suffix}", rows[k::15])
    return folder / "in" / "*"


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        (shuffled_file, ()),
        (many_files, ("--direct_num_workers=1",)),
        (same_file, ("--piece_bytes=1000", "--direct_num_workers=2")),
        (many_files, ("--direct_runner_bundle_repeat=2", "--piece_bytes=2000")),
        (many_files, PROCESSES),
    ],
    ids=["order", "files", "pieces", "replayed", "processes"],
)
def test_the_same_bytes(reference, tmp_path, inputs, options):
    traces = build(tmp_path, recipe_of(inputs(tmp_path), limit=100), *options)
    assert traces.hashes() == reference.hashes()
    assert traces.manifest["ledger"] == reference.manifest["ledger"]
    assert traces.manifest["layouts"] == reference.manifest["layouts"]


def test_the_same_bytes_under_any_hash_seed(reference, tmp_path):
    program = (
        "import sys; from pathlib import Path; from tests.test_traces_same_bytes import *;"
        "folder = Path(sys.argv[1]); build(folder, recipe_of(same_file(folder), limit=100))"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        check=True,
        cwd=REPO,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )
    assert Traces(tmp_path / "traces").hashes() == reference.hashes()


def test_another_seed_gives_other_bytes(reference, tmp_path):
    other = build(tmp_path, recipe_of(same_file(tmp_path), limit=100, seed=2))
    assert other.hashes() != reference.hashes()


def test_fastokens_and_tokenizers_give_the_same_bytes(tmp_path):
    tokenizer = {"file": str(DEMO / "tokenizer.json"), "add_missing": True}
    fast, reference = (
        build_rows(
            tmp_path / backend, trace_rows(), f"--tokenizer_backend={backend}", tokenizer=tokenizer
        )
        for backend in ("fastokens", "tokenizers")
    )
    assert fast.hashes() == reference.hashes()
