from dataclasses import replace

import apache_beam as beam
import numpy as np
import pytest

from tests.transforms.eager import MODES, REPLAYED, are, run
from tests.transforms.steps import (
    all_survive,
    amounts,
    files_in,
    launched,
    pieces_of,
    records_by_key,
    scan_all,
    texts_of,
)
from transforms import keys, ledger, records
from transforms.errors import SourceError
from transforms.names import load_names
from transforms.tokenize import TRAIN, VAL, Tokenize, group_key, split_and_source

TEXTS = {"web": texts_of(30), "aside": texts_of(5, seed=1)}


@pytest.fixture
def scanned(tmp_path):
    """A job with a tenth held out and a source of weight 0, scanned."""
    weights = {"web": 1.0, "aside": 0.0}
    job = launched(tmp_path, TEXTS, 3000, weights, holdout={"per_mille": 300})
    scans = scan_all(job)
    assert len(scans) > 4
    return job, scans


def tokenize(job, survivors, verdicts=(), *options):
    def build(pipeline):
        pieces = [(piece.number, piece) for piece in pieces_of(job)]
        inputs = {
            "pieces": pipeline | "P" >> beam.Create(pieces),
            "survivors": pipeline | "S" >> beam.Create(survivors),
            "verdicts": pipeline | "V" >> beam.Create(list(verdicts)),
        }
        return (inputs | Tokenize(job.tokenize))._asdict()

    return run(build, *options)


def tokenized(job, found):
    """The text and the id of each document, by its group."""
    documents = []
    for key, packed in found["documents"]:
        for row in np.frombuffer(packed, records.DOCUMENT):
            piece = int(row["piece"])
            ids = np.fromfile(job.work.tokens(piece), job.tokenize.tokenizer.dtype)
            (name,) = load_names(job.work.names(piece), row["place"][None])
            start = int(row["offset"])
            text = ids[start : start + int(row["ids"])].astype(np.uint8).tobytes().decode()
            documents.append((key, text, name))
    return documents


@MODES
def test_every_document_can_be_found_in_its_work_file(scanned, options):
    job, scans = scanned
    found = tokenize(job, all_survive(scans), (), *options)
    assert are(found["documents"], int, bytes)
    documents = tokenized(job, found)
    assert sorted((text, name) for _, text, name in documents) == sorted(
        (text, f"web{k}") for k, text in enumerate(TEXTS["web"])
    )
    assert {key for key, _, _ in documents} == {group_key(TRAIN, 0), group_key(VAL, 0)}


def test_a_source_of_weight_0_is_not_read_again(scanned):
    job, scans = scanned
    found = tokenize(job, all_survive(scans))
    size = sum(len(text) for text in TEXTS["aside"])
    assert amounts(found["entries"]) == {("aside", ledger.OVER_BUDGET): (5, size)}
    aside = [piece.number for piece in pieces_of(job) if piece.source == 1]
    names = files_in(job.work.root)
    assert aside
    assert not any(f"tokens/{number:012x}.bin" in names for number in aside)


@MODES
def test_who_lost_to_a_near_duplicate_is_left_out_and_clusters_are_noted(scanned, options):
    job, scans = scanned
    piece = pieces_of(job)[0].number
    verdicts = np.array(
        [(0, False, False, 7, 2, 110), (2, True, False, 9, 2, 128)], records.VERDICT
    )
    found = tokenize(job, all_survive(scans), [(piece, verdicts.tobytes())], *options)
    assert TEXTS["web"][0] not in {text for _, text, _ in tokenized(job, found)}
    rows = records_by_key(found["documents"], records.DOCUMENT)
    cluster_sizes = sorted(row[-1] for _, row in rows)
    assert cluster_sizes == [1] * 28 + [9]


def test_survivors_may_come_in_several_elements(scanned):
    job, scans = scanned
    survivors = all_survive(scans)
    halves = [
        (number, packed[a:b])
        for number, packed in survivors
        for cut in [8 * (len(packed) // 16)]
        for a, b in ((cut, len(packed)), (0, cut))
    ]
    one, several = tokenize(job, survivors), tokenize(job, halves)
    assert records_by_key(several["documents"], records.DOCUMENT) == (
        records_by_key(one["documents"], records.DOCUMENT)
    )


def test_tokenizing_again_leaves_the_same_files(scanned):
    job, scans = scanned
    tokenize(job, all_survive(scans))
    first = files_in(job.work.root)
    tokenize(job, all_survive(scans), (), REPLAYED)
    assert files_in(job.work.root) == first
    assert not [name for name in first if name.endswith(".tmp")]


def test_documents_of_a_split_lie_in_shuffle_order(tmp_path):
    """So that a shard, a range of that order, is one range of each file."""
    job = launched(tmp_path, TEXTS, holdout={"per_mille": 300})
    output = tokenize(job, all_survive(scan_all(job)))
    by_group = {key: np.frombuffer(p, records.DOCUMENT) for key, p in output["documents"]}
    assert len(by_group) == len(output["documents"]) == 4
    for key, found in by_group.items():
        digests = np.stack([found["text_hi"], found["text_lo"]], axis=1)
        name = job.source_names[split_and_source(key)[1]]
        order = keys.order_keys("shuffle", job.tokenize.seed, name, digests)
        assert (np.diff(found["offset"].astype(np.int64)) > 0).all()
        assert sorted(order.tolist()) == order.tolist()
    assert max(map(len, by_group.values())) > 10


def test_input_that_changed_since_the_scan_is_an_error(scanned, tmp_path):
    job, scans = scanned
    path = tmp_path / "web.jsonl"
    path.write_bytes(path.read_bytes().replace(b"e", b"a"))
    with pytest.raises(SourceError, match=r"web\.jsonl changed while the job ran"):
        tokenize(job, all_survive(scans))


def test_nothing_that_survived_gives_nothing(scanned):
    job, _ = scanned
    assert tokenize(job, []) == {"documents": [], "entries": []}


def test_the_seed_moves_documents_but_not_between_the_splits(scanned):
    job, scans = scanned
    other = replace(job, tokenize=replace(job.tokenize, seed=99))
    splits = [
        sorted((key, text) for key, text, _ in tokenized(j, tokenize(j, all_survive(scans))))
        for j in (job, other)
    ]
    assert splits[0] == splits[1]
