"""Takes records in pick order until they cost a given amount; no worker sees all of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import AsDict, TaggedOutput
from apache_beam.typehints.decorators import no_annotations

from transforms import pick_order, records

# There is one pick order, so all that is summed and grouped has one key.
_KEY = 0
_PICK_KEY = np.dtype("<u8")


class Taken(NamedTuple):
    """Outputs of `TakeFirst`, both packed records.

    Attributes:
      taken: those up to the one with which the costs first reach the amount; all if they do not.
      left: the others.
    """

    taken: beam.PCollection[bytes]
    left: beam.PCollection[bytes]


@dataclass(frozen=True)
class FirstSettings:
    """How much is taken, of what.

    Attributes:
      amount: at least 1.
      dtype: of the packed records; it has `pick_hi` and `pick_lo`.
      cost: the field that a record costs; 1 each where there is none.
    """

    amount: int
    dtype: np.dtype
    cost: str | None = None

    def picks_and_costs(self, packed: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Pick keys, uint64 [n, 2], and costs, int64 [n], of packed records."""
        found = np.frombuffer(packed, self.dtype)
        picks = np.stack([found["pick_hi"], found["pick_lo"]], axis=1)
        if self.cost is None:
            return picks, np.ones(len(found), np.int64)
        return picks, found[self.cost].astype(np.int64)


@dataclass
class _Histogram(beam.DoFn):
    settings: FirstSettings

    def process(self, packed: bytes) -> Iterator[tuple[int, bytes]]:
        yield _KEY, pick_order.histogram(*self.settings.picks_and_costs(packed))


@dataclass
class _InRangeOfCut(beam.DoFn):
    settings: FirstSettings

    def process(self, packed: bytes, histograms: dict[int, bytes]) -> Iterator[tuple[int, bytes]]:
        histogram, amount = histograms[_KEY], self.settings.amount
        if pick_order.total_cost(histogram) < amount:
            return
        picks, _ = self.settings.picks_and_costs(packed)
        cut_range, _ = pick_order.range_of_cut(histogram, amount)
        inside = np.frombuffer(packed, self.settings.dtype)[pick_order.in_range(picks, cut_range)]
        if len(inside):
            yield _KEY, inside.tobytes()


@dataclass
class _Cut(beam.DoFn):
    settings: FirstSettings

    def process(
        self, group: tuple[int, Iterable[bytes]], histograms: dict[int, bytes]
    ) -> Iterator[tuple[int, bytes]]:
        _, before = pick_order.range_of_cut(histograms[_KEY], self.settings.amount)
        picks, costs = self.settings.picks_and_costs(b"".join(group[1]))
        last = pick_order.last_taken(picks, costs, self.settings.amount - before)
        # As bytes: the coder of integers takes none from 2**63 on.
        yield _KEY, np.array(last, _PICK_KEY).tobytes()


@dataclass
class _Take(beam.DoFn):
    settings: FirstSettings

    def process(
        self, packed: bytes, cuts: dict[int, bytes]
    ) -> Iterator[bytes | TaggedOutput[Literal["left"], bytes]]:
        found = np.frombuffer(packed, self.settings.dtype)
        picks, _ = self.settings.picks_and_costs(packed)
        taken = np.ones(len(found), bool)
        if _KEY in cuts:
            taken = pick_order.taken(picks, *np.frombuffer(cuts[_KEY], _PICK_KEY).tolist())
        if taken.any():
            yield found[taken].tobytes()
        if not taken.all():
            yield TaggedOutput("left", found[~taken].tobytes())


@dataclass
class TakeFirst(beam.PTransform):
    """Takes the first records in pick order.

    In: packed records, not empty. Out: `Taken`. A worker holds one element, or the records of one
    65 536th of the pick order.
    """

    settings: FirstSettings

    @no_annotations
    def expand(self, packed: beam.PCollection[bytes]) -> Taken:
        """Wires the passes over the costs."""
        histograms = AsDict(
            packed
            | "Histogram" >> beam.ParDo(_Histogram(self.settings))
            | "SumHistograms" >> beam.CombinePerKey(pick_order.add_histograms)
        )
        cuts = AsDict(
            packed
            | "InRangeOfCut" >> beam.ParDo(_InRangeOfCut(self.settings), histograms)
            | "GroupRange" >> beam.GroupByKey()
            | "Cut" >> beam.ParDo(_Cut(self.settings), histograms)
        )
        outputs = packed | "Take" >> beam.ParDo(_Take(self.settings), cuts).with_outputs(
            "left", main="taken"
        )
        return Taken(outputs["taken"], outputs["left"])


def first_of(packed: Iterable[bytes], dtype: np.dtype, count: int) -> bytes:
    """The first `count` of packed records in pick order; associative and commutative."""
    found = records.unpack(packed, dtype)
    return found[records.order_by(found, "pick_hi", "pick_lo")[:count]].tobytes()
