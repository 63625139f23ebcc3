import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transforms import records
from transforms.near_dedup import (
    Candidates,
    NearDedupSettings,
    band_records,
    edges_of,
    seated,
    shared_buckets,
    unpack_candidates,
)
from transforms.work import WorkFolder


def bands_of(groups):
    """Band records: each inner list is the documents that share one key."""
    rows = [(key + 1, ref) for key, refs in enumerate(groups) for ref in refs]
    found = np.zeros(len(rows), records.BAND)
    if rows:
        found["key"], found["ref"] = np.array(rows, np.uint64).T
    return found


def as_sets(members):
    buckets = {}
    for hi, lo, ref in members.tolist():
        buckets.setdefault((hi, lo), set()).add(ref)
    return buckets


@given(
    st.lists(st.sets(st.integers(0, 1 << 40), min_size=1, max_size=6), max_size=8),
    st.integers(0, 99),
)
def test_buckets_of_two_and_more_are_named_by_who_is_in_them(groups, seed):
    found = bands_of(groups)
    shuffled = found[np.random.default_rng(seed).permutation(len(found))]
    buckets = as_sets(shared_buckets(shuffled))
    assert sorted(map(sorted, buckets.values())) == sorted(
        {tuple(sorted(g)): sorted(g) for g in groups if len(g) > 1}.values()
    )


def test_the_same_documents_in_another_band_get_the_same_name():
    one = shared_buckets(bands_of([[5, 9, 2]]))
    other = shared_buckets(bands_of([[1, 7], [9, 2, 5]]))
    assert set(as_sets(one)) < set(as_sets(other))


def test_buckets_with_the_same_smallest_document_have_the_same_home():
    homes = [
        {member["bucket_hi"] for member in shared_buckets(bands_of([group]))}
        for group in ([2, 5, 9], [7, 2], [5, 9])
    ]
    assert homes[0] == homes[1] != homes[2]


def candidates_of(signatures, keeps, buckets=None):
    found = np.zeros(len(signatures), records.candidate(signatures.shape[1]))
    found["ref"] = np.arange(len(signatures)) + 10
    found["keep_hi"] = keeps
    found["signature"] = signatures
    rows = [(bucket, row) for row, bucket in enumerate(buckets or [1] * len(signatures))]
    seats = np.zeros(len(rows), records.SEAT)
    seats["bucket_hi"], seats["row"] = np.array(rows).T
    return Candidates(found, seats)


def test_the_preferred_document_leads():
    signatures = np.zeros((3, 10), np.uint16)
    signatures[1, :3] = 7
    edges = edges_of(candidates_of(signatures, [5, 4, 3]), min_agree=7)
    assert sorted(edges.tolist()) == [(12, 10), (12, 11)]


def test_documents_below_the_threshold_get_no_edge():
    signatures = np.zeros((2, 10), np.uint16)
    signatures[1, :3] = 7
    assert len(edges_of(candidates_of(signatures, [1, 2]), min_agree=8)) == 0


def test_buckets_do_not_mix():
    signatures = np.zeros((2, 10), np.uint16)
    found = candidates_of(signatures, [1, 2], buckets=[1, 2])
    assert len(edges_of(found, min_agree=1)) == 0


def test_a_pair_in_several_buckets_is_one_edge():
    documents, seats = candidates_of(np.zeros((2, 10), np.uint16), [1, 2])
    again = seats.copy()
    again["bucket_lo"] = 5
    found = edges_of(Candidates(documents, np.concatenate([seats, again])), min_agree=10)
    assert found.tolist() == [(10, 11)]


@given(
    st.lists(st.tuples(st.integers(0, 1 << 63), st.integers(0, 9), st.integers(0, 4)), max_size=30)
)
def test_candidates_of_several_pieces_are_whole_again(rows):
    """(home, bucket, position in the scan file), the position also being the piece."""
    scanned = np.zeros(5, records.scanned(4))
    scanned["keep_lo"] = np.arange(5) + 20
    scanned["signature"] = np.arange(20).reshape(5, 4)
    rows = sorted(set(rows))
    members = np.zeros(len(rows), records.MEMBER)
    for k, (home, bucket, position) in enumerate(rows):
        members[k] = home, bucket, (position << 24) + position
    packed = {}
    for piece in range(5):
        of_piece = members[members["ref"] >> np.uint64(24) == piece]
        for where, candidates in seated(of_piece, scanned, 4):
            packed.setdefault(where, []).append(candidates.pack())
    found = set()
    for where, parts in packed.items():
        documents, seats = unpack_candidates([b"".join(parts)], 4)
        assert len(np.unique(documents["ref"])) == len(documents)
        for hi, lo, row in seats.tolist():
            document = documents[row]
            position = int(document["ref"]) & 0xFF
            assert document["keep_lo"] == position + 20
            assert document["signature"].tolist() == scanned["signature"][position].tolist()
            assert hi >> 62 == where
            found.add((hi, lo, position))
    assert found == set(rows)


def test_documents_of_different_sources_do_not_meet_when_scope_is_source():
    signatures = np.arange(32, dtype=np.uint16).reshape(2, 16)
    signatures[1] = signatures[0]
    refs = np.array([1, 2], np.uint64)
    together = band_records(signatures, refs, 4, None)
    assert (together["key"][:, 0] == together["key"][:, 1]).all()
    first = band_records(signatures[:1], refs[:1], 4, 0)
    second = band_records(signatures[1:], refs[1:], 4, 1)
    assert (first["key"] != second["key"]).all()


def test_the_threshold_is_a_whole_number_of_positions():
    def least(threshold, permutations):
        return NearDedupSettings(permutations, 1, threshold, 1, False, WorkFolder("")).min_agree

    assert least(0.8, 128) == 103
    assert least(0.8, 10) == 8
    assert least(1.0, 128) == 128
    assert least(0.5, 128) == 64
