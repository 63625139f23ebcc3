"""Promise 1: a corpus is a pure function of documents, recipe and tokenizer."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests import jobs
from tests.jobs import DEMO, PROCESSES, build, recipe_of, source_of
from transforms.readers.synthetic import document

REPO = Path(__file__).resolve().parents[1]


def web_rows():
    rows = [
        {"id": f"w{k}", "text": document("web", "web", k).replace("the", f"the{k % 7}")}
        for k in range(400)
    ]
    # A copy of a text under another id, and a text that differs by case and spaces only.
    rows.append({"id": "copy", "text": rows[3]["text"]})
    rows.append({"id": "shout", "text": "  " + rows[5]["text"].upper()})
    return rows


def math_rows():
    return [{"id": f"m{k}", "text": document("math", "math", k)} for k in range(200)]


def recipe(folder: Path, **changes):
    return recipe_of(
        [
            source_of("web", f"{folder}/web*", 0.75, id_column="id"),
            source_of("math", f"{folder}/math*", 0.25, id_column="id"),
        ],
        train_tokens=200_000,
        tokens_per_shard=60_000,
        holdout={"per_mille": 100, "max_tokens": 15_000},
        **changes,
    )


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The corpus of one file a source, in one thread, in one piece."""
    folder = tmp_path_factory.mktemp("reference")
    jobs.write_rows(folder / "in" / "web.jsonl", web_rows())
    jobs.write_rows(folder / "in" / "math.jsonl", math_rows())
    corpus = build(folder, recipe(folder / "in"), "--direct_num_workers=1")
    assert corpus.manifest["splits"]["train"]["n_shards"] == 4
    assert corpus.manifest["splits"]["val"]["n_shards"] == 1
    for outcome in ("exact_duplicate", "near_duplicate", "over_budget", "held_out_over_cap"):
        assert corpus.ledger()[outcome] > 0, outcome
    return corpus


def same_inputs(folder: Path) -> Path:
    jobs.write_rows(folder / "in" / "web.jsonl", web_rows())
    jobs.write_rows(folder / "in" / "math.jsonl", math_rows())
    return folder / "in"


def forty_files(folder: Path) -> Path:
    """Rows shuffled and dealt out, some files gzipped, file names in another order."""
    generator = random.Random(5)
    for name, rows in (("web", web_rows()), ("math", math_rows())):
        generator.shuffle(rows)
        for k in range(40):
            suffix = ".jsonl.gz" if k % 3 == 0 else ".jsonl"
            path = folder / "in" / f"{name}-{generator.randrange(10**6)}-{k}{suffix}"
            jobs.write_rows(path, rows[k::40])
    return folder / "in"


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        (forty_files, ()),
        (forty_files, ("--direct_num_workers=1",)),
        (same_inputs, ("--piece_bytes=3000",)),
        (same_inputs, ("--direct_runner_bundle_repeat=2",)),
        (forty_files, ("--direct_runner_bundle_repeat=2", "--piece_bytes=10000")),
        (same_inputs, ("--direct_running_mode=multi_threading", "--direct_num_workers=2")),
        (forty_files, PROCESSES),
    ],
    ids=["files", "files-1-worker", "pieces", "replayed", "files-replayed", "threads", "processes"],
)
def test_the_same_bytes(reference, tmp_path, inputs, options):
    corpus = build(tmp_path, recipe(inputs(tmp_path)), *options)
    assert corpus.hashes() == reference.hashes()
    assert corpus.manifest["ledger"] == reference.manifest["ledger"]
    assert corpus.documents("train") == reference.documents("train")


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_same_bytes_under_any_hash_seed(reference, tmp_path, hash_seed):
    program = (
        "import sys, yaml; from pathlib import Path; from tests.test_same_bytes import *;"
        "folder = Path(sys.argv[1]); build(folder, recipe(same_inputs(folder)))"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        check=True,
        cwd=REPO,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    assert jobs.Corpus(tmp_path / "corpus").hashes() == reference.hashes()


def test_another_seed_gives_other_bytes(reference, tmp_path):
    corpus = build(tmp_path, recipe(same_inputs(tmp_path), seed=2))
    assert corpus.hashes() != reference.hashes()


@pytest.mark.parametrize("keep", ["cluster", "greedy"])
def test_both_policies_and_repeats_do_not_depend_on_files(tmp_path, keep):
    changes = {
        "dedup": {"keep": keep},
        "when_short": "repeat",
        "train_tokens": 900_000,
    }
    hashes = []
    for name, inputs in (("one", same_inputs), ("forty", forty_files)):
        source = recipe(inputs(tmp_path / name))
        corpus = build(tmp_path / name, {**source, **changes})
        assert corpus.ledger()["train_repeats"] > 0
        hashes.append(corpus.hashes())
    assert hashes[0] == hashes[1]


def test_fastokens_and_tokenizers_give_the_same_bytes(tmp_path):
    sources = [
        source_of("web", DEMO / "web.jsonl.gz", 0.8, domain="web", filter={}),
        source_of("math", DEMO / "math.jsonl.gz", 0.2, domain="math", filter={}),
    ]
    tokenizer = {"file": str(DEMO / "tokenizer.json"), "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
    hashes = [
        build(
            tmp_path / backend,
            recipe_of(sources, tokenizer=tokenizer, train_tokens=300_000),
            f"--tokenizer_backend={backend}",
        ).hashes()
        for backend in ("fastokens", "tokenizers")
    ]
    assert hashes[0] == hashes[1]
