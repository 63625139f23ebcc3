"""Pieces, ready to be read twice: what should not be is landed once in the work folder."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import apache_beam as beam
import orjson

from transforms import readers, storage
from transforms.documents import Piece
from transforms.readers.spec import SourceSpec
from transforms.work import WorkFolder, write_report


def in_order_of_work(pieces: list[Piece], sizes: Mapping[str, int]) -> list[Piece]:
    """Puts what is to be landed first, the largest first.

    A runner that deals elements out to its workers in turn then gives each about as much to do.

    Args:
      sizes: bytes of the files, by path.
    """
    landed = [
        (-sizes.get(piece.path, 0), place)
        for place, piece in enumerate(pieces)
        if readers.needs_landing(piece, sizes.get(piece.path, 0))
    ]
    first = {place for _, place in landed}
    rest = [piece for place, piece in enumerate(pieces) if place not in first]
    return [pieces[place] for _, place in sorted(landed)] + rest


def write_pieces(path: str, pieces: list[Piece]) -> None:
    """Writes the planned pieces where the graph reads them; a plan may be too large for a graph."""
    storage.write_whole(path, b"".join(orjson.dumps(asdict(piece)) + b"\n" for piece in pieces))


def read_pieces(path: str) -> Iterator[Piece]:
    """Reads the planned pieces."""
    for line in storage.read_bytes(path).splitlines():
        yield Piece(**orjson.loads(line))


@dataclass
class _Land(beam.DoFn):
    sources: tuple[SourceSpec, ...]
    work: WorkFolder

    def process(self, piece: Piece) -> Iterator[Piece]:
        size = storage.size(piece.path) if piece.kind == "compressed_jsonl" else 0
        if not readers.needs_landing(piece, size):
            yield piece
            return
        report = self.work.landed_report(piece.number)
        done = self.work.done(report)
        if done is not None:
            yield from (Piece(**landed) for landed in done)
            return
        pieces = list(readers.land(piece, self.sources[piece.source], self.work.root))
        write_report(report, [asdict(landed) for landed in pieces])
        yield from pieces


@dataclass
class LandPieces(beam.PTransform):
    """Lists the planned pieces, landing those that are slow or impossible to read twice.

    In: a pipeline. Out: `Piece`. Side effect: files in the work folder.

    Attributes:
      sources: by place in the recipe.
    """

    sources: tuple[SourceSpec, ...]
    work: WorkFolder

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Piece]:
        """Wires the listing."""
        return (
            pipeline
            | "PlanFile" >> beam.Create([self.work.pieces()], reshuffle=False)
            | "ReadPieces" >> beam.FlatMap(read_pieces)
            | "SpreadPlanned" >> beam.Reshuffle()
            | "Land" >> beam.ParDo(_Land(self.sources, self.work))
            | "SpreadPieces" >> beam.Reshuffle()
        )
