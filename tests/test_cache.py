"""Windows over gs://: copied when first used, checked, and never of another corpus."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from beam_pipeline import cache
from beam_pipeline.shards import WindowShards
from tests.fakes.storage import refusing
from tests.reference.split import write_split
from transforms import storage
from transforms.errors import OutputError

WINDOWS = np.random.default_rng(0).integers(0, 300, (20, 8), np.uint16)


def put(folder: Path, place: str) -> None:
    for path in folder.iterdir():
        storage.write_whole(f"{place}/{path.name}", path.read_bytes())


@pytest.fixture
def split(bucket, tmp_path):
    """A split folder on gs://, of two shards."""
    write_split(tmp_path / "train", [WINDOWS[:7], WINDOWS[7:]])
    put(tmp_path / "train", f"{bucket}/corpus/train")
    storage.write_whole(f"{bucket}/corpus/_SUCCESS", b"")
    return f"{bucket}/corpus/train"


def test_files_are_copied_when_first_used(split, tmp_path) -> None:
    copies = tmp_path / "cache"
    shards = WindowShards(split, cache_dir=copies)
    assert not copies.exists()
    assert np.array_equal(shards.row(0), WINDOWS[0])
    assert len(list(copies.rglob("*.bin"))) == 1
    assert np.array_equal([shards.row(k) for k in range(20)], WINDOWS)
    again = WindowShards(split, cache_dir=copies)
    with refusing(lambda *_: 403):
        assert np.array_equal([again.row(k) for k in range(20)], WINDOWS)


def test_the_users_cache_is_the_default(split, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    WindowShards(split).row(0)
    assert len(list((tmp_path / "caches" / "corpusbeam").rglob("*.bin"))) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.default_folder() == str(tmp_path / ".cache" / "corpusbeam")


def test_a_corpus_built_anew_is_read_anew(split, tmp_path) -> None:
    copies = tmp_path / "cache"
    WindowShards(split, cache_dir=copies, verify=True)
    write_split(tmp_path / "other", [WINDOWS[7:], WINDOWS[:7]])
    put(tmp_path / "other", split)
    shards = WindowShards(split, cache_dir=copies)
    assert np.array_equal(shards.row(0), WINDOWS[7])


def test_an_object_that_the_manifest_does_not_describe_is_refused(split, tmp_path) -> None:
    shards = WindowShards(split, cache_dir=tmp_path / "cache")
    path = f"{split}/shard_00001.tokens.bin"
    storage.write_whole(path, bytes(storage.size(path)))
    with pytest.raises(OutputError, match=r"shard_00001\.tokens\.bin: sha256 is"):
        shards.row(10)
    with pytest.raises(OutputError, match=r"shard_00001\.tokens\.bin: sha256 is"):
        WindowShards(split, cache_dir=tmp_path / "cache", verify=True)
    assert np.array_equal(shards.row(0), WINDOWS[0])
    storage.write_whole(path, b"short")
    with pytest.raises(OutputError, match=r"shard_00001\.tokens\.bin: 5 bytes, but"):
        WindowShards(split, cache_dir=tmp_path / "cache")
    storage.remove_file(path)
    with pytest.raises(OutputError, match=r"shard_00001\.tokens\.bin: no such file"):
        WindowShards(split, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("verify", [False, True])
def test_a_damaged_copy_is_made_again(split, tmp_path, verify) -> None:
    copies = tmp_path / "cache"
    WindowShards(split, cache_dir=copies).row(0)
    (copy,) = copies.rglob("*.bin")
    size = copy.stat().st_size
    copy.unlink()
    copy.write_bytes(bytes(size) if verify else b"cut short")
    shards = WindowShards(split, cache_dir=copies, verify=verify)
    assert np.array_equal(shards.row(0), WINDOWS[0])


def test_what_is_not_finished_says_what_a_local_folder_says(split, tmp_path) -> None:
    storage.remove_file(f"{split}/_SUCCESS")
    storage.remove_file(f"{storage.parent(split)}/_SUCCESS")
    with pytest.raises(OutputError, match="no _SUCCESS here or in the folder above"):
        WindowShards(split)
    assert len(WindowShards(split, require_complete=False, cache_dir=tmp_path)) == 20
    storage.remove_file(f"{split}/manifest.json")
    with pytest.raises(OutputError, match=r"manifest\.json: no such file"):
        WindowShards(split, require_complete=False)


def test_who_comes_second_waits_for_the_copy(split, tmp_path) -> None:
    """The lock is on a file, so that it holds between processes as it does between threads."""
    path = f"{split}/shard_00000.tokens.bin"
    sha256, size = cache.sha256_of(path), storage.size(path)
    with refusing(lambda *_: time.sleep(0.05)) as seen, ThreadPoolExecutor(4) as pool:
        fetched = [
            pool.submit(cache.fetch, path, sha256, size, str(tmp_path / "cache")) for _ in range(4)
        ]
        (copy,) = {future.result() for future in fetched}
    assert sum("/download/" in path for _, path, _ in seen) == 1
    assert Path(copy).read_bytes() == WINDOWS[:7].tobytes()
