import gzip
import os

import numpy as np
import pytest

from transforms import storage
from transforms.errors import CloudError, OutputError


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


def test_what_cannot_be_written_is_one_line_that_names_it(tmp_path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    below = str(tmp_path / "file" / "below")
    for change in (
        lambda: storage.write_whole(below, b"x"),
        lambda: storage.write_whole(str(tmp_path / "folder"), b"x"),
        lambda: storage.remove_file(below),
        lambda: storage.remove_tree(below),
    ):
        with pytest.raises(OutputError, match=rf"^{tmp_path}/fi?o?l.* cannot be .*: check the pat"):
            change()
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_is_one_line(tmp_path, monkeypatch) -> None:
    opened = open
    monkeypatch.setattr("builtins.open", lambda *_: opened("/dev/full", "wb"))
    for size in (100, 1 << 20):
        with pytest.raises(OutputError, match=r"No space left on device.*the room on its disk"):
            storage.write_whole(str(tmp_path / "a.bin"), b"x" * size)
    assert os.listdir(tmp_path) == []


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


def test_empty_folders(tmp_path) -> None:
    assert storage.is_empty(str(tmp_path / "nowhere"))
    (tmp_path / "[a]" / "b").mkdir(parents=True)
    assert storage.is_empty(str(tmp_path / "[a]"))
    (tmp_path / "[a]" / "b" / ".hidden").touch()
    assert not storage.is_empty(str(tmp_path / "[a]"))


def test_names() -> None:
    assert storage.join("gs://bucket/a/", "b", "c") == "gs://bucket/a/b/c"
    assert storage.parent("gs://bucket/a/b") == "gs://bucket/a"
    assert storage.parent("gs://bucket/a/") == storage.parent("gs://bucket") == "gs://bucket"
    assert storage.is_remote("gs://bucket/x")
    assert not storage.is_remote("/local/x")


def test_people_see_paths_from_where_they_are(tmp_path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert storage.nearby(str(tmp_path / "here" / "in" / "a")) == "in/a"
    assert storage.nearby(str(tmp_path / "b")) == "../b"
    for path in ("/a", "../in/a", "gs://bucket/a", "hf://datasets/a/b"):
        assert storage.nearby(path) == path


def test_paths_in_a_recipe_start_at_its_folder() -> None:
    assert storage.relative_to("gs://bucket/recipes", "in/*.gz") == "gs://bucket/recipes/in/*.gz"
    assert storage.relative_to("gs://bucket/recipes", "../in/a") == "gs://bucket/in/a"
    assert storage.relative_to("gs://bucket/recipes", "gs://other/a") == "gs://other/a"
    assert storage.relative_to("gs://bucket/recipes", "/here/a") == "/here/a"
    assert storage.relative_to("recipes", "../in/a") == "recipes/../in/a"


@pytest.mark.parametrize("path", ["gss://bucket/x", "s3://bucket/x", "gs:/bucket/x"])
def test_a_mistyped_scheme_is_no_local_path(path: str) -> None:
    for use in (storage.exists, storage.expand, storage.read_bytes, storage.remove_tree):
        with pytest.raises(CloudError, match="neither a local path nor on Google Cloud Storage"):
            use(path)
