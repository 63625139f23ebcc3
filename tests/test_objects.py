"""Files on Google Cloud Storage: the promises of `transforms.storage`, held against an emulator."""

import gc
import gzip
import os
import subprocess
import sys
import threading
import time
import zlib
from itertools import count

import numpy as np
import pytest

from tests.fakes.storage import every, refusing, upload
from transforms import credentials, objects, storage
from transforms.errors import CloudError

CHUNK = 16 << 20


def test_a_file_reads_back(bucket: str) -> None:
    path = storage.join(bucket, "folder", "a.gz")
    packed = gzip.compress(b"text" * 100)
    storage.write_whole(path, [packed[:9], bytearray(packed[9:12]), memoryview(packed[12:])])
    assert storage.read_bytes(path) == packed
    assert storage.read_range(path, 3, 7) == packed[3:7]
    assert storage.read_range(path, len(packed) - 2, len(packed) + 5) == packed[-2:]
    assert storage.read_range(path, len(packed) + 1, len(packed) + 5) == b""
    assert list(storage.read_ranges(path, [(5, 9), (0, 2)])) == [packed[5:9], packed[:2]]
    with pytest.raises(EOFError):
        list(storage.read_ranges(path, [(0, len(packed) + 1)]))
    assert storage.size(path) == len(packed)
    storage.write_whole(path, b"")
    assert storage.read_bytes(path) == b""
    array = np.arange(12, dtype=np.uint16).reshape(3, 4)
    storage.save_array(f"{bucket}/b.npy", array)
    np.testing.assert_array_equal(storage.load_array(f"{bucket}/b.npy"), array)


def test_reading_jumps_about(bucket: str, monkeypatch) -> None:
    monkeypatch.setattr(objects, "READ_BYTES", 64)
    data = np.random.default_rng(0).bytes(1000)
    storage.write_whole(f"{bucket}/a", data)
    with storage.open_read(f"{bucket}/a") as file:
        for start, length in ((0, 10), (990, 30), (5, 300), (400, 1), (100, 0), (1000, 1), (0, -1)):
            file.seek(start)
            assert file.read(length) == data[start:][: length if length >= 0 else None]
        assert file.seek(-4, os.SEEK_END) == 996


def test_an_end_and_a_range_cost_one_request_each(bucket: str) -> None:
    storage.write_whole(f"{bucket}/a", bytes(1000))
    with refusing(lambda *_: None) as seen:
        storage.read_range(f"{bucket}/a", 0, 64)
        assert len(seen) == 2  # one for the size
        with storage.open_read(f"{bucket}/a") as file:
            while file.read(300):
                pass
        assert len(seen) == 4


def test_listing(bucket: str) -> None:
    for name in ("in/b.jsonl", "in/a.jsonl", "in/sub/c.jsonl", "in/x[1].jsonl", "in/", "other/d"):
        storage.write_whole(f"{bucket}/{name}", name.encode())
    assert storage.expand(f"{bucket}/in/[ab]*") == [
        (f"{bucket}/in/a.jsonl", 10),
        (f"{bucket}/in/b.jsonl", 10),
    ]
    assert len(storage.expand(f"{bucket}/in/*")) == 3
    assert len(storage.expand(f"{bucket}/in/**")) == 4
    assert storage.expand(f"{bucket}/in/x[1].jsonl") == [(f"{bucket}/in/x[1].jsonl", 13)]
    assert storage.expand(f"{bucket}/in/z*") == storage.expand(f"{bucket}/in/z") == []
    before = storage.fingerprint(f"{bucket}/other/d")
    storage.write_whole(f"{bucket}/other/d", b"changed")
    assert storage.fingerprint(f"{bucket}/other/d") != before


def test_removing_twice_is_no_error(bucket: str, monkeypatch) -> None:
    monkeypatch.setattr(objects, "_DELETED_AT_ONCE", 3)
    for k in range(8):
        storage.write_whole(f"{bucket}/tree/{k}/x", b"x")
    storage.write_whole(f"{bucket}/tree-top", b"x")
    for k in range(2):
        assert storage.is_empty(f"{bucket}/tree") == bool(k)
        storage.remove_tree(f"{bucket}/tree")
        storage.remove_file(f"{bucket}/tree/none")
    assert storage.expand(f"{bucket}/**") == [(f"{bucket}/tree-top", 1)]
    # What looks like a pattern is a name.
    storage.remove_file(f"{bucket}/tre[ef]-top")
    storage.remove_file(f"{bucket}/*")
    assert storage.exists(f"{bucket}/tree-top")


def parts_that_fail():
    yield bytes(CHUNK + 5)
    yield b"more"
    raise RuntimeError("lost")


@pytest.mark.parametrize("before", [None, b"old"])
def test_data_that_fail_leave_what_was_there(bucket: str, before: bytes | None) -> None:
    path = f"{bucket}/a"
    if before is not None:
        storage.write_whole(path, before)
    with pytest.raises(RuntimeError, match="lost"):
        storage.write_whole(path, parts_that_fail())
    gc.collect()
    assert storage.exists(path) == (before is not None)
    assert before is None or storage.read_bytes(path) == before


def test_a_service_that_fails_midway_leaves_nothing(bucket: str, impatient) -> None:
    """Also where the upload cannot be cancelled, and the writer is dropped later."""
    uploads = count()
    with refusing(lambda n, method, path: 503 if method == "DELETE" else None if method != "PUT"
                  or next(uploads) == 0 else 503) as seen:  # fmt: skip
        with pytest.raises(CloudError, match=r"cannot write it now .*503.*: try again later"):
            storage.write_whole(f"{bucket}/a", [bytes(CHUNK), b"rest"])
        assert ("DELETE", 503) in {(method, status) for method, _, status in seen}
    gc.collect()
    assert not storage.exists(f"{bucket}/a")


def test_writing_holds_a_part_at_a_time(bucket: str) -> None:
    alive = 0
    most = 0

    class Part(bytearray):
        def __del__(self):
            nonlocal alive
            alive -= 1

    def parts():
        nonlocal alive, most
        for _ in range(10):
            alive += 1
            most = max(most, alive)
            yield Part(1000)

    storage.write_whole(f"{bucket}/a", parts())
    assert storage.size(f"{bucket}/a") == 10_000
    assert most <= 2


@pytest.mark.parametrize(("step", "done"), [(3, False), (5, True)], ids=["refused", "answer-lost"])
def test_what_is_refused_now_and_then_is_asked_again(bucket: str, step, done, quick) -> None:
    data = np.random.default_rng(1).bytes(CHUNK + 100)
    names = [f"{bucket}/in/{k}" for k in range(4)]
    with refusing(every(step, 503, 429, 500, 408), done) as seen:
        for name in names:
            storage.write_whole(name, name.encode())
        storage.write_whole(f"{bucket}/in/large", data)
        assert storage.read_bytes(f"{bucket}/in/large") == data
        assert [name for name, _ in storage.expand(f"{bucket}/in/?")] == names
        storage.remove_file(names[0])
        assert [storage.exists(name) for name in names] == [False, True, True, True]
        storage.remove_tree(f"{bucket}/in")
        assert storage.expand(f"{bucket}/**") == []
        assert sum(status is not None for _, _, status in seen) > 3


def test_an_object_that_changes_is_not_read_as_two(bucket: str, monkeypatch) -> None:
    monkeypatch.setattr(objects, "READ_BYTES", 10)
    storage.write_whole(f"{bucket}/a", b"a" * 100)
    with storage.open_read(f"{bucket}/a") as file:
        assert file.read(10) == b"a" * 10
        with refusing(lambda n, method, path: None) as seen:
            file.read(10)
    assert "generation=" in seen[0][1]
    with storage.open_read(f"{bucket}/a") as file:
        storage.remove_file(f"{bucket}/a")
        with pytest.raises(CloudError, match="changed or removed while it was read"):
            file.read(10)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (403, r"no permission .*ask for the role Storage Object User on gs://corpusbeam-tests"),
        (501, r"cannot \w+ it now .*try again later"),
    ],
)
def test_refusals_are_one_line(bucket: str, status: int, words: str, impatient) -> None:
    storage.write_whole(f"{bucket}/a", b"x")
    with refusing(every(1, status)):
        for use in (
            storage.exists,
            storage.size,
            storage.read_bytes,
            storage.expand,
            storage.fingerprint,
            storage.remove_file,
            storage.remove_tree,
            storage.is_empty,
            lambda path: storage.expand(f"{path}*"),
            lambda path: storage.write_whole(path, b"y"),
        ):
            with pytest.raises(CloudError, match=words) as caught:
                use(f"{bucket}/a")
            assert "\n" not in str(caught.value)
    assert storage.read_bytes(f"{bucket}/a") == b"x"


def test_a_bucket_that_is_not_there(bucket: str) -> None:
    path = "gs://corpusbeam-typo/a"
    assert not storage.exists(path)
    for use in (
        storage.remove_tree,
        storage.is_empty,
        lambda path: storage.expand(f"{path}*"),
        lambda path: storage.write_whole(path, b"x"),
    ):
        with pytest.raises(CloudError, match="there is no bucket gs://corpusbeam-typo"):
            use(path)
    for use in (storage.read_bytes, storage.size, storage.fingerprint):
        with pytest.raises(FileNotFoundError):
            use(path)
    with pytest.raises(CloudError, match="names no object"):
        storage.exists("gs://bucket")


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl"])
def test_content_encoding_gzip_changes_nothing(bucket: str, name: str) -> None:
    data = b"".join(b"%d " % zlib.crc32(b"%d" % k) for k in range(1000))
    packed = gzip.compress(data)
    path = f"{bucket}/{name}"
    upload(path, packed, content_encoding="gzip")
    assert storage.size(path) == len(packed)
    assert storage.read_bytes(path) == packed
    assert storage.read_range(path, 100, 200) == packed[100:200]


def test_what_beam_cannot_read_is_told(bucket: str) -> None:
    path = f"{bucket}/a.gz"
    upload(path, b"x", content_encoding="gzip", content_type="application/gzip")
    with pytest.raises(CloudError, match=r"gcloud storage objects update gs://\S+/a.gz"):
        storage.read_bytes(path)


def test_without_credentials_there_is_one_line_within_seconds() -> None:
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("GCE_", "GOOGLE_", "STORAGE_"))
    }
    # Nobody listens there; HOME has no credentials of gcloud.
    environment |= {"GCE_METADATA_HOST": "127.0.0.1:9", "GCE_METADATA_IP": "127.0.0.1:9",
                    "HOME": "/nonexistent", "CLOUDSDK_CONFIG": "/nonexistent"}  # fmt: skip
    process = subprocess.run(
        [sys.executable, "-m", "beam_pipeline", "verify", "gs://bucket/corpus"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert process.returncode == 2
    assert process.stderr.startswith("corpusbeam: error: no credentials for Google Cloud")
    assert process.stderr.count("\n") == 1


def test_credentials_are_asked_for_once(bucket: str, monkeypatch) -> None:
    import google.auth

    asked = []

    def default(**options):
        asked.append(threading.get_ident())
        time.sleep(0.05)
        return None, None

    monkeypatch.setattr(credentials, "_found", False)
    monkeypatch.setattr(google.auth, "default", default)
    threads = [threading.Thread(target=storage.exists, args=[f"{bucket}/a"]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
