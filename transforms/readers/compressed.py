"""What a file is by its first bytes, and streams of gzip and zstd read to their very end."""

from collections.abc import Iterator
from typing import BinaryIO, Protocol

import zstandard
from isal import isal_zlib

from transforms import storage
from transforms.documents import Piece, RowBatch
from transforms.errors import DamagedFileError
from transforms.readers.jsonl import parse_blocks
from transforms.readers.lines import BLOCK
from transforms.readers.rows import NOTE_TRAILING_GARBAGE, FileNote
from transforms.sources import SourceSpec

GZIP = "gzip"
ZSTD = "zstd"
PARQUET = "parquet"
TEXT = "text"

HEAD_BYTES = 64

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a byte 50 to 5f
_UNREAD = {
    b"PARE": "parquet with an encrypted footer",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
    b"\x04\x22\x4d\x18": "lz4",
    b"ARROW1": "Arrow IPC",
    b"Obj\x01": "Avro",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
# isal's types take the class for one of its errors.
_DAMAGED: tuple[type[Exception], ...] = (
    isal_zlib.error,  # type: ignore[assignment]
    zstandard.ZstdError,
)
# Compressed bytes handed on at a time. A decoder gives all that they expand to at once: gzip a
# thousandfold, zstd 4 bytes to a block of 128 KiB, so that either step gives 64 MiB at most. Small
# steps also keep copying what follows each of many tiny members cheap.
_STEPS = {GZIP: 64 << 10, ZSTD: 2 << 10}
# zstd --long=31, as some dumps are.
_LARGEST_WINDOW = 1 << 31


def sniff(head: bytes, path: str) -> str:
    """What a file is: `GZIP`, `ZSTD`, `PARQUET` or `TEXT`.

    Args:
      head: its first `HEAD_BYTES` bytes.

    Raises:
      DamagedFileError: it is none of them.
    """
    if head.startswith(_GZIP_MAGIC):
        return GZIP
    if head.startswith(_ZSTD_MAGIC) or _is_skippable(head):
        return ZSTD
    if head.startswith(b"PAR1"):
        return PARQUET
    for magic, name in _UNREAD.items():
        if head.startswith(magic):
            raise DamagedFileError(
                f"{path}: this is {name}, which is not read: give jsonl (plain, gzip, zstd) "
                "or parquet"
            )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start and start[0] < 0x20:
        raise DamagedFileError(
            f"{path}: not recognisable as jsonl (plain, gzip, zstd) or parquet: "
            f"it begins with the bytes {head[:8].hex(' ')}"
        )
    return TEXT


def _is_skippable(head: bytes) -> bool:
    return head[:1] != b"" and head[0] & 0xF0 == 0x50 and head[1:4] == _ZSTD_SKIPPABLE


def read_compressed_jsonl(piece: Piece, spec: SourceSpec) -> Iterator[RowBatch | FileNote]:
    """Rows of a whole compressed file, and a note of garbage after its last gzip member.

    Raises:
      DamagedFileError: after the rows before the damage.
    """
    with storage.open_read(piece.path) as file:
        stream = DecompressedStream(file, piece.path)
        yield from parse_blocks(stream, spec, at_start=True)
        if stream.garbage:
            yield FileNote(
                piece.path,
                NOTE_TRAILING_GARBAGE,
                f"{piece.path}: the bytes from {stream.garbage} on follow the last gzip member "
                "and are not gzip; the rows before are kept",
            )


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class DecompressedStream:
    """The bytes of a gzip or zstd file: all members or frames, about a mebibyte at a time.

    Iteration raises DamagedFileError, after all bytes before the damage, where the file is
    truncated, fails its checksum or goes on with something else than another zstd frame.

    Attributes:
      garbage: once iterated, the offset of bytes after the last gzip member that are not gzip;
        0 where there are none. (Zero bytes there are padding.)
    """

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self._format = sniff(file.read(HEAD_BYTES), path)
        self._step = _STEPS[self._format]
        self.garbage = 0

    def __iter__(self) -> Iterator[bytes]:
        parts: list[bytes] = []
        pending = 0
        try:
            for part in self._parts():
                parts.append(part)
                pending += len(part)
                if pending >= BLOCK:
                    yield b"".join(parts)
                    parts, pending = [], 0
        except DamagedFileError:
            yield b"".join(parts)
            raise
        yield b"".join(parts)

    def _parts(self) -> Iterator[bytes]:
        self._file.seek(0)
        data, offset = self._file.read(self._step), 0
        while data:
            member_start = offset
            decoder = self._decoder()
            while not decoder.eof:
                if not data:
                    raise DamagedFileError(
                        f"{self._path}: truncated: the {self._format} data ends too early at byte "
                        f"{offset}; fetch the file again, or set on_bad_file: skip"
                    )
                try:
                    yield decoder.decompress(data)
                except _DAMAGED as error:
                    yield from self._salvage(member_start, offset, data)
                    raise DamagedFileError(
                        f"{self._path}: damaged {self._format} data after byte {offset} "
                        f"({error}); fetch the file again, or set on_bad_file: skip"
                    ) from error
                offset += len(data)
                if not decoder.eof:
                    data = self._file.read(self._step)
            offset -= len(decoder.unused_data)
            data = decoder.unused_data or self._file.read(self._step)
            if self._format == GZIP:
                data, offset = self._skip_padding(data, offset)
                if len(data) == 1:
                    data += self._file.read(self._step)
                if data and not data.startswith(_GZIP_MAGIC):
                    self.garbage = offset
                    return

    def _decoder(self) -> _Decoder:
        if self._format == GZIP:
            return isal_zlib.decompressobj(wbits=31)
        return zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()

    def _skip_padding(self, data: bytes, offset: int) -> tuple[bytes, int]:
        while data:
            rest = data.lstrip(b"\0")
            offset += len(data) - len(rest)
            if rest:
                return rest, offset
            data = self._file.read(self._step)
        return b"", offset

    def _salvage(self, member_start: int, offset: int, data: bytes) -> Iterator[bytes]:
        """What the decoder would have given of `data` had it not failed.

        A decoder that fails keeps the output of that call to itself. The member is decoded anew,
        its last bytes one by one.
        """
        decoder = self._decoder()
        self._file.seek(member_start)
        while member_start < offset:
            again = self._file.read(min(self._step, offset - member_start))
            member_start += len(again)
            decoder.decompress(again)
        try:
            for place in range(len(data)):
                yield decoder.decompress(data[place : place + 1])
        except _DAMAGED:
            return
