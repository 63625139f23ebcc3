import numpy as np
import pytest

from tests.vectors import read_vectors
from transforms.kernels.segments import intra_document_mask, segment_ids, segments


@pytest.mark.parametrize("case", read_vectors("pack.jsonl"))
def test_segments_of_packed_windows(case):
    windows = np.array(case["windows"], np.uint16).reshape(-1, case["seq_len"])
    position_ids, seq_ids = segments(windows, case["bos_id"])
    assert position_ids.tolist() == case["position_ids"]
    assert seq_ids.tolist() == case["seq_ids"]


def test_one_window_and_a_stack_of_them_agree():
    windows = np.random.default_rng(0).integers(0, 4, (2, 3, 50))
    together = segments(windows, 0)
    for place in np.ndindex(2, 3):
        for one, all_of_them in zip(segments(windows[place], 0), together, strict=True):
            assert one.dtype == np.int64
            assert one.tolist() == all_of_them[place].tolist()


@pytest.mark.parametrize("case", read_vectors("mask.jsonl"))
def test_masks(case):
    ids = segment_ids(np.array(case["position_ids"]))
    assert ids.tolist() == case["segment_ids"]
    mask = intra_document_mask(ids)
    assert mask.dtype == bool
    assert mask.tolist() == np.array(case["mask"], bool).tolist()


def test_masks_of_a_batch():
    ids = np.array([[0, 0, 1], [-1, 0, 0]])
    masks = intra_document_mask(ids)
    assert masks.tolist() == [intra_document_mask(row).tolist() for row in ids]
