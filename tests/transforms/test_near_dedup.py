from dataclasses import replace

import apache_beam as beam
import numpy as np
import pytest

from tests.transforms.eager import MODES, are, run
from tests.transforms.steps import (
    ONE_PIECE,
    all_survive,
    digest_of,
    launched,
    nearly,
    preference,
    references,
    scan_all,
    texts_of,
)
from transforms import near_dedup, records
from transforms.near_dedup import FindEdges

PLAIN = texts_of(20, words=200)
TEXTS = {"web": [*PLAIN, *map(nearly, PLAIN[:5])], "books": [nearly(PLAIN[6])]}
ALIKE = [*((PLAIN[k], nearly(PLAIN[k])) for k in range(5)), (PLAIN[6], nearly(PLAIN[6]))]


def find_edges(job, survivors, *options):
    def build(pipeline):
        grouped = pipeline | beam.Create(survivors) | beam.GroupByKey()
        return {"edges": grouped | FindEdges(job.near)}

    return run(build, *options)["edges"]


def edges_between_digests(job, *options):
    """(preferred, other) digests of every edge."""
    scans = scan_all(job)
    digests = references(scans)
    elements = find_edges(job, all_survive(scans), *options)
    assert are(elements, bytes)
    assert all(elements)
    found = [np.frombuffer(packed, records.EDGE).tolist() for packed in elements]
    return {(digests[a], digests[b]) for edges in found for a, b in edges}


def preferred_first(job):
    """The edges that there should be."""
    rows = [row for scan in scan_all(job).values() for row in scan.documents]
    place = {int(row["digest_hi"]): preference(row) for row in rows}
    return {tuple(sorted((digest_of(a), digest_of(b)), key=place.__getitem__)) for a, b in ALIKE}


@MODES
@pytest.mark.parametrize("piece_bytes", [ONE_PIECE, 2000])
def test_planted_pairs_and_no_others_are_found(tmp_path, piece_bytes, options):
    job = launched(tmp_path, TEXTS, piece_bytes)
    assert edges_between_digests(job, *options) == preferred_first(job)


def test_documents_of_other_sources_are_left_alone_within_a_source(tmp_path):
    job = launched(tmp_path, TEXTS, dedup={"scope": "source"})
    assert len(edges_between_digests(job)) == 5


def test_copies_that_meet_in_every_band_are_compared_once(tmp_path, monkeypatch):
    """Documents have a seat in each different bucket, not in each band."""
    job = launched(tmp_path, {"web": PLAIN[:8]})
    scans = scan_all(job)
    (number,) = scans
    same = scans[number].documents.copy()
    same["signature"] = same["signature"][0]
    near_dedup.storage.save_array(job.work.scan(number), same)
    compared = []
    original = near_dedup.edges_of

    def counted(candidates, min_agree):
        compared.append(len(candidates.seats))
        return original(candidates, min_agree)

    monkeypatch.setattr(near_dedup, "edges_of", counted)
    edges = find_edges(job, all_survive(scans))
    assert sum(compared) == 8
    assert sum(len(packed) for packed in edges) == 7 * records.EDGE.itemsize


def test_near_copies_send_their_signature_once_for_most_of_their_buckets(tmp_path, monkeypatch):
    """No two buckets of documents that differ in a word each have quite the same members."""
    words = PLAIN[0].split()
    texts = [" ".join([*words[:k], f"word{k}", *words[k + 1 :]]) for k in range(0, len(words), 2)]
    job = launched(tmp_path, {"web": texts})
    job = replace(job, near=replace(job.near, partitions=256))
    sent = seats = 0
    original = near_dedup.edges_of

    def counted(candidates, min_agree):
        nonlocal sent, seats
        sent += len(candidates.documents)
        seats += len(candidates.seats)
        return original(candidates, min_agree)

    monkeypatch.setattr(near_dedup, "edges_of", counted)
    find_edges(job, all_survive(scan_all(job)))
    assert seats > 8 * len(texts)
    assert sent < 4 * len(texts)


def test_the_number_of_partitions_does_not_matter(tmp_path):
    job = launched(tmp_path, TEXTS)
    expected = edges_between_digests(job)
    for partitions in (1, 256):
        other = replace(job, near=replace(job.near, partitions=partitions))
        assert edges_between_digests(other) == expected


def test_no_survivors_have_no_edges(tmp_path):
    assert find_edges(launched(tmp_path, TEXTS), []) == []
