"""The end of the job: nothing is finished whose account does not balance."""

import pytest

from beam_pipeline.corpus import _Finish
from beam_pipeline.corpus_job import CORPUS
from beam_pipeline.run import parse_options
from beam_pipeline.run import run as run_job
from tests.transforms.steps import files_in, launched, texts_of
from transforms import budget, ledger, tokenize
from transforms.errors import InternalError
from transforms.tokenize import SPLITS, group_key


@pytest.fixture
def job(tmp_path):
    texts = texts_of(20)
    return launched(tmp_path, {"web": [*texts, texts[0]]}, piece_bytes=3000)


def finish(job, entries):
    nothing = {group_key(split, 0): (budget.Share(0, 0, 0, 0), 0) for split in range(len(SPLITS))}
    step = _Finish(job.facts, job.output, job.work)
    return list(
        step.process(
            None, shards=[], entries=entries, spent={}, shares=nothing, notes=[], rejects=[]
        )
    )


def test_a_balanced_account_ends_with_success(job):
    paths = finish(job, [ledger.entry("web", o, 3, 9) for o in (ledger.READ, ledger.TRAIN)])
    assert [path.removeprefix(f"{job.output}/") for path in paths] == [
        "report.html",
        "train/manifest.json",
        "val/manifest.json",
        "manifest.json",
    ]
    assert files_in(job.output)["_SUCCESS"] == b""
    assert not [name for name in files_in(job.output) if name.startswith("_work")]


def test_a_retried_end_changes_nothing(job):
    entries = [ledger.entry("web", o, 3, 9) for o in (ledger.READ, ledger.TRAIN)]
    finish(job, entries)
    before = files_in(job.output)
    assert finish(job, entries) == [f"{job.output}/manifest.json"]
    assert files_in(job.output) == before


@pytest.mark.parametrize("lost", [(1, 0), (0, 1)], ids=["documents", "bytes"])
def test_an_account_that_does_not_balance_ends_without(job, lost):
    before = files_in(job.output)
    entries = [
        ledger.entry("web", ledger.READ, 3, 9),
        ledger.entry("web", ledger.TRAIN, 3 - lost[0], 9 - lost[1]),
    ]
    with pytest.raises(InternalError, match=r"ledger does not balance: web: read \d"):
        finish(job, entries)
    assert files_in(job.output) == before


def _forget_one(survivors, verdicts, kept_documents=tokenize.kept_documents):
    positions, clusters = kept_documents(survivors, verdicts)
    return positions[1:], clusters[1:]


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        (tokenize, ("kept_documents", _forget_one)),
        (ledger, ("EXACT_DUPLICATE", ledger.CHAINED)),
        (budget, ("SPLITS", (ledger.TRAIN_REPEATS, ledger.VAL))),
    ],
    ids=["lost-document", "uncounted-duplicate", "uncounted-train"],
)
def test_a_job_that_loses_a_document_fails_and_leaves_no_success(job, monkeypatch, place, fault):
    monkeypatch.setattr(place, *fault)
    with pytest.raises(InternalError, match="ledger does not balance"):
        run_job(job, parse_options([]), CORPUS)
    left = files_in(job.output)
    assert "_SUCCESS" not in left
    assert not [name for name in left if name.endswith("manifest.json")]


def test_the_same_job_without_the_fault_succeeds(job):
    assert run_job(job, parse_options([]), CORPUS)
    assert "_SUCCESS" in files_in(job.output)
