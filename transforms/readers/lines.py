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


def split_lines(blocks: Iterable[bytes], limit: int) -> Iterator[list[bytes] | OverlongLine]:
    """Lines without their ends, about a block at a time.

    Args:
      blocks: bytes cut anywhere.
      limit: of a line, in bytes; a longer one is dropped as it streams by.
    """
    parts: list[bytes] = []
    pending = 0
    for block in blocks:
        end = block.rfind(b"\n")
        if end < 0:
            pending += len(block)
            # Beyond the limit only the start is of use: it is the sample of the rejected row.
            if pending <= limit:
                parts.append(block)
            else:
                parts = [b"".join([*parts, block])[:SAMPLE_BYTES]]
            continue
        if parts:
            first = block.find(b"\n")
            line = b"".join([*parts, block[:first]])
            lines = block[first + 1 : end].split(b"\n") if end > first else []
            if pending + first > limit:
                yield OverlongLine(line[:SAMPLE_BYTES])
            else:
                lines.insert(0, line)
        else:
            lines = block[:end].split(b"\n")
        if lines:
            yield lines
        rest = block[end + 1 :]
        parts, pending = [rest] if rest else [], len(rest)
    if pending > limit:
        yield OverlongLine(b"".join(parts)[:SAMPLE_BYTES])
    elif parts:
        yield [b"".join(parts)]
