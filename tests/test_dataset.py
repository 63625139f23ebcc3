import pickle
import subprocess
import sys

import numpy as np
import pytest

from tests.reference.split import write_split
from tests.vectors import read_vectors
from transforms.errors import OutputError

torch = pytest.importorskip("torch")

from beam_pipeline.dataset import (  # noqa: E402 (importorskip comes first)
    PackedMemmapDataset,
    intra_document_mask,
    segment_ids,
)

BOS = 256
SEQ_LEN = 8
PACKED = [
    case for case in read_vectors("pack.jsonl") if case["windows"] and case["seq_len"] == SEQ_LEN
]


@pytest.fixture
def windows():
    """20 windows in which bos is frequent."""
    return np.random.default_rng(0).integers(BOS - 3, BOS + 3, (20, SEQ_LEN), np.uint16)


@pytest.fixture
def folder(tmp_path, windows):
    write_split(tmp_path / "train", [windows[:7], windows[7:8], windows[8:]])
    return tmp_path / "train"


def make_older(folder):
    for name in ("_SUCCESS", "manifest.json"):
        (folder / name).unlink()


def as_lists(items):
    return [{name: tensor.tolist() for name, tensor in item.items()} for item in items]


@pytest.mark.parametrize("case", PACKED)
def test_items_of_packed_documents(tmp_path, case):
    write_split(tmp_path / "train", [np.array(case["windows"], np.uint16)], case["bos_id"])
    dataset = PackedMemmapDataset(tmp_path / "train", verify=True)
    assert as_lists(dataset) == [
        {
            "input_ids": ids[:-1],
            "position_ids": position_ids[:-1],
            "seq_ids": seq_ids[:-1],
            "targets": ids[1:],
        }
        for ids, position_ids, seq_ids in zip(
            case["windows"], case["position_ids"], case["seq_ids"], strict=True
        )
    ]


def test_items_are_int64_and_independent_of_each_other(folder):
    item = PackedMemmapDataset(folder)[0]
    assert {tensor.dtype for tensor in item.values()} == {torch.int64}
    targets = item["targets"].tolist()
    item["input_ids"].fill_(0)
    assert item["targets"].tolist() == targets


def test_numbers_from_either_end(folder, windows):
    dataset = PackedMemmapDataset(folder)
    assert len(dataset) == 20
    assert [dataset[i - 20]["targets"].tolist() for i in range(20)] == windows[:, 1:].tolist()
    for index in (20, -21):
        with pytest.raises(IndexError):
            dataset[index]


def test_two_loader_workers_read_the_same(folder):
    dataset = PackedMemmapDataset(folder)
    expected = as_lists(dataset)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
    assert as_lists(loader) == expected
    assert as_lists(pickle.loads(pickle.dumps(dataset))) == expected


def test_a_damaged_folder_is_refused(folder):
    (folder / "shard_00001.tokens.bin").unlink()
    with pytest.raises(OutputError, match="shard_00001"):
        PackedMemmapDataset(folder)


def test_another_bos_than_the_manifests_is_refused(folder):
    assert len(PackedMemmapDataset(folder, bos_id=BOS)) == 20
    with pytest.raises(ValueError, match=r"bos_id is 1, but .*manifest\.json says 256"):
        PackedMemmapDataset(folder, bos_id=1)


def test_an_older_folder_needs_bos(folder):
    expected = as_lists(PackedMemmapDataset(folder))
    make_older(folder)
    with pytest.raises(ValueError, match=r"neither bos_id nor \*\.pos\.bin: pass bos_id="):
        PackedMemmapDataset(folder, require_complete=False)
    dataset = PackedMemmapDataset(folder, bos_id=BOS, require_complete=False)
    assert as_lists(dataset) == expected


def test_an_older_folder_with_positions(folder):
    make_older(folder)
    for number, n in enumerate([7, 1, 12]):
        positions = np.tile(np.array([5, 6, 0, 1, 0, 1, 2, 3], "<u2"), (n, 1))
        positions.tofile(folder / f"shard_{number:05d}.pos.bin")
    for item in as_lists(PackedMemmapDataset(folder, require_complete=False)):
        assert item["position_ids"] == [5, 6, 0, 1, 0, 1, 2]
        assert item["seq_ids"] == [-1, -1, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("case", read_vectors("mask.jsonl"))
def test_masks(case):
    ids = segment_ids(torch.tensor(case["position_ids"]))
    assert ids.tolist() == case["segment_ids"]
    mask = intra_document_mask(ids)
    assert mask.dtype == torch.bool
    assert mask.tolist() == np.array(case["mask"], bool).tolist()


def test_masks_of_a_batch(folder):
    batch = next(iter(torch.utils.data.DataLoader(PackedMemmapDataset(folder), batch_size=4)))
    masks = intra_document_mask(batch["seq_ids"])
    assert masks.shape == (4, SEQ_LEN - 1, SEQ_LEN - 1)
    assert masks.tolist() == [intra_document_mask(row).tolist() for row in batch["seq_ids"]]


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_import_needs_no_beam():
    code = """
import sys
import beam_pipeline.dataset
assert not {"apache_beam", "numba"} & set(sys.modules)
"""
    result = run(code)
    assert result.returncode == 0, result.stderr


def test_import_without_torch_says_what_to_install():
    result = run("import sys; sys.modules['torch'] = None; import beam_pipeline.dataset")
    assert result.stderr.splitlines()[-1].endswith("pip install corpusbeam[torch]")
