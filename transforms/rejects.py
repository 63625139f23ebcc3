"""Samples of the rows that a source lost, with the reason, for people to look at."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam

from transforms import storage
from transforms.account import REJECTS_PER_REASON, Reject

FOLDER = "rejects"


def _by_source(
    sampled: tuple[tuple[str, str], list[tuple[bytes, bytes]]],
) -> tuple[str, tuple[str, list[tuple[bytes, bytes]]]]:
    (source, outcome), rows = sampled
    return source, (outcome, rows)


@dataclass
class _WriteRejects(beam.DoFn):
    output: str

    def process(
        self, group: tuple[str, Iterable[tuple[str, list[tuple[bytes, bytes]]]]]
    ) -> Iterator[str]:
        source, by_outcome = group
        path = storage.join(self.output, FOLDER, f"{source}.jsonl")
        rows = [row for _, sampled in sorted(by_outcome) for _, row in sampled]
        storage.write_whole(path, b"".join(row + b"\n" for row in rows))
        yield path


@dataclass
class WriteRejects(beam.PTransform):
    """Writes the least rejected rows by key of each source and reason to `rejects/`.

    In: `Reject`. Out: paths of the files, one a source that lost rows.

    Attributes:
      output: folder of the corpus.
    """

    output: str

    def expand(self, rejects: beam.PCollection[Reject]) -> beam.PCollection[str]:
        """Wires the sampling and the writing."""
        return (
            rejects
            | "Least" >> beam.combiners.Top.SmallestPerKey(REJECTS_PER_REASON)
            | "BySource" >> beam.Map(_by_source)
            | "GroupSource" >> beam.GroupByKey()
            | "WriteRejects" >> beam.ParDo(_WriteRejects(self.output))
        )
