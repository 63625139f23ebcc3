r"""Streams of bytes cut into lines, which end at `\n` only, in bounded memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from transforms.readers.rows import SAMPLE_BYTES

BLOCK = 1 << 20


@dataclass(frozen=True)
class OverlongLine:
    """A line over the limit, of which only the start was kept."""

    head: bytes


def range_blocks(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    """The lines that start at the bytes `start` to `stop` of a file, whole, in blocks.

    Blocks are cut anywhere. The ranges that partition a file partition its lines.
    """
    # The line at `start` is this range's own only if the byte before is a line's end.
    file.seek(max(start - 1, 0))
    position = max(start - 1, 0)
    inside = start == 0
    block = b""
    while position < stop:
        block = file.read(min(BLOCK, stop - position))
        if not block:
            return
        position += len(block)
        if not inside:
            end = block.find(b"\n") + 1
            inside = end > 0
            block = block[end:]
        if inside and block:
            yield block
    if not inside or block.endswith(b"\n") or not block:
        return
    while rest := file.read(BLOCK):
        end = rest.find(b"\n") + 1
        yield rest[:end] if end else rest
        if end:
            return


def whole_lines(blocks: Iterable[bytes], limit: int) -> Iterator[bytes | OverlongLine]:
    """Runs of whole lines, each line with its end, about a block at a time.

    A last line that lacks its end is given one.

    Args:
      blocks: bytes cut anywhere.
      limit: of a line, in bytes; a longer one is dropped as it streams by.
    """
    parts: list[bytes] = []
    pending = 0
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if not end:
            pending += len(block)
            # Beyond the limit only the start is of use: it is the sample of the rejected row.
            if pending <= limit:
                parts.append(block)
            else:
                parts = [b"".join([*parts, block])[:SAMPLE_BYTES]]
            continue
        first = block.find(b"\n")
        if pending and pending + first > limit:
            yield OverlongLine(b"".join([*parts, block[:first]])[:SAMPLE_BYTES])
            lines = block[first + 1 : end]
        else:
            lines = b"".join([*parts, memoryview(block)[:end]])
        if lines:
            yield lines
        rest = block[end:]
        parts, pending = [rest] if rest else [], len(rest)
    if pending > limit:
        yield OverlongLine(b"".join(parts)[:SAMPLE_BYTES])
    elif parts:
        yield b"".join([*parts, b"\n"])


def split_lines(blocks: Iterable[bytes], limit: int) -> Iterator[list[bytes] | OverlongLine]:
    """The lines of `whole_lines` one by one, without their ends."""
    for lines in whole_lines(blocks, limit):
        yield lines if isinstance(lines, OverlongLine) else lines[:-1].split(b"\n")
