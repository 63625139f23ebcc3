"""The account of what became of every document, made from PCollections rather than metrics.

Metrics are lost or doubled when bundles are retried; elements are not.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from transforms.errors import InternalError
from transforms.sources import TOTAL

READ = "read"
MALFORMED = "malformed"
EMPTY = "empty"
FILTERED = "filtered"
EXACT_DUPLICATE = "exact_duplicate"
NEAR_DUPLICATE = "near_duplicate"
NO_TOKENS = "encodes_to_nothing"
OVER_CAP = "held_out_over_cap"
OVER_BUDGET = "over_budget"
TRAIN = "train"
VAL = "val"

# Of the traces job.
DUPLICATE = "duplicate"
OVER_LIMIT = "over_limit"
VALIDATION = "validation"
ENCODED = "encoded"
DROPPED = "dropped"

# Told beside the account, not part of its sum.
CHAINED = "near_duplicate_by_chain"
TRAIN_REPEATS = "train_repeats"
KEPT_WITH = "kept_with"
ASIDE = (CHAINED, TRAIN_REPEATS, KEPT_WITH)

Entry = tuple[tuple[str, str], tuple[int, ...]]
"""(source, outcome) and (documents, bytes); `transforms.statistics` puts other counts there."""

EntryOutput = TaggedOutput[Literal["entries"], Entry]
"""An entry beside the main output of a DoFn."""


def entry(source: str, outcome: str, documents: int, size: int) -> Entry:
    """One line of the account.

    Args:
      source: name of the source.
      outcome: one of this module's words; `malformed`, `filtered`, `dropped` and `kept_with` take
        ":" and a reason.
      documents: how many.
      size: bytes of UTF-8 text; 0 for malformed rows.
    """
    return (source, outcome), (documents, size)


def add(amounts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Sums tuples of counts, all of one length, place by place."""
    return tuple(map(sum, zip(*amounts, strict=True)))


class Tally(beam.PTransform):
    """Sums the account, and what travels with it.

    In: `Entry`. Out: `Entry`, one for each (source, outcome).
    """

    def expand(
        self, entries: beam.PCollection[Entry]
    ) -> beam.PCollection[tuple[tuple[str, str], tuple[int, ...]]]:
        """Wires the sum."""
        return entries | "Sum" >> beam.CombinePerKey(add)


def as_table(entries: Iterable[Entry], sources: Iterable[str]) -> dict[str, dict[str, dict]]:
    """Arranges a tally by source.

    Returns:
      source, then outcome (with ":" and reason), then {"documents", "bytes"}; a source that had
      no row is there too, with `read` 0; a last "total" row sums the sources.
    """
    table: dict[str, dict[str, dict]] = {
        name: {READ: {"documents": 0, "bytes": 0}} for name in sources
    }
    total: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    total[READ] = [0, 0]
    for (source, outcome), (documents, size) in sorted(entries):
        table[source][outcome] = {"documents": documents, "bytes": size}
        total[outcome][0] += documents
        total[outcome][1] += size
    table[TOTAL] = {
        outcome: {"documents": documents, "bytes": size}
        for outcome, (documents, size) in sorted(total.items())
    }
    return table


def imbalances(table: dict[str, dict[str, dict]]) -> list[str]:
    """Lines that say where what was read is not what became of it; empty if it balances."""
    found = []
    for source, outcomes in table.items():
        for unit in ("documents", "bytes"):
            read = outcomes[READ][unit]
            became = sum(
                amount[unit]
                for outcome, amount in outcomes.items()
                if outcome != READ and outcome.partition(":")[0] not in ASIDE
            )
            if read != became:
                found.append(f"{source}: read {read} {unit}, accounted for {became}")
    return found


def check(table: dict[str, dict[str, dict]]) -> None:
    """Fails the job if the account does not balance.

    Raises:
      InternalError: naming each source and unit that is off.
    """
    found = imbalances(table)
    if found:
        raise InternalError("the ledger does not balance: " + "; ".join(found))
