import gzip
import os

import numpy as np
import pytest
from apache_beam.io.filesystem import CompressionTypes, FileMetadata
from apache_beam.io.filesystems import FileSystems

from transforms import storage


def failing():
    yield b"half "
    raise RuntimeError("lost")


def test_a_file_appears_whole(tmp_path) -> None:
    path = str(tmp_path / "new" / "folder" / "a.bin")
    storage.write_whole(path, [b"one ", bytearray(b"two "), memoryview(b"three")])
    assert storage.read_bytes(path) == b"one two three"
    storage.write_whole(path, memoryview(b"again"))
    assert storage.read_bytes(path) == b"again"
    assert storage.read_range(path, 1, 3) == b"ga"
    assert storage.size(path) == 5
    assert os.listdir(tmp_path / "new" / "folder") == ["a.bin"]


def test_a_failed_write_leaves_what_was_there(tmp_path) -> None:
    path = str(tmp_path / "a.bin")
    with pytest.raises(RuntimeError, match="lost"):
        storage.write_whole(path, failing())
    assert os.listdir(tmp_path) == []
    storage.write_whole(path, b"old")
    with pytest.raises(RuntimeError, match="lost"):
        storage.write_whole(path, failing())
    assert os.listdir(tmp_path) == ["a.bin"]
    assert storage.read_bytes(path) == b"old"


def test_nothing_is_under_the_name_while_writing(tmp_path) -> None:
    path = str(tmp_path / "a.bin")

    def parts():
        yield b"x" * (1 << 20)
        assert not storage.exists(path)
        yield b"y"

    storage.write_whole(path, parts())
    assert storage.size(path) == (1 << 20) + 1


def test_bytes_are_not_decompressed(tmp_path) -> None:
    path = str(tmp_path / "a.gz")
    packed = gzip.compress(b"text")
    storage.write_whole(path, packed)
    assert storage.read_bytes(path) == packed


def test_arrays(tmp_path) -> None:
    record = np.array([(1, 2.5), (3, 4.5)], [("a", "<u8"), ("b", "<f4")])
    for k, array in enumerate((np.arange(12, dtype=np.uint16).reshape(3, 4), record, record[:0])):
        path = str(tmp_path / "arrays" / f"{k}.npy")
        storage.save_array(path, array)
        loaded = storage.load_array(path)
        assert loaded.dtype == array.dtype
        np.testing.assert_array_equal(loaded, array)


def test_expand_and_remove(tmp_path) -> None:
    for name in ("b.txt", "a.txt", "sub/c.txt"):
        storage.write_whole(storage.join(str(tmp_path), name), name.encode())
    assert storage.expand(f"{tmp_path}/*") == [
        (f"{tmp_path}/a.txt", 5),
        (f"{tmp_path}/b.txt", 5),
    ]
    assert len(storage.expand(f"{tmp_path}/**")) == 3
    storage.remove_tree(str(tmp_path / "sub"))
    storage.remove_tree(str(tmp_path / "sub"))
    assert len(storage.expand(f"{tmp_path}/**")) == 2


def test_names() -> None:
    assert storage.join("gs://bucket/a/", "b", "c") == "gs://bucket/a/b/c"
    assert storage.parent("gs://bucket/a/b") == "gs://bucket/a"
    assert storage.is_remote("gs://bucket/x")
    assert not storage.is_remote("/local/x")


class Objects:
    """An object store with the few calls that storage makes of Beam's FileSystems."""

    def __init__(self, monkeypatch) -> None:
        self.held: dict[str, bytes] = {}
        self.fail_writes = False
        for name in ("create", "open", "match", "delete", "exists"):
            monkeypatch.setattr(FileSystems, name, getattr(self, name))

    def create(self, path, compression_type):
        import io

        assert compression_type == CompressionTypes.UNCOMPRESSED
        store = self

        class Writer(io.BytesIO):
            def write(self, data):
                if store.fail_writes and self.tell():
                    raise OSError("connection lost")
                return super().write(data)

            def close(self):
                if not self.closed:
                    store.held[path] = self.getvalue()
                super().close()

        return Writer()

    def open(self, path, compression_type):
        import io

        assert compression_type == CompressionTypes.UNCOMPRESSED
        return io.BytesIO(self.held[path])

    def match(self, patterns):
        from fnmatch import fnmatch
        from types import SimpleNamespace

        found = [
            FileMetadata(path, len(data))
            for path, data in reversed(sorted(self.held.items()))
            if fnmatch(path, patterns[0])
        ]
        return [SimpleNamespace(metadata_list=found)]

    def delete(self, paths):
        for path in paths:
            del self.held[path]

    def exists(self, path):
        return path in self.held


def test_remote_objects(monkeypatch) -> None:
    store = Objects(monkeypatch)
    path = "gs://bucket/folder/a.gz"
    storage.write_whole(path, [b"ab", b"cd"])
    storage.save_array("gs://bucket/folder/b.npy", np.arange(3))
    assert storage.read_range(path, 1, 3) == b"bc"
    assert storage.size(path) == 4
    assert storage.load_array("gs://bucket/folder/b.npy").tolist() == [0, 1, 2]
    assert [name for name, _ in storage.expand("gs://bucket/folder/*")] == sorted(store.held)
    storage.remove_tree("gs://bucket/folder")
    assert store.held == {}
    assert not storage.exists(path)
    with pytest.raises(FileNotFoundError):
        storage.size(path)


@pytest.mark.parametrize("where", ["data", "network"])
def test_a_failed_remote_write_leaves_nothing_new(where: str, monkeypatch) -> None:
    store = Objects(monkeypatch)
    store.fail_writes = where == "network"
    with pytest.raises((RuntimeError, OSError), match="lost"):
        storage.write_whole("gs://b/a", failing() if where == "data" else [b"half", b"rest"])
    assert store.held == {}


def test_data_that_fail_leave_the_remote_object_that_was_there(monkeypatch) -> None:
    store = Objects(monkeypatch)
    storage.write_whole("gs://b/a", b"old")
    with pytest.raises(RuntimeError, match="lost"):
        storage.write_whole("gs://b/a", failing())
    assert store.held == {"gs://b/a": b"old"}
