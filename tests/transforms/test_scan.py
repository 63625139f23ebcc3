from dataclasses import replace

import apache_beam as beam
import numpy as np
import pytest

from tests.transforms.eager import MODES, REPLAYED, are, run
from tests.transforms.steps import amounts, files_in, launched, pieces_of, texts_of
from transforms import ledger, records, statistics, storage
from transforms.errors import InternalError
from transforms.kernels.minhash import Signer
from transforms.scan import Scan

TEXTS = [*texts_of(30), "", " \n", "short"]


@pytest.fixture
def job(tmp_path):
    """Of web, thirty good documents, two empty ones, and one that a filter drops."""
    texts = {"web": TEXTS, "more": [*texts_of(12, seed=1), None, None]}
    job = launched(tmp_path, texts, piece_bytes=3000)
    rules = tuple(replace(rules, min_words=5) for rules in job.scan.rules)
    return replace(job, scan=replace(job.scan, rules=rules))


def scan(job, pieces, *options):
    def build(pipeline):
        scanned = pipeline | beam.Create(pieces) | Scan(job.scan)
        return scanned._asdict()

    return run(build, *options)


def exact(found):
    return np.concatenate(
        [np.frombuffer(packed, records.EXACT) for _, packed in found["digests"]]
        or [np.empty(0, records.EXACT)]
    )


@MODES
def test_all_outputs_are_what_the_documentation_says(job, options):
    pieces = pieces_of(job)
    assert len(pieces) > 5
    found = scan(job, pieces, *options)
    assert are(found["digests"], int, bytes)
    assert all(0 <= partition < job.scan.partitions for partition, _ in found["digests"])
    for partition, packed in found["digests"]:
        hashes = np.frombuffer(packed, records.EXACT)["digest_hi"]
        assert set(records.partition(hashes, job.scan.partitions).tolist()) == {partition}
    assert are(found["entries"], tuple, tuple)
    assert are([key for key, _ in found["entries"]], str, str)
    account, told = statistics.apart(found["entries"])
    assert are([amount for _, amount in account], int, int)
    assert set(told["web"]) >= {"characters", "words", "letter_fraction"}
    assert are([n for of_source in told.values() for c in of_source.values() for n in c], int)
    assert are([sample for _, sample in found["rejects"]], bytes, bytes)
    assert found["notes"] == []
    assert len(exact(found)) == 42


@MODES
def test_every_row_is_counted_once(job, options):
    account = amounts(scan(job, pieces_of(job), *options)["entries"])
    more = texts_of(12, seed=1)
    assert account == {
        ("web", ledger.READ): (33, sum(map(len, TEXTS))),
        ("web", ledger.EMPTY): (2, 2),
        ("web", f"{ledger.FILTERED}:too_few_words"): (1, 5),
        ("more", ledger.READ): (14, sum(map(len, more))),
        ("more", f"{ledger.MALFORMED}:null_text"): (2, 0),
    }


def test_a_reference_leads_to_the_document_in_the_scan_file(job):
    found = scan(job, pieces_of(job))
    for record in exact(found):
        (piece,) = records.ref_pieces(record["ref"].reshape(1)).tolist()
        (position,) = records.ref_positions(record["ref"].reshape(1)).tolist()
        document = storage.load_array(job.work.scan(piece))[position]
        for field in ("digest_hi", "digest_lo", "keep_hi", "keep_lo", "size", "source"):
            assert document[field] == record[field]


def test_pieces_do_not_show_in_the_keys(tmp_path):
    whole = launched(tmp_path / "whole", {"web": TEXTS})
    parts = launched(tmp_path / "parts", {"web": TEXTS}, piece_bytes=1000)
    assert (len(pieces_of(whole)), len(pieces_of(parts)) > 9) == (1, True)
    fields = ["digest_hi", "digest_lo", "priority", "keep_hi", "keep_lo", "tie", "size", "source"]
    of_whole, of_parts = (
        sorted(exact(scan(job, pieces_of(job)))[fields].tolist()) for job in (whole, parts)
    )
    assert of_parts == of_whole


def test_a_replayed_scan_leaves_the_same_files(job):
    scan(job, pieces_of(job))
    first = files_in(job.work.root)
    scan(job, pieces_of(job), REPLAYED)
    assert files_in(job.work.root) == first
    assert not [name for name in first if name.endswith(".tmp")]


def test_nothing_to_scan_gives_nothing(job):
    assert scan(job, []) == {"digests": [], "entries": [], "rejects": [], "notes": []}


def test_a_worker_with_another_unicode_version_fails(job):
    other = replace(job, scan=replace(job.scan, unicode_version="1.1.0"))
    with pytest.raises(InternalError, match=r"worker's Python has Unicode .* launcher's 1\.1\.0"):
        scan(other, pieces_of(job))


def test_a_signature_is_as_long_as_the_recipe_says(job):
    longer = replace(job, scan=replace(job.scan, signer=Signer(permutations=32)))
    piece = pieces_of(job)[0]
    scan(longer, [piece])
    assert storage.load_array(job.work.scan(piece.number)).dtype == records.scanned(32)
