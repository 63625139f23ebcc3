import gzip
import io
import struct
import zlib
from pathlib import Path

import orjson
import pytest
import zstandard

from tests.readers.reading import files, read_source
from transforms.errors import DamagedFileError
from transforms.readers.compressed import DecompressedStream

# Text that does not compress well, so that the files are several steps of the reader long.
NOISE = [
    f"{k} " + "".join(f"{zlib.crc32(f'{k} {j}'.encode()):08x}" for j in range(9))
    for k in range(9000)
]
LINES = b"".join(orjson.dumps({"text": text}) + b"\n" for text in NOISE)
FRAMES = zstandard.ZstdCompressor(write_checksum=True)


def pack(kind: str, data: bytes) -> bytes:
    return gzip.compress(data, 1) if kind == "gzip" else FRAMES.compress(data)


@pytest.fixture
def written(tmp_path: Path):
    def write(content: bytes) -> Path:
        path = tmp_path / "input.bin"
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_members_are_read_to_the_end_wherever_they_are_cut(kind: str, written) -> None:
    half = len(LINES) // 2 + 5
    content = pack(kind, LINES[:half]) + pack(kind, b"") + pack(kind, LINES[half:])
    assert read_source(files(written(content))).texts == NOISE


def test_many_tiny_members(written) -> None:
    members = [pack("gzip", line + b"\n") for line in LINES.split(b"\n")[:3000]]
    assert read_source(files(written(b"".join(members)))).texts == NOISE[:3000]


@pytest.mark.parametrize("place", [65534, 65535, 65536])
def test_a_member_that_begins_at_the_end_of_a_step(place: int, written) -> None:
    member = pack("gzip", b'{"text": "x"}\n')
    outcome = read_source(files(written(member + bytes(place - len(member)) + member)))
    assert outcome.texts == ["x", "x"]
    assert outcome.notes == []


def test_skippable_zstd_frames(written) -> None:
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"index"
    content = skippable + pack("zstd", LINES) + skippable
    assert read_source(files(written(content))).texts == NOISE


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_truncation_keeps_the_rows_before_it(kind: str, written) -> None:
    content = pack(kind, LINES)
    path = written(content[: len(content) // 2])
    with pytest.raises(DamagedFileError, match=r"input\.bin: truncated"):
        read_source(files(path))
    outcome = read_source(files(path, on_bad_file="skip"))
    assert 4000 < len(outcome.texts) < 5000
    assert outcome.texts == NOISE[: len(outcome.texts)]
    assert not outcome.bad
    assert outcome.notes[0].kind == "damaged"


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_bad_checksum_keeps_the_rows_before_it(kind: str, written) -> None:
    content = bytearray(pack(kind, LINES))
    content[-5 if kind == "gzip" else -1] ^= 1
    path = written(bytes(content))
    with pytest.raises(DamagedFileError, match=r"input\.bin: damaged"):
        read_source(files(path))
    assert read_source(files(path, on_bad_file="skip")).texts == NOISE


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_member_damaged_inside_does_not_hide_those_before(kind: str, written) -> None:
    second = bytearray(pack(kind, LINES))
    second[len(second) // 3] ^= 0xFF
    path = written(pack(kind, LINES) + bytes(second))
    with pytest.raises(DamagedFileError):
        read_source(files(path))
    outcome = read_source(files(path, on_bad_file="skip"))
    assert outcome.texts[: len(NOISE)] == NOISE


def test_garbage_after_gzip_is_noted_and_padding_is_not(written) -> None:
    content = pack("gzip", LINES)
    assert read_source(files(written(content + bytes(100_000)))).notes == []
    for garbage in (b"x", b"\x1f", bytes(70_000) + b"tail"):
        outcome = read_source(files(written(content + garbage)))
        assert outcome.texts == NOISE
        assert [note.kind for note in outcome.notes] == ["trailing_garbage"]


def test_garbage_after_zstd_is_damage(written) -> None:
    path = written(pack("zstd", LINES) + b"garbage")
    with pytest.raises(DamagedFileError, match="damaged zstd"):
        read_source(files(path))
    assert read_source(files(path, on_bad_file="skip")).texts == NOISE


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"BZh91AY", "bzip2"),
        (b"PK\x03\x04", "zip"),
        (b"\xff\xfe{\0", "UTF-16"),
        (b"\0\0\0\0", "not recognisable"),
    ],
)
def test_other_formats_are_named(content: bytes, words: str, written) -> None:
    path = written(content)
    with pytest.raises(DamagedFileError, match=words):
        read_source(files(path))
    outcome = read_source(files(path, on_bad_file="skip"))
    assert words in outcome.notes[0].detail


def test_what_expands_a_thousandfold_is_given_in_parts():
    """A worker must survive 256 MiB of one letter in a few KB."""
    whole = zstandard.ZstdCompressor(level=19).compress(b"a" * (256 << 20))
    assert len(whole) < 64 << 10
    sizes = [len(part) for part in DecompressedStream(io.BytesIO(whole), "bomb.zst")]
    assert sum(sizes) == 256 << 20
    assert max(sizes) <= 66 << 20
