import hashlib
import json
import pickle
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from tests.reference.split import write_manifest, write_split
from tests.traces.examples import Lists, encode_lists, special_tokens
from transforms.errors import OutputError
from transforms.traces.geometry import LAYOUTS, Geometry

torch = pytest.importorskip("torch")

from beam_pipeline.trace_dataset import TraceDataset, block_causal_mask  # noqa: E402 (importorskip comes first)

GEOMETRY = Geometry(seq_len=32, block=4, max_slots=8, sizes=(2, 6))
EXAMPLES = [Lists([20], [[30], [31] * 7], [22, 23]), Lists([20] * 5, [[32] * 4], [24])]


def write_traces(root, layout, examples=EXAMPLES):
    """A folder as the traces job leaves it, with two shards."""
    windows = encode_lists(layout, examples, GEOMETRY)
    special = special_tokens(GEOMETRY.sizes)
    folder = root / "train" / layout
    manifest = write_split(folder, [windows.tokens[:1], windows.tokens[1:]], special.bos)
    (folder / "_SUCCESS").rename(root / "_SUCCESS")
    for shard, regions in zip(manifest["shards"], np.split(windows.regions, [1]), strict=True):
        data = regions.tobytes()
        (folder / shard["file"].replace("tokens", "regions")).write_bytes(data)
        shard["regions_sha256"] = hashlib.sha256(data).hexdigest()
    manifest["columns"] = {"regions": "uint8"}
    manifest["layout"] = layout
    manifest["geometry"] = asdict(GEOMETRY)
    sizes = zip(map(str, GEOMETRY.sizes), special.sizes, strict=True)
    manifest["size_token_ids"] = dict(sizes) if layout == "adaptive" else {}
    write_manifest(folder, manifest)
    return folder


def lists(items):
    return [{name: tensor.tolist() for name, tensor in item.items()} for item in items]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_items_hold_the_windows(tmp_path, layout):
    windows = encode_lists(layout, EXAMPLES, GEOMETRY)
    dataset = TraceDataset(write_traces(tmp_path, layout), verify=True)
    assert dataset.layout == layout
    assert dataset.geometry == GEOMETRY
    items = lists(dataset)
    assert [item["tokens"] for item in items] == windows.tokens.tolist()
    assert [item["regions"] for item in items] == windows.regions.tolist()
    for item in dataset:
        assert {tensor.shape for tensor in item.values()} == {(GEOMETRY.seq_len,)}
        assert item.pop("loss_mask").dtype == torch.bool
        assert {tensor.dtype for tensor in item.values()} == {torch.int64}


def test_slotted_blocks_token_by_token(tmp_path):
    item = lists(TraceDataset(write_traces(tmp_path, "slotted")))[0]
    # Prompt, three slots of which two hold one thought, an answer of two blocks, padding.
    assert item["slot_ids"] == [-1] * 4 + [0] * 4 + [1] * 4 + [2] * 4 + [-1] * 16
    assert item["slot_positions"] == [-1] * 4 + [0, 1, 2, 3] * 3 + [-1] * 16
    blocks = [block for block in range(6) for _ in range(4)]
    assert item["block_ids"] == blocks + [-1] * 8
    assert item["loss_mask"] == [False] * 4 + [True] * 17 + [False] * 11


def test_adaptive_blocks_token_by_token(tmp_path):
    item = lists(TraceDataset(write_traces(tmp_path, "adaptive")))[0]
    # Sizes 2, then 6 and 2 in a chain, each behind its size token.
    slots = [-1, 0, 0, -1, *[1] * 6, -1, 2, 2]
    assert item["slot_ids"] == [-1] * 4 + slots + [-1] * 15
    positions = [-1, 0, 1, -1, 0, 1, 2, 3, 4, 5, -1, 0, 1]
    assert item["slot_positions"] == [-1] * 4 + positions + [-1] * 15
    blocks = [1, 2, 2, 3, *[4] * 6, 5, 6, 6]
    assert item["block_ids"] == [0] * 4 + blocks + [7] * 4 + [8] * 4 + [-1] * 7


def test_flat_blocks_token_by_token(tmp_path):
    item = lists(TraceDataset(write_traces(tmp_path, "flat")))[0]
    assert set(item["slot_ids"]) == set(item["slot_positions"]) == {-1}
    assert item["block_ids"] == [0] * 3 + list(range(1, 16)) + [-1] * 14


def test_a_prompt_of_several_blocks_counts_as_one(tmp_path):
    item = lists(TraceDataset(write_traces(tmp_path, "slotted")))[1]
    assert item["block_ids"][:9] == [0] * 8 + [1]


def test_an_example_without_thoughts(tmp_path):
    for layout in LAYOUTS:
        item = lists(TraceDataset(write_traces(tmp_path, layout, [Lists([20], [], [21])])))[0]
        assert set(item["slot_ids"]) == {-1}
        assert item["block_ids"].count(0) == (3 if layout == "flat" else 4)
        assert item["block_ids"].count(1) == (1 if layout == "flat" else 4)


@pytest.mark.parametrize(
    ("regions", "chosen"), [(["answer"], {3}), (["prompt", "padding"], {0, 1}), ([], set())]
)
def test_loss_by_region(tmp_path, regions, chosen):
    for item in lists(TraceDataset(write_traces(tmp_path, "slotted"), loss_regions=regions)):
        assert item["loss_mask"] == [region in chosen for region in item["regions"]]


def test_a_region_that_there_is_not(tmp_path):
    with pytest.raises(ValueError, match="no region 'reply': the regions are padding, prompt,"):
        TraceDataset(write_traces(tmp_path, "slotted"), loss_regions=["answer", "reply"])


def test_mask():
    mask = block_causal_mask(torch.tensor([0, 0, 1, 1, 2, -1, -1]))
    assert mask.dtype == torch.bool
    assert mask.int().tolist() == [
        [1, 1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 1],
    ]


@pytest.mark.parametrize("layout", ["slotted", "adaptive"])
def test_masks_of_a_batch(tmp_path, layout):
    dataset = TraceDataset(write_traces(tmp_path, layout))
    batch = next(iter(torch.utils.data.DataLoader(dataset, batch_size=2)))
    masks = block_causal_mask(batch["block_ids"])
    assert masks.shape == (2, GEOMETRY.seq_len, GEOMETRY.seq_len)
    for mask, blocks in zip(masks.tolist(), batch["block_ids"].tolist(), strict=True):
        for i, a in enumerate(blocks):
            assert mask[i] == [i == j or (b >= 0 and b <= a) for j, b in enumerate(blocks)]


def test_two_loader_workers_read_the_same(tmp_path):
    dataset = TraceDataset(write_traces(tmp_path, "adaptive"))
    expected = lists(dataset)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
    assert lists(loader) == expected
    assert lists(pickle.loads(pickle.dumps(dataset))) == expected


def test_damaged_regions_are_found(tmp_path):
    folder = write_traces(tmp_path, "slotted")
    path = folder / "shard_00000.regions.bin"
    raw = bytearray(path.read_bytes())
    raw[0] = 2
    path.write_bytes(raw)
    assert len(TraceDataset(folder)) == 2
    with pytest.raises(OutputError, match=r"shard_00000\.regions\.bin: sha256 is"):
        TraceDataset(folder, verify=True)
    path.write_bytes(raw[:-1])
    with pytest.raises(OutputError, match=r"shard_00000\.regions\.bin: 31 bytes"):
        TraceDataset(folder)


def test_a_window_without_its_size_token_is_named(tmp_path):
    folder = write_traces(tmp_path, "adaptive")
    tokens = np.fromfile(folder / "shard_00001.tokens.bin", np.uint16)
    tokens[8] = 30
    tokens.tofile(folder / "shard_00001.tokens.bin")
    dataset = TraceDataset(folder)
    assert len(dataset[0]) == 6
    with pytest.raises(OutputError, match="window 1: token 30 at 8 announces no block size"):
        dataset[1]


def test_an_unfinished_folder_is_refused(tmp_path):
    folder = write_traces(tmp_path / "out", "slotted")
    (tmp_path / "out" / "_SUCCESS").rename(tmp_path / "_SUCCESS")
    with pytest.raises(OutputError, match="no _SUCCESS here or in the 2 folders above"):
        TraceDataset(folder)
    assert len(TraceDataset(folder, require_complete=False)) == 2


def test_a_folder_of_a_corpus_is_refused(tmp_path):
    write_split(tmp_path / "train", [np.zeros((2, 8), np.uint16)])
    with pytest.raises(OutputError, match="no 'geometry': give the folder of a layout"):
        TraceDataset(tmp_path / "train")


def test_a_manifest_without_the_sha256_of_regions_is_refused(tmp_path):
    folder = write_traces(tmp_path, "slotted")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    del manifest["shards"][1]["regions_sha256"]
    write_manifest(folder, manifest)
    with pytest.raises(OutputError, match="no or unknown 'regions_sha256'"):
        TraceDataset(folder)


def test_import_needs_no_beam():
    code = """
import sys
import beam_pipeline.trace_dataset
assert not {"apache_beam", "numba"} & set(sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
