"""`scan_limit`: lands the first rows in file order, so that no more of the input is read."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import apache_beam as beam
import numpy as np

from transforms import readers
from transforms.counters import count_input
from transforms.documents import Piece, RowBatch
from transforms.land import counted, read_pieces
from transforms.readers.landed import land_rows
from transforms.readers.rows import FileNote
from transforms.traces.parse_rows import ParseSettings, gives_example
from transforms.work import write_report


@dataclass
class _UpToLimit:
    """Passes rows on until so many of them have given an example."""

    settings: ParseSettings
    left: int

    def rows(self, piece: Piece) -> Iterator[RowBatch | FileNote]:
        """The rows of a piece, up to the one that reaches the limit."""
        for batch in readers.read(piece, self.settings.source):
            if isinstance(batch, FileNote):
                yield batch
                continue
            good = np.cumsum(gives_example(batch, self.settings.parser))
            if not len(good) or good[-1] < self.left:
                self.left -= int(good[-1]) if len(good) else 0
                yield batch
            else:
                count = int(np.searchsorted(good, self.left)) + 1
                self.left = 0
                yield _head(batch, count)
                return


def _head(batch: RowBatch, count: int) -> RowBatch:
    """The first good rows of a batch, and the bad ones before the last of them."""
    rows = batch.rows[:count]
    bad = [row for row in batch.bad if row.row < rows[-1]]
    ids = None if batch.ids is None else batch.ids[:count]
    return RowBatch(rows, batch.texts.take(np.arange(count)), ids, bad)


def land_first(pieces: Iterable[Piece], settings: ParseSettings, limit: int) -> Iterator[Piece]:
    """Lands rows, in the order of the files, until `limit` of them have given an example."""
    reading = _UpToLimit(settings, limit)
    # A plan is in order of work; numbers are in order of the files.
    for piece in sorted(pieces, key=lambda piece: piece.number):
        yield from land_rows(counted(reading.rows(piece)), piece, settings.work.root)
        if not reading.left:
            return


@dataclass
class _LandFirst(beam.DoFn):
    settings: ParseSettings
    limit: int

    def process(self, plan: str) -> Iterator[Piece]:
        work = self.settings.work
        landed = work.done(work.landed_first())
        if landed is None:
            landed = [asdict(p) for p in land_first(read_pieces(plan), self.settings, self.limit)]
            write_report(work.landed_first(), landed)
        pieces = [Piece(**piece) for piece in landed]
        count_input(sum(piece.size for piece in pieces))
        yield from pieces


@dataclass
class LandFirstRows(beam.PTransform):
    """Lands the first rows of the planned pieces; one worker reads them, for order matters here.

    In: a pipeline. Out: `Piece`. Side effect: files in the work folder.

    Attributes:
      limit: how many examples the rows give.
    """

    settings: ParseSettings
    limit: int

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Piece]:
        """Wires the landing."""
        return (
            pipeline
            | "PlanFile" >> beam.Create([self.settings.work.pieces()], reshuffle=False)
            | "LandFirst" >> beam.ParDo(_LandFirst(self.settings, self.limit))
            | "SpreadPieces" >> beam.Reshuffle()
        )
