"""The corpus job with its paths on Google Cloud Storage."""

from transforms import storage


def test_a_file_on_gs_reads_back(bucket: str) -> None:
    path = storage.join(bucket, "folder", "file.bin")
    storage.write_whole(path, b"abc")
    assert storage.read_bytes(path) == b"abc"
    assert storage.expand(f"{bucket}/folder/*") == [(path, 3)]
