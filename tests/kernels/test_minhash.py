import gzip
import hashlib
import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.shared import SHARED, needs_shared
from tests.vectors import read_vectors
from transforms.documents import TextBatch
from transforms.kernels.minhash import (
    Signer,
    _clear,
    _leave_out_repeated,
    agreement,
    band_keys,
    candidate_probability,
)

# The widths of UTF-8, each at both of its ends.
EDGE_CHARACTERS = "\0\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"


def sign(*texts, signer=None):
    return (signer or Signer()).sign(TextBatch.from_strings(texts))


def shingles(text, k=5):
    return {text[i : i + k] for i in range(max(1, len(text) - k + 1))}


def jaccard(a, b):
    return len(shingles(a) & shingles(b)) / len(shingles(a) | shingles(b))


def test_shape_and_type():
    signatures = sign("one text", "", "another", signer=Signer(permutations=48))
    assert signatures.shape == (3, 48)
    assert signatures.dtype == np.uint16
    assert sign().shape == (0, 128)


def test_signatures_stay_what_they_were():
    # They are kept in work files: new ones must be comparable with those.
    signatures = sign("the quick brown fox", "x = 10", "日本語のテキスト", "")
    digest = hashlib.sha256(signatures.astype("<u2").tobytes()).hexdigest()
    assert digest.startswith("bbb963b7b860e0d3")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("cat", "dog"),
        ("", "\0"),
        ("abc", "abc\0"),
        ("abc", "abc\0\0"),
        ("x = 10", "x = 99"),
        ("éééé", "ééééé"),
    ],
)
def test_different_short_texts_differ(a, b):
    assert agreement(*sign(a, b)) < jaccard(a, b) + 0.2


def test_no_two_characters_are_taken_for_each_other():
    texts = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    signatures = sign(*texts, signer=Signer(permutations=4))
    distinct = len(np.unique(signatures.view(np.uint64)))
    assert distinct > 0.9995 * len(texts)  # by chance 140 of their hashes, of 32 bits, are equal


@given(st.lists(st.text(st.sampled_from("ab" + EDGE_CHARACTERS), max_size=30), min_size=1))
def test_equal_sets_of_shingles_have_equal_signatures(texts):
    signatures = sign(*texts)
    by_set = {}
    for text, signature in zip(texts, signatures.tolist(), strict=True):
        assert by_set.setdefault(frozenset(shingles(text)), signature) == signature


@given(st.lists(st.text(), min_size=1))
def test_a_signature_depends_on_its_own_text_only(texts):
    assert sign(*texts).tolist() == [sign(text)[0].tolist() for text in texts]


@given(
    st.lists(st.sampled_from([0, 1, 2, 0xFFFF, 0x3FFFF, 0xFFFFFFFE, 0xFFFFFFFF]), max_size=100),
    st.lists(st.integers(0, 2**32 - 1), max_size=100),
    st.integers(1, 14),
)
def test_no_hash_is_left_out_that_was_not_seen(edges, others, bits):
    hashes = np.array([*edges, *others, *edges], np.uint32)
    table = np.zeros(1 << 14, np.uint32)
    _clear(table, bits)
    fresh = hashes.copy()
    count = _leave_out_repeated(fresh, len(hashes), table, bits)
    assert set(fresh[:count].tolist()) == set(hashes.tolist())


def test_the_place_of_a_shingle_does_not_matter():
    # Wherever a block of shingles ends inside the kernel, it is within these.
    places = [*range(5, 40), *range(1000, 8300)]
    signatures = sign(*("a" * place + "é" + "a" * (9000 - place) for place in places))
    assert (signatures == signatures[0]).all()
    assert agreement(signatures[0], sign("a" * 9000)[0]) < 0.5


def test_a_text_of_16_megabytes():
    signatures = sign("abcdefgh" * 2, "abcdefgh" * (2 << 20))
    assert (signatures[0] == signatures[1]).all()


@pytest.mark.parametrize("k", [1, 2, 9])
def test_shingle_length(k):
    words = "abcdefghijklmnopqrstuvwxyz"
    swapped = words[13:] + words[:13]
    expected = len(shingles(words, k) & shingles(swapped, k)) / len(
        shingles(words, k) | shingles(swapped, k)
    )
    found = agreement(*sign(words, swapped, signer=Signer(permutations=4096, shingle=k)))
    assert found == pytest.approx(expected, abs=0.04)


def test_seeds_give_independent_signatures():
    a, b = (sign("the same text", signer=Signer(seed=seed))[0] for seed in (1, 2))
    assert agreement(a, b) < 0.05


@pytest.mark.parametrize("bad", [{"permutations": 0}, {"shingle": 0}])
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError, match="must be positive"):
        Signer(**bad)


@pytest.mark.parametrize("length", [3, 300, 20_000])
def test_different_minima_meet_by_chance_only(length):
    generator = random.Random(length)
    letters = [chr(code) for code in range(0x4E00, 0x9FFF)]
    signatures = sign(*("".join(generator.choices(letters, k=length)) for _ in range(300)))
    met = sum((signatures[i] == signatures[i + 1 :]).sum() for i in range(len(signatures)))
    expected = 300 * 299 / 2 * 128 / 2**16
    assert met == pytest.approx(expected, abs=5 * expected**0.5)


def mean_squared_error_ratio(pairs):
    """Against J(1 - J) / permutations, of a and b and their Jaccard, averaged over 20 seeds."""
    exact = np.array([jaccard for _, _, jaccard in pairs])
    errors = [
        np.mean(
            sign(*(a for a, _, _ in pairs), signer=Signer(seed=seed))
            == sign(*(b for _, b, _ in pairs), signer=Signer(seed=seed)),
            axis=1,
        )
        - exact
        for seed in range(20)
    ]
    return np.mean(np.square(errors)) / np.mean(exact * (1 - exact) / 128)


def test_estimator_is_as_good_as_theory():
    pairs = [
        (pair["a"].lower(), pair["b"].lower(), pair["jaccard"])
        for pair in read_vectors("jaccard.jsonl")
    ]
    assert all(jaccard(a, b) == pytest.approx(exact) for a, b, exact in pairs)
    assert mean_squared_error_ratio(pairs) < 1.15


@needs_shared
def test_estimator_is_as_good_as_theory_on_real_near_duplicates():
    groups = {}
    with gzip.open(SHARED / "data/dedup/near_dup_docs.jsonl.gz") as lines:
        for row in map(json.loads, lines):
            if row["group"]:
                text = " ".join(row["text"].lower().split())
                groups.setdefault(row["group"], []).append(text)
    generator = random.Random(0)
    candidates = [group for group in groups.values() if len(group) > 1]
    chosen = [generator.sample(generator.choice(candidates), 2) for _ in range(300)]
    assert mean_squared_error_ratio([(a, b, jaccard(a, b)) for a, b in chosen]) < 1.15


@pytest.mark.parametrize("case", read_vectors("lsh.jsonl"))
def test_candidate_probability(case):
    found = candidate_probability(case["jaccard"], case["bands"], case["rows"])
    assert found == pytest.approx(case["probability"], abs=1e-12)


@given(hnp.arrays(np.uint16, (12, 8), elements=st.integers(0, 1)), st.sampled_from([1, 2, 4, 8]))
def test_bands_share_a_key_where_they_are_equal(signatures, bands):
    signatures.setflags(write=False)
    keys = band_keys(signatures, bands)
    assert keys.dtype == np.uint64
    assert keys.shape == (12, bands)
    contents = [
        (band, *values)
        for row in signatures.reshape(12, bands, -1).tolist()
        for band, values in enumerate(row)
    ]
    by_key = dict(zip(keys.reshape(-1).tolist(), contents, strict=True))
    assert len(by_key) == len(set(contents))
    assert [by_key[key] for key in keys.reshape(-1).tolist()] == contents


def test_leading_bits_of_band_keys_spread_evenly():
    # Keys are partitioned by them.
    signatures = np.random.default_rng(0).integers(0, 4, (4000, 128), np.uint16)
    counts = np.bincount((band_keys(signatures, 16) >> np.uint64(60)).astype(int).reshape(-1))
    assert counts == pytest.approx(np.full(16, 4000), rel=0.1)


@pytest.mark.parametrize("bands", [0, 3, 256])
def test_bands_that_do_not_divide_the_permutations(bands):
    with pytest.raises(ValueError, match=f"do not divide into {bands} bands"):
        band_keys(np.zeros((1, 128), np.uint16), bands)
