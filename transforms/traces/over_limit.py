"""The account of unique examples that a recipe's `limit` leaves out."""

from collections.abc import Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np

from transforms import ledger
from transforms.traces.records import UNIQUE


@dataclass
class _Count(beam.DoFn):
    source: str

    def process(self, packed: bytes) -> Iterator[ledger.Entry]:
        found = np.frombuffer(packed, UNIQUE)
        size = int(found["size"].sum(dtype=np.int64))
        yield ledger.entry(self.source, ledger.OVER_LIMIT, len(found), size)


@dataclass
class CountLeft(beam.PTransform):
    """Counts what is left over.

    In: packed `UNIQUE`. Out: `ledger.Entry`.
    """

    source: str

    def expand(self, left: beam.PCollection[bytes]) -> beam.PCollection[ledger.Entry]:
        """Wires the count."""
        return left | "CountLeft" >> beam.ParDo(_Count(self.source))
