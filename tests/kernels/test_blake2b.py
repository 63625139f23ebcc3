import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.documents import TextBatch
from transforms.kernels.blake2b import BLOCK_BYTES, LANES, blake2b


def assert_as_hashlib(texts: list[bytes], digest_size: int = 16) -> None:
    words = blake2b(TextBatch.from_bytes(texts), digest_size)
    assert words.shape == (len(texts), digest_size // 8)
    assert words.dtype == np.uint64
    found = [row.astype("<u8").tobytes() for row in words]
    assert found == [hashlib.blake2b(text, digest_size=digest_size).digest() for text in texts]


def of_size(size: int) -> bytes:
    return np.random.default_rng(size).bytes(size)


@given(st.lists(st.binary(max_size=3 * BLOCK_BYTES), max_size=5 * LANES))
def test_digests_are_those_of_hashlib(texts: list[bytes]) -> None:
    assert_as_hashlib(texts)


@pytest.mark.parametrize("digest_size", [8, 16, 32, 64])
def test_any_size_of_digest(digest_size: int) -> None:
    assert_as_hashlib([of_size(size) for size in range(0, 600, 20)], digest_size)


def test_sizes_around_the_ends_of_blocks() -> None:
    sizes = [blocks * BLOCK_BYTES + more for blocks in range(4) for more in (0, 1, 127)]
    assert_as_hashlib([of_size(size) for size in sizes for _ in range(LANES)])


def test_a_text_far_longer_than_the_others() -> None:
    assert_as_hashlib([of_size(10), of_size(1_000_000), *map(of_size, range(200))])


def test_no_texts_and_empty_texts() -> None:
    assert_as_hashlib([])
    assert_as_hashlib([b""] * (2 * LANES + 1))


def test_texts_that_begin_within_the_data() -> None:
    texts = TextBatch.from_bytes([of_size(size) for size in range(100, 140)])
    later = TextBatch(texts.data, texts.offsets[7:])
    assert (blake2b(later, 16) == blake2b(texts, 16)[7:]).all()
