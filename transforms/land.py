"""Pieces, ready to be read twice: what should not be is landed once in the work folder."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import apache_beam as beam
import orjson

from transforms import readers, storage
from transforms.documents import Piece
from transforms.readers.spec import SourceSpec


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
    folder: str

    def process(self, piece: Piece) -> Iterator[Piece]:
        size = storage.size(piece.path) if piece.kind == "compressed_jsonl" else 0
        if readers.needs_landing(piece, size):
            yield from readers.land(piece, self.sources[piece.source], self.folder)
        else:
            yield piece


@dataclass
class LandPieces(beam.PTransform):
    """Lists the planned pieces, landing those that are slow or impossible to read twice.

    In: a pipeline. Out: `Piece`. Side effect: files in the work folder.

    Attributes:
      pieces: path of the planned pieces.
      sources: by place in the recipe.
      folder: of the work files.
    """

    pieces: str
    sources: tuple[SourceSpec, ...]
    folder: str

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Piece]:
        """Wires the listing."""
        return (
            pipeline
            | "PlanFile" >> beam.Create([self.pieces], reshuffle=False)
            | "ReadPieces" >> beam.FlatMap(read_pieces)
            | "SpreadPlanned" >> beam.Reshuffle()
            | "Land" >> beam.ParDo(_Land(self.sources, self.folder))
            | "SpreadPieces" >> beam.Reshuffle()
        )
