import pickle

import numpy as np
import pytest

from beam_pipeline.shards import POSITIONS, WindowShards
from tests.reference.split import write_manifest, write_split
from transforms.errors import OutputError

SEQ_LEN = 8


def windows(sizes=(3, 1, 4), dtype=np.uint16):
    generator = np.random.default_rng(0)
    return [generator.integers(0, 259, (n, SEQ_LEN), dtype) for n in sizes]


@pytest.fixture
def split(tmp_path):
    """A whole folder of three shards, and its manifest."""
    folder = tmp_path / "corpus" / "train"
    return folder, write_split(folder, windows())


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_rows_of_all_shards_in_order(tmp_path, dtype):
    parts = windows(dtype=dtype)
    write_split(tmp_path / "train", parts)
    shards = WindowShards(tmp_path / "train", verify=True)
    rows = np.concatenate(parts)
    assert len(shards) == 8
    assert (shards.seq_len, shards.bos_id) == (SEQ_LEN, 256)
    assert [shards.row(i).tolist() for i in range(8)] == rows.tolist()
    assert [shards.row(i).tolist() for i in range(-8, 0)] == rows.tolist()
    assert shards.row(np.int64(3)).dtype == dtype


@pytest.mark.parametrize("index", [8, -9])
def test_no_such_window(split, index):
    with pytest.raises(IndexError, match=f"window {index} of 8"):
        WindowShards(split[0]).row(index)


def test_rows_cannot_be_written(split):
    with pytest.raises(ValueError, match="read-only"):
        WindowShards(split[0]).row(0)[0] = 1


def test_maps_are_not_pickled(split):
    shards = WindowShards(split[0])
    small = len(pickle.dumps(shards))
    expected = [shards.row(i).tolist() for i in range(8)]
    packed = pickle.dumps(shards)
    assert len(packed) == small
    again = pickle.loads(packed)
    assert [again.row(i).tolist() for i in range(8)] == expected


def test_success_may_lie_above(split):
    (split[0] / "_SUCCESS").rename(split[0].parent / "_SUCCESS")
    assert len(WindowShards(split[0])) == 8


def test_a_folder_without_success_is_refused_unless_allowed(split):
    (split[0] / "_SUCCESS").unlink()
    with pytest.raises(OutputError, match=r"no _SUCCESS here or in the folder above.*=False"):
        WindowShards(split[0])
    assert len(WindowShards(split[0], require_complete=False)) == 8


def test_only_listed_shards_are_read(split):
    folder, _ = split
    np.zeros((5, SEQ_LEN), "<u2").tofile(folder / "shard_00003.tokens.bin")
    np.array([5, SEQ_LEN], "<i8").tofile(folder / "shard_00003.meta.bin")
    np.zeros((3, SEQ_LEN), "<u2").tofile(folder / "shard_00000.pos.bin")
    shards = WindowShards(folder)
    assert len(shards) == 8
    assert not shards.has_positions


def test_no_such_folder(tmp_path):
    with pytest.raises(OutputError, match="no such folder"):
        WindowShards(tmp_path / "trian")


@pytest.mark.parametrize("column", ["tokens", "meta"])
def test_missing_file(split, column):
    (split[0] / f"shard_00001.{column}.bin").unlink()
    with pytest.raises(OutputError, match=rf"shard_00001\.{column}\.bin: no such file: copy or"):
        WindowShards(split[0])


@pytest.mark.parametrize("change", [-SEQ_LEN * 2, -1, 1])
def test_tokens_of_another_size(split, change):
    path = split[0] / "shard_00002.tokens.bin"
    path.write_bytes((path.read_bytes() + b"\0")[: 4 * SEQ_LEN * 2 + change])
    with pytest.raises(
        OutputError, match=rf"shard_00002\.tokens\.bin: {64 + change} bytes, .* uint16 are 64: copy"
    ):
        WindowShards(split[0])


@pytest.mark.parametrize("meta", [[3, SEQ_LEN], [4, SEQ_LEN + 1], [4]])
def test_meta_that_does_not_fit(split, meta):
    np.array(meta, "<i8").tofile(split[0] / "shard_00002.meta.bin")
    with pytest.raises(OutputError, match=r"shard_00002\.meta\.bin: .*sequences, seq_len"):
        WindowShards(split[0])


def test_a_flipped_bit_is_seen_when_verifying(split):
    path = split[0] / "shard_00001.tokens.bin"
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    WindowShards(split[0])
    with pytest.raises(OutputError, match=r"shard_00001\.tokens\.bin: sha256 is"):
        WindowShards(split[0], verify=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "uint32"}, r"shard_00000\.tokens\.bin: 48 bytes, .* uint32 are 96"),
        ({"dtype": "int8"}, "no or unknown 'int8'"),
        ({"seq_len": "long"}, "not a manifest"),
        ({"seq_len": 4}, r"shard_00000\.meta\.bin"),
        ({"shards": None}, "not a manifest"),
        ({"shards": [{"file": "shard_00000.tokens.bin"}]}, "no or unknown 'sequences'"),
        ({"shards": []}, "lists 0 shards of 0 sequences but states 3 and 8"),
        ({"n_sequences": 9}, "lists 3 shards of 8 sequences but states 3 and 9"),
    ],
)
def test_a_manifest_that_does_not_fit(split, changes, message):
    write_manifest(split[0], {**split[1], **changes})
    with pytest.raises(OutputError, match=message):
        WindowShards(split[0])


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_no_manifest_inside_the_file(split, text):
    (split[0] / "manifest.json").write_text(text)
    with pytest.raises(OutputError, match=r"manifest\.json: not a manifest"):
        WindowShards(split[0])


def test_a_manifest_is_required_of_a_complete_folder(split):
    (split[0] / "manifest.json").unlink()
    with pytest.raises(OutputError, match=r"manifest\.json: no such file"):
        WindowShards(split[0])


def test_stored_positions(split):
    folder, manifest = split
    write_manifest(folder, {**manifest, "store_positions": True})
    for number, n in enumerate([3, 1, 4]):
        positions = np.full((n, SEQ_LEN), number, "<u2")
        positions.tofile(folder / f"shard_{number:05d}.pos.bin")
    shards = WindowShards(folder)
    assert shards.has_positions
    assert [shards.row(i, POSITIONS)[0] for i in range(8)] == [0, 0, 0, 1, 2, 2, 2, 2]
    (folder / "shard_00001.pos.bin").write_bytes(b"")
    with pytest.raises(OutputError, match=r"shard_00001\.pos\.bin: 0 bytes"):
        WindowShards(folder)


@pytest.fixture
def older_folder(split):
    """A folder as an earlier version wrote it: no manifest, no _SUCCESS."""
    for name in ("_SUCCESS", "manifest.json"):
        (split[0] / name).unlink()
    return split[0]


def test_an_older_folder(older_folder):
    shards = WindowShards(older_folder, require_complete=False)
    assert [shards.row(i).tolist() for i in range(8)] == np.concatenate(windows()).tolist()
    assert shards.bos_id is None
    with pytest.raises(OutputError, match="pass verify=False"):
        WindowShards(older_folder, verify=True, require_complete=False)


def test_an_older_folder_of_two_lengths(older_folder):
    np.array([8, 4], "<i8").tofile(older_folder / "shard_00002.meta.bin")
    with pytest.raises(OutputError, match=r"shard_00002\.meta\.bin.*is \(8, 4\), not \(8, 8\)"):
        WindowShards(older_folder, require_complete=False)


def test_an_empty_folder(tmp_path):
    with pytest.raises(OutputError, match=r"neither manifest\.json nor"):
        WindowShards(tmp_path, require_complete=False)
