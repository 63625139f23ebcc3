import apache_beam as beam
import numpy as np
import pytest

from tests.transforms.eager import MODES, are, run
from tests.transforms.steps import (
    all_survive,
    amounts,
    cut,
    launched,
    pairs,
    preference,
    records_by_key,
    references,
    scan_all,
    texts_of,
)
from transforms import ledger, records
from transforms.clusters import Cluster, JoinForests
from transforms.kernels.union_find import Forest, forest


@pytest.fixture
def scanned(tmp_path):
    """A job of unlike documents in several pieces, and their references in order of preference."""
    texts = {"web": texts_of(30), "books": texts_of(6, seed=1)}
    job = launched(tmp_path, texts, piece_bytes=2000)
    scans = scan_all(job)
    assert len(scans) > 5
    rows = [row for scan in scans.values() for row in scan.documents]
    by_digest = {int(row["digest_hi"]): row for row in rows}
    refs = sorted(
        references(scans).items(),
        key=lambda item: preference(by_digest[item[1]]),
    )
    return job, scans, [ref for ref, _ in refs], [by_digest[digest] for _, digest in refs]


def cluster(job, survivors, edges, keep, *options):
    def build(pipeline):
        inputs = {
            "survivors": pipeline | "S" >> beam.Create(survivors) | beam.GroupByKey(),
            "edges": pipeline | "E" >> beam.Create(edges),
        }
        return (inputs | Cluster(job.near, keep, job.source_names))._asdict()

    return run(build, *options)


def verdict_of(ref, kept, size, best, agreement):
    return ref >> 24, (ref & (1 << 24) - 1, kept, True, size, best, agreement)


@MODES
@pytest.mark.parametrize(("keep", "kept"), [("cluster", "100"), ("greedy", "101")])
def test_a_chain_of_three(scanned, keep, kept, options):
    """The best is linked to the second, the second to the third."""
    job, scans, refs, rows = scanned
    edges = [pairs(refs[:3]).tobytes()]
    found = cluster(job, all_survive(scans), edges, keep, *options)
    assert are(found["verdicts"], int, bytes)
    agreements = [int((row["signature"] == rows[0]["signature"]).sum()) for row in rows[:3]]
    assert agreements[0] == job.near.permutations > max(agreements[1:])
    expected = [
        verdict_of(ref, keeps == "1", 3, refs[0], agreement)
        for ref, keeps, agreement in zip(refs[:3], kept, agreements, strict=True)
    ]
    assert records_by_key(found["verdicts"], records.VERDICT) == dict.fromkeys(expected, 1)
    lost = [int(row["size"]) for row, keeps in zip(rows, kept, strict=False) if keeps == "0"]
    # All three are web documents that share no text: what is lost is lost through the edges alone.
    account = {("web", ledger.NEAR_DUPLICATE): (len(lost), sum(lost))}
    if keep == "cluster":
        account["web", ledger.CHAINED] = account["web", ledger.NEAR_DUPLICATE]
    assert amounts(found["entries"]) == account


def test_edges_may_come_in_any_pieces_and_more_than_once(scanned):
    job, scans, refs, _ = scanned
    edges = np.concatenate([pairs(refs[:9]), pairs(refs[9:11]), pairs(refs[20:36])]).tobytes()
    survivors = all_survive(scans)
    halves = [
        (number, part)
        for number, packed in survivors
        for part in cut(packed, records.SURVIVOR, 2)
        if part
    ]
    one = cluster(job, survivors, [edges], "cluster")
    several = cluster(job, halves, [*cut(edges, records.EDGE, 6), edges], "cluster")
    verdicts = records_by_key(one["verdicts"], records.VERDICT)
    assert records_by_key(several["verdicts"], records.VERDICT) == verdicts
    assert amounts(several["entries"]) == amounts(one["entries"])
    assert len(verdicts) == 9 + 2 + 16
    assert sum(kept for _, (_, kept, *_) in verdicts) == 3


def test_the_account_is_by_the_source_of_the_document_that_is_lost(scanned):
    job, scans, refs, rows = scanned
    edges = [pairs([refs[0], refs[-1]]).tobytes()]
    found = cluster(job, all_survive(scans), edges, "greedy")
    assert amounts(found["entries"]) == {
        ("books", ledger.NEAR_DUPLICATE): (1, int(rows[-1]["size"]))
    }


@MODES
def test_without_edges_there_is_nothing_to_judge(scanned, options):
    job, scans, _, _ = scanned
    nothing = {"verdicts": [], "entries": []}
    assert cluster(job, all_survive(scans), [], "cluster", *options) == nothing


def joined(elements, combine, *options):
    def build(pipeline):
        return {"forest": pipeline | beam.Create(elements) | combine}

    (packed,) = run(build, *options)["forest"]
    return packed


@MODES
@pytest.mark.parametrize("parts", [1, 7])
def test_joining_forests_globally(parts, options):
    generator = np.random.default_rng(0)
    edges = generator.integers(0, 1 << 64, (50, 2), np.uint64)
    edges = np.concatenate([edges, edges[:-1:3, ::-1], np.stack([edges[:9, 0], edges[1:10, 1]], 1)])
    elements = cut(edges.tobytes(), records.EDGE, parts)
    packed = joined(elements, beam.CombineGlobally(JoinForests()), *options)
    assert type(packed) is bytes
    assert packed == forest(edges).to_bytes()


def test_joining_forests_with_a_fanout_is_the_same():
    edges = np.random.default_rng(1).integers(0, 200, (300, 2)).astype(np.uint64)
    elements = cut(edges.tobytes(), records.EDGE, 40)
    combine = beam.CombineGlobally(JoinForests()).with_fanout(3)
    assert joined(elements, combine) == forest(edges).to_bytes()


def test_joining_nothing_gives_an_empty_forest():
    packed = joined([], beam.CombineGlobally(JoinForests()))
    assert len(Forest.from_bytes(packed).nodes) == 0
