"""Pieces, ready to be read twice: what should not be is landed once in the work folder."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import apache_beam as beam
import orjson

from transforms import readers, storage
from transforms.counters import count, count_input
from transforms.documents import Piece, RowBatch
from transforms.readers.landed import land_rows
from transforms.readers.planning import units_of
from transforms.readers.rows import FileNote
from transforms.sources import SourceSpec
from transforms.work import WorkFolder, write_report

# A compressed file is one task; beyond this it is a long one, and what reads it holds much.
LARGE_COMPRESSED_BYTES = 64_000_000
# A smaller one is landed too if it would keep one worker busy while the others wait.
SMALL_COMPRESSED_BYTES = 4_000_000
LARGE_SHARE = 1 / 8
# Bytes of text, about, in a unit of what a piece of this kind covers (see `planning.units_of`), of
# the benchmark's files; of others 1.
_TEXT_BYTES = {"compressed_jsonl": 2.6, "parquet": 2.0, "synthetic": 1600.0}


def plan_work(pieces: list[Piece], sizes: Mapping[str, int]) -> list[Piece]:
    """Marks the pieces that are to be landed, puts long tasks first, and tells how long they are.

    What should not be read twice is landed: a hub's shards; compressed files that are large, or
    large among all the input. A runner that deals elements out to its workers in turn gives each
    about as much to do if the longest come first.

    Args:
      sizes: bytes of all the input's files, by path.
    """
    total = sum(sizes.values())

    def work(piece: Piece) -> tuple[bool, int]:
        size = sizes.get(piece.path, 0)
        if piece.kind == "hub":
            return True, size
        if piece.kind != "compressed_jsonl":
            return False, 0
        large = size > LARGE_COMPRESSED_BYTES
        large_here = size > SMALL_COMPRESSED_BYTES and size > LARGE_SHARE * total
        return large or large_here, size

    sized = [
        replace(piece, land=work(piece)[0], size=round(units * _TEXT_BYTES.get(piece.kind, 1)))
        for piece, units in zip(pieces, units_of(pieces, sizes), strict=True)
    ]
    return sorted(sized, key=work, reverse=True)


def write_pieces(path: str, pieces: list[Piece]) -> None:
    """Writes the planned pieces where the graph reads them; a plan may be too large for a graph."""
    storage.write_whole(path, b"".join(orjson.dumps(asdict(piece)) + b"\n" for piece in pieces))


def read_pieces(path: str) -> Iterator[Piece]:
    """Reads the planned pieces."""
    for line in storage.read_bytes(path).splitlines():
        yield Piece(**orjson.loads(line))


def counted(rows: Iterable[RowBatch | FileNote]) -> Iterator[RowBatch | FileNote]:
    """Passes rows on, and counts them."""
    for batch in rows:
        if isinstance(batch, RowBatch):
            count(len(batch.rows), text_bytes=len(batch.texts.data))
        yield batch


@dataclass
class _Land(beam.DoFn):
    sources: tuple[SourceSpec, ...]
    work: WorkFolder
    landed_bytes: int

    def process(self, piece: Piece) -> Iterator[Piece]:
        pieces = self._land(piece) if piece.land else [piece]
        count_input(sum(ready.size for ready in pieces))
        yield from pieces

    def _land(self, piece: Piece) -> list[Piece]:
        report = self.work.landed_report(piece.number)
        done = self.work.done(report)
        if done is not None:
            return [Piece(**landed) for landed in done]
        rows = counted(readers.read(piece, self.sources[piece.source]))
        pieces = list(land_rows(rows, piece, self.work.root, self.landed_bytes))
        write_report(report, [asdict(landed) for landed in pieces])
        return pieces


@dataclass
class LandPieces(beam.PTransform):
    """Lists the planned pieces, landing those that are slow or impossible to read twice.

    In: a pipeline. Out: `Piece`. Side effect: files in the work folder.

    Attributes:
      sources: by place in the recipe.
      landed_bytes: of text in a landed piece, if more than the least.
    """

    sources: tuple[SourceSpec, ...]
    work: WorkFolder
    landed_bytes: int = 0

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Piece]:
        """Wires the listing."""
        return (
            pipeline
            | "PlanFile" >> beam.Create([self.work.pieces()], reshuffle=False)
            | "ReadPieces" >> beam.FlatMap(read_pieces)
            | "SpreadPlanned" >> beam.Reshuffle()
            | "Land" >> beam.ParDo(_Land(self.sources, self.work, self.landed_bytes))
            | "SpreadPieces" >> beam.Reshuffle()
        )
