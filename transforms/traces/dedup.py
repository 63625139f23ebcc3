"""Leaves one example of each problem."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.typehints.decorators import no_annotations

from transforms import keys, ledger, records
from transforms.counters import count
from transforms.traces.records import PARSED, PROBLEM_ORDER, UNIQUE, text_digests


def unique_examples(found: np.ndarray, seed: int, source: str) -> np.ndarray:
    """Of the examples of each problem, the first by keep key, with its pick key.

    Args:
      found: `PARSED`, all with the problems that occur in it.

    Returns:
      `UNIQUE`, ordered by problem.
    """
    keep = keys.order_keys("keep", seed, source, text_digests(found))
    # Equal keep keys are equal examples; which of their rows is taken makes no difference.
    problem = [found[name] for name in reversed(PROBLEM_ORDER)]
    ordered = found[np.lexsort([found["ref"], keep[:, 1], keep[:, 0], *problem])]
    first = ordered[records.run_starts(ordered, *PROBLEM_ORDER)]
    unique = records.widened(first, UNIQUE)
    picks = keys.order_keys("pick", seed, source, text_digests(first))
    unique["pick_hi"], unique["pick_lo"] = picks.T
    return unique


class Deduplicated(NamedTuple):
    """Outputs of `DedupProblems`.

    Attributes:
      unique: packed `UNIQUE`.
      entries: ledger entries of the duplicates.
    """

    unique: beam.PCollection[bytes]
    entries: beam.PCollection[ledger.Entry]


@dataclass
class _DedupPartition(beam.DoFn):
    seed: int
    source: str

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[bytes | ledger.EntryOutput]:
        found = records.unpack(group[1], PARSED)
        count(len(found))
        unique = unique_examples(found, self.seed, self.source)
        if len(unique) < len(found):
            sizes = [int(part["size"].sum(dtype=np.int64)) for part in (found, unique)]
            amount = len(found) - len(unique), sizes[0] - sizes[1]
            yield ledger.EntryOutput(
                "entries", ledger.entry(self.source, ledger.DUPLICATE, *amount)
            )
        yield unique.tobytes()


@dataclass
class DedupProblems(beam.PTransform):
    """Leaves one example of each problem.

    In: (partition of the problem's digest, packed `PARSED`). Out: `Deduplicated`. A worker holds
    one partition.
    """

    seed: int
    source: str

    @no_annotations
    def expand(self, problems: beam.PCollection[tuple[int, bytes]]) -> Deduplicated:
        """Wires the grouping by problem."""
        outputs = (
            problems
            | "GroupProblems" >> beam.GroupByKey()
            | "DedupPartition"
            >> beam.ParDo(_DedupPartition(self.seed, self.source)).with_outputs(
                "entries", main="unique"
            )
        )
        return Deduplicated(outputs["unique"], outputs["entries"])
