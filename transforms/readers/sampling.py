"""A seeded sample of a source's rows, drawn over all that it has.

Places are drawn at equal distances from a random start, so that each byte of the input is as likely
as any other. What a part stands for is counted in units of the input (bytes of files, generated
documents), whose total is known without reading: a ratio then tells about the whole.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from transforms import readers, storage
from transforms.documents import Piece, RowBatch
from transforms.errors import DamagedFileError
from transforms.readers import compressed, jsonl, parquet
from transforms.readers.lines import OverlongLine, split_lines
from transforms.readers.planning import Plan, units_of
from transforms.sources import HubInput, SourceSpec, SyntheticInput

PARTS = 16
PART_BYTES = 512 << 10
COMPRESSED_BYTES = 64 << 20
HUB_SHARDS = 4


@dataclass
class Part:
    """Rows from one place of a source.

    Attributes:
      piece: that they are from; the rows are numbered anew from 0.
      units: how much of the input they are; 0 where that is not known.
      cpu_seconds: what reading them took, with what had to be passed over to get there left out.
    """

    piece: Piece
    batches: list[RowBatch] = field(default_factory=list)
    units: float = 0.0
    cpu_seconds: float = 0.0


@dataclass(frozen=True)
class Sample:
    """A source's sample.

    Attributes:
      parts: at least one, unless the source has no rows.
      total: units of the whole input; None where they are not known (a hub's).
    """

    parts: list[Part]
    total: float | None

    def whole(self) -> bool:
        """Whether the sample is all there is."""
        read = sum(part.units for part in self.parts)
        return self.total is not None and read >= self.total * (1 - 1e-9)


def sample(planned: Plan, seed: int) -> Sample:
    """Reads a sample of a source, about `PARTS` times `PART_BYTES` of text; all, if that is less.

    Raises:
      CorpusError: what is read cannot be read as the recipe says.
    """
    spec = planned.spec
    generator = np.random.default_rng(seed)
    if isinstance(spec.input, HubInput):
        chosen = generator.permutation(len(planned.pieces))[:HUB_SHARDS]
        return Sample([_head(planned.pieces[k], spec) for k in sorted(chosen)], None)
    sizes = units_of(planned.pieces, dict(planned.inputs))
    total = float(sum(sizes))
    drawn = _draw(sizes, generator.random())
    parts: list[Part] = []
    if isinstance(spec.input, SyntheticInput):
        for place in drawn:
            parts.append(_all_rows(planned.pieces[place], spec, sizes[place]))
        return Sample(parts, total)
    many = sum(planned.pieces[place].kind == "compressed_jsonl" for place in drawn)
    for place, offsets in drawn.items():
        piece = planned.pieces[place]
        if piece.kind == "compressed_jsonl":
            most = COMPRESSED_BYTES // many
            parts += _rows_of_stream(piece, spec, sizes[place], offsets, most)
        elif piece.kind == "parquet":
            parts += _row_groups(piece, spec, sizes[place], offsets)
        else:
            parts += _slices(piece, spec, offsets)
    return Sample(parts, total)


def _draw(sizes: list[float], start: float) -> dict[int, list[float]]:
    """Places that are drawn, each with where in it: offsets from 0 to 1."""
    ends = np.cumsum(sizes)
    if not len(ends) or not ends[-1]:
        return {}
    at = (np.arange(PARTS) + start) * ends[-1] / PARTS
    places = np.searchsorted(ends, at, side="right")
    drawn: dict[int, list[float]] = {}
    for place, position in zip(places.tolist(), at.tolist(), strict=True):
        inside = 1 - (ends[place] - position) / sizes[place]
        drawn.setdefault(place, []).append(float(inside))
    return drawn


def _slices(piece: Piece, spec: SourceSpec, offsets: list[float]) -> Iterator[Part]:
    """Byte ranges of a piece of plain lines."""
    size = piece.stop - piece.start
    count = max(1, size // PART_BYTES)
    for slot in sorted({int(offset * count) for offset in offsets}):
        start = piece.start + size * slot // count
        stop = piece.start + size * (slot + 1) // count
        yield _all_rows(replace(piece, start=start, stop=stop), spec, float(stop - start))


def _row_groups(
    piece: Piece, spec: SourceSpec, units: float, offsets: list[float]
) -> Iterator[Part]:
    """The first rows of some row groups of a piece."""
    counts = parquet.row_counts(piece.path)[piece.start : piece.stop]
    for place in sorted({int(offset * len(counts)) for offset in offsets}):
        group = piece.start + place
        part = _head(replace(piece, start=group, stop=group + 1), spec)
        rows = sum(len(batch.rows) + len(batch.bad) for batch in part.batches)
        part.units = units * rows / max(1, sum(counts))
        yield part


def _all_rows(piece: Piece, spec: SourceSpec, units: float) -> Part:
    part = Part(piece, units=units)
    started = time.process_time()
    part.batches = [batch for batch in readers.read(piece, spec) if isinstance(batch, RowBatch)]
    part.cpu_seconds = time.process_time() - started
    return part


def _head(piece: Piece, spec: SourceSpec) -> Part:
    """The first rows of a piece; units are left to the caller."""
    part = Part(piece)
    held = 0
    started = time.process_time()
    for batch in readers.read(piece, spec):
        if isinstance(batch, RowBatch):
            part.batches.append(batch)
            held += len(batch.texts.data)
            if held >= PART_BYTES:
                break
    part.cpu_seconds = time.process_time() - started
    return part


def _rows_of_stream(
    piece: Piece, spec: SourceSpec, units: float, offsets: list[float], most: int
) -> list[Part]:
    """Every so many lines of a compressed file, as far as its first `most` bytes."""
    expected = min(units, most) * _expansion(piece.path)
    step = max(1, round(expected / (len(offsets) * PART_BYTES)))
    first = int(offsets[0] * step)
    found: list[Part] = []
    taken: list[int] = []
    passed = parse_seconds = 0.0
    line_count = 0
    parser = jsonl.RunParser(spec)
    started = time.process_time()
    with storage.open_read(piece.path) as file:
        stream = compressed.DecompressedStream(file, piece.path)
        limit = jsonl.ESCAPED_BYTES * spec.max_doc_bytes + jsonl.OTHER_COLUMNS_BYTES
        try:
            for lines in split_lines(stream, limit):
                if isinstance(lines, OverlongLine):
                    continue
                chosen = lines[(first - line_count) % step :: step]
                line_count += len(lines)
                passed += sum(map(len, lines)) + len(lines)
                parse_started = time.process_time()
                batch = parser.parse(b"\n".join(chosen) + b"\n", 0)
                part = Part(piece, [batch], cpu_seconds=time.process_time() - parse_started)
                parse_seconds += part.cpu_seconds
                found.append(part)
                taken.append(sum(map(len, chosen)) + len(chosen))
                if file.tell() >= most:
                    break
        except DamagedFileError:
            if spec.on_bad_file == "fail":
                raise
        consumed = min(units, file.tell())
    stream_seconds = time.process_time() - started - parse_seconds
    for part, size in zip(found, taken, strict=True):
        share = size / passed
        part.units = consumed * share
        part.cpu_seconds += stream_seconds * share
    return found


def _expansion(path: str) -> float:
    """What a byte of a compressed file expands to, by its first block."""
    with storage.open_read(path) as file:
        block = next(iter(compressed.DecompressedStream(file, path)))
        return len(block) / max(1, file.tell())
