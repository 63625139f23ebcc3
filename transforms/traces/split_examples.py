"""Shares the chosen examples out: train or validation, and by the piece they wait in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import TaggedOutput
from apache_beam.typehints.decorators import no_annotations

from transforms import ledger, records
from transforms.traces.records import UNIQUE, problems
from transforms.traces.split import in_validation

TRAIN, VALIDATION = 0, 1
SPLITS = (ledger.TRAIN, ledger.VALIDATION)


class Split(NamedTuple):
    """Outputs of `SplitExamples`.

    Attributes:
      by_piece: (piece number, packed `UNIQUE`).
      held_out: packed `UNIQUE`, those of the validation split.
      entries: ledger entries: train, validation.
      counts: (split, examples), one for each split that has any.
    """

    by_piece: beam.PCollection[tuple[int, bytes]]
    held_out: beam.PCollection[bytes]
    entries: beam.PCollection[ledger.Entry]
    counts: beam.PCollection[tuple[str, int]]


_CountOutput = TaggedOutput[Literal["counts"], tuple[str, int]]
_HeldOutOutput = TaggedOutput[Literal["held_out"], bytes]


@dataclass
class _Split(beam.DoFn):
    val_fraction: float
    source: str

    def process(
        self, packed: bytes
    ) -> Iterator[tuple[int, bytes] | ledger.EntryOutput | _CountOutput | _HeldOutOutput]:
        found = np.frombuffer(packed, UNIQUE)
        held_out = in_validation(problems(found), self.val_fraction)
        for split, which in zip(SPLITS, (~held_out, held_out), strict=True):
            if which.any():
                amount = int(which.sum()), int(found["size"][which].sum(dtype=np.int64))
                yield ledger.EntryOutput("entries", ledger.entry(self.source, split, *amount))
                yield _CountOutput("counts", (split, amount[0]))
        if held_out.any():
            yield _HeldOutOutput("held_out", found[held_out].tobytes())
        yield from records.split(found, records.ref_pieces(found["ref"]))


@dataclass
class SplitExamples(beam.PTransform):
    """Decides the split of each example by its problem alone.

    In: packed `UNIQUE`. Out: `Split`.
    """

    val_fraction: float
    source: str

    @no_annotations
    def expand(self, chosen: beam.PCollection[bytes]) -> Split:
        """Wires the splitting."""
        outputs = chosen | "Split" >> beam.ParDo(
            _Split(self.val_fraction, self.source)
        ).with_outputs("entries", "counts", "held_out", main="by_piece")
        counts = outputs["counts"] | "SumCounts" >> beam.CombinePerKey(sum)
        return Split(outputs["by_piece"], outputs["held_out"], outputs["entries"], counts)
