"""Exact deduplication: of documents with the same normalised text, the preferred one survives."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.typehints.decorators import no_annotations

from transforms import ledger, records, specimens, statistics
from transforms.counters import count
from transforms.kernels.repeats import may_repeat
from transforms.packed import PackingDoFn


def survivors(found: np.ndarray, by_source: bool) -> tuple[np.ndarray, np.ndarray]:
    """Chooses among documents with equal digests.

    The survivor is the best by priority of its source, then by keep key; between equal texts of
    one source the hash of the id decides, so that the id listed does not depend on row order.

    Args:
      found: `records.EXACT`, all of the digests that occur in it.
      by_source: copies in different sources do not count as duplicates.

    Returns:
      positions of the survivors in `found`, int64 [n], and for each how many documents share
      its digest, int64 [n].
    """
    group = ("digest_hi", "digest_lo", "source") if by_source else ("digest_hi", "digest_lo")
    shared = may_repeat(found["digest_hi"])
    alone, rest = np.flatnonzero(~shared), np.flatnonzero(shared)
    order = rest[records.order_by(found[rest], *group, *records.PREFERENCE_ORDER, "tie", "ref")]
    starts = np.flatnonzero(records.run_starts(found[order], *group))
    copies = np.diff(np.r_[starts, len(order)])
    return np.r_[alone, order[starts]], np.r_[np.ones(len(alone), np.int64), copies]


class Deduplicated(NamedTuple):
    """Outputs of `ExactDedup`.

    Attributes:
      survivors: (piece number, packed `records.SURVIVOR`).
      entries: ledger entries of the duplicates, and statistics of them.
    """

    survivors: beam.PCollection[tuple[int, bytes]]
    entries: beam.PCollection[ledger.Entry]


@dataclass
class _DedupPartition(PackingDoFn):
    sources: tuple[str, ...]
    by_source: bool

    def process(
        self, group: tuple[int, Iterable[bytes]]
    ) -> Iterator[tuple[int, bytes] | ledger.EntryOutput]:
        found = records.unpack(group[1], records.EXACT)
        count(len(found))
        chosen, copies = survivors(found, self.by_source)
        dropped = np.ones(len(found), bool)
        dropped[chosen] = False
        for source in np.unique(found["source"][dropped]).tolist():
            of_source = dropped & (found["source"] == source)
            amount = int(of_source.sum()), int(found["size"][of_source].sum(dtype=np.int64))
            yield ledger.EntryOutput(
                "entries", ledger.entry(self.sources[source], ledger.EXACT_DUPLICATE, *amount)
            )
        for entry in self._told(found[chosen], copies):
            yield ledger.EntryOutput("entries", entry)
        kept = np.empty(len(chosen), records.SURVIVOR)
        kept["position"] = records.ref_positions(found["ref"][chosen])
        kept["copies"] = copies
        yield from self.packed(records.split(kept, records.ref_pieces(found["ref"][chosen])))

    def _told(self, survivors: np.ndarray, copies: np.ndarray) -> Iterator[ledger.Entry]:
        """How often texts are copied, and which most often."""
        copied = survivors["source"][copies > 1]
        for source in np.unique(copied).tolist():
            of_source = copies[copies > 1][copied == source]
            counts = statistics.histogram(statistics.COPIES, of_source)
            yield statistics.entry(self.sources[source], statistics.COPIES, counts)
        for specimen in specimens.copied_texts(survivors, copies):
            yield specimen.entry(self.sources[specimen.members[0].source])


@dataclass
class ExactDedup(beam.PTransform):
    """Leaves one document of each digest.

    In: (partition of the digest, packed `records.EXACT`). Out: `Deduplicated`. A worker holds one
    partition.

    Attributes:
      sources: names, by place in the recipe.
      by_source: deduplicate within each source only.
    """

    sources: tuple[str, ...]
    by_source: bool

    @no_annotations
    def expand(self, digests: beam.PCollection[tuple[int, bytes]]) -> Deduplicated:
        """Wires the grouping by digest."""
        outputs = (
            digests
            | "GroupDigests" >> beam.GroupByKey()
            | "DedupPartition"
            >> beam.ParDo(_DedupPartition(self.sources, self.by_source)).with_outputs(
                "entries", main="survivors"
            )
        )
        return Deduplicated(outputs["survivors"], outputs["entries"])
