import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import packing as reference
from tests.vectors import read_vectors
from transforms.kernels.packing import pack, packed_cost, unpack

BOS, EOS, PAD = 256, 257, 258
DOCS = st.lists(st.lists(st.integers(0, 255), max_size=40), max_size=12)
SEQ_LENS = st.integers(3, 17)
DTYPES = st.sampled_from([np.uint16, np.uint32])


def columns(docs, dtype=np.uint16):
    offsets = np.concatenate([[0], np.cumsum([len(doc) for doc in docs], dtype=np.int64)])
    return np.array([i for doc in docs for i in doc], dtype), offsets


def packed(docs, seq_len=8):
    ids, offsets = columns(docs)
    windows, positions = pack(ids, offsets, seq_len, BOS, EOS, PAD)
    return windows.reshape(-1), positions, np.diff(offsets)


@pytest.mark.parametrize("case", read_vectors("pack.jsonl"))
def test_vectors(case):
    windows, _ = pack(
        *columns(case["docs"]), case["seq_len"], case["bos_id"], case["eos_id"], case["pad_id"]
    )
    assert windows.tolist() == case["windows"]
    assert windows.shape[1] == case["seq_len"]


@given(DOCS, SEQ_LENS, DTYPES)
def test_equals_the_plain_packer(docs, seq_len, dtype):
    windows, positions = pack(*columns(docs, dtype), seq_len, BOS, EOS, PAD)
    assert windows.dtype == dtype
    assert windows.tolist() == reference.pack(docs, seq_len, BOS, EOS, PAD)
    flat = windows.reshape(-1)
    for doc, position in zip(docs, positions, strict=True):
        assert flat[position - 1] == BOS
        assert flat[position] == (doc[0] if doc else EOS)


@given(DOCS, SEQ_LENS, DTYPES)
def test_unpack_inverts_pack(docs, seq_len, dtype):
    ids, offsets = columns(docs, dtype)
    windows, positions = pack(ids, offsets, seq_len, BOS, EOS, PAD)
    again, bounds = unpack(windows.reshape(-1), positions, np.diff(offsets), seq_len, BOS, EOS)
    assert again.dtype == dtype
    assert again.tolist() == ids.tolist()
    assert bounds.tolist() == offsets.tolist()


@given(DOCS, SEQ_LENS)
def test_cost_is_what_the_windows_hold_besides_padding(docs, seq_len):
    ids, offsets = columns(docs)
    windows, _ = pack(ids, offsets, seq_len, BOS, EOS, PAD)
    assert packed_cost(np.diff(offsets), seq_len).sum() == (windows != PAD).sum()


def test_ids_above_16_bits_survive_in_uint32():
    ids = np.array([70_000, 4_000_000_000], np.uint32)
    windows, _ = pack(ids, np.array([0, 2]), 4, 100_000, 100_001, 100_002)
    assert windows.tolist() == [[100_000, 70_000, 4_000_000_000, 100_001]]


def test_unpack_reads_a_memory_map(tmp_path):
    flat, positions, n_ids = packed([[1, 2, 3], [4]])
    flat.tofile(tmp_path / "tokens.bin")
    mapped = np.memmap(tmp_path / "tokens.bin", np.uint16, "r")
    assert unpack(mapped, positions, n_ids, 8, BOS, EOS)[0].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("seq_len", [0, 1, 2])
def test_windows_without_room_for_an_id(seq_len):
    with pytest.raises(ValueError, match=f"seq_len is {seq_len}"):
        packed([[1]], seq_len)


# Two chunks of six and one id, then a document of one, at tokens 0-10 and 11-13.
TWO_DOCS = [[1, 2, 3, 4, 5, 6, 7], [8]]


@pytest.mark.parametrize(
    ("token", "value", "doc"),
    [
        (0, 9, 0),  # first bos
        (7, 9, 0),  # eos of the first chunk
        (8, 9, 0),  # bos of the second chunk
        (10, PAD, 0),  # last eos
        (3, BOS, 0),  # bos among ids
        (11, 9, 1),
        (13, 9, 1),
    ],
)
def test_unpack_names_the_document_with_a_wrong_marker(token, value, doc):
    flat, positions, n_ids = packed(TWO_DOCS)
    flat[token] = value
    with pytest.raises(ValueError, match=f"^document {doc} of 2 is not enclosed in bos and eos"):
        unpack(flat, positions, n_ids, 8, BOS, EOS)


def test_unpack_names_the_first_of_several():
    flat, positions, n_ids = packed([[1], [2], [3]])
    positions[2] += 1
    flat[3] = 9
    with pytest.raises(ValueError, match=r"^document 1 of 3"):
        unpack(flat, positions, n_ids, 8, BOS, EOS)


def test_unpack_refuses_a_document_that_is_not_where_the_one_before_ended():
    flat, positions, n_ids = packed(TWO_DOCS)
    positions[1] += 1
    message = "document 1 of 2 should have its 1 ids from token 12 of 16, not from 13"
    with pytest.raises(ValueError, match=re.escape(message)):
        unpack(flat, positions, n_ids, 8, BOS, EOS)


def test_unpack_refuses_a_document_beyond_the_end():
    flat, positions, n_ids = packed(TWO_DOCS)
    with pytest.raises(ValueError, match="document 1 of 2 should have its 1 ids"):
        unpack(flat[:13], positions, n_ids, 8, BOS, EOS)


def test_unpack_refuses_a_document_that_is_not_listed():
    flat, positions, n_ids = packed(TWO_DOCS)
    with pytest.raises(ValueError, match="a chunk begins at token 11, after the last of the 1"):
        unpack(flat, positions[:1], n_ids[:1], 8, BOS, EOS)
