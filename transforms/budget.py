"""The token budget: how much of each source each split takes, and which documents.

Each source is taken in pick order until its target is reached. No worker sees all documents:
sums tell the targets, a histogram of cost over 65 536 equal ranges of the pick key tells the
range that holds the cut, and only the documents of that range are sorted.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import TaggedOutput
from apache_beam.typehints.decorators import no_annotations

from transforms import keys, ledger, records
from transforms.errors import CorpusError
from transforms.kernels.packing import packed_cost
from transforms.pick_order import (
    add_histograms,
    histogram,
    in_range,
    last_taken,
    range_of_cut,
    taken,
)
from transforms.tokenize import SPLITS, TRAIN, VAL, group_key, split_and_source

WhenShort = Literal["shortfall", "redistribute", "repeat", "fail"]


@dataclass(frozen=True)
class BudgetSettings:
    """How many tokens there are to spend.

    Attributes:
      sources, weights: by place in the recipe.
      train_tokens, val_tokens: of each split.
      when_short, max_epochs: what happens when a source runs dry; concerns train only, since a
        repeated validation document measures nothing new.
    """

    sources: tuple[str, ...]
    weights: tuple[float, ...]
    seed: int
    seq_len: int
    train_tokens: int
    val_tokens: int
    when_short: WhenShort
    max_epochs: int


class Share(NamedTuple):
    """What a split takes of a source.

    Attributes:
      target: tokens it may spend by its weight.
      granted: tokens it may spend once dry sources have been dealt with.
      epochs: how often all its documents are taken.
      rest: tokens to take in one more, partial, epoch; 0 if none.
    """

    target: int
    granted: int
    epochs: int
    rest: int


class Cut(NamedTuple):
    """Where the partial epoch ends.

    Attributes:
      epochs: how often all documents are taken; the partial epoch has this number.
      last_hi, last_lo: pick key of the last document taken in the partial epoch.
      partial: there is one.
    """

    epochs: int
    last_hi: int
    last_lo: int
    partial: bool


def share_out(
    settings: BudgetSettings, split: int, available: Mapping[int, int]
) -> dict[int, Share]:
    """Shares a split's tokens out among the sources.

    Args:
      available: tokens that each source (by place) has; absent means none.

    Returns:
      By place of the source, all of them.

    Raises:
      CorpusError: a source is short and the recipe says `when_short: fail`.
    """
    total = settings.train_tokens if split == TRAIN else settings.val_tokens
    targets = [_round(weight * total) for weight in settings.weights]
    has = [available.get(place, 0) for place in range(len(targets))]
    policy = settings.when_short if split == TRAIN else "shortfall"
    if policy == "fail":
        _fail_if_short(settings.sources, targets, has)
    granted = _redistribute(settings.weights, targets, has) if policy == "redistribute" else targets
    max_epochs = settings.max_epochs if policy == "repeat" else 1
    return {
        place: _share(targets[place], granted[place], has[place], max_epochs)
        for place in range(len(targets))
    }


def _share(target: int, granted: int, available: int, max_epochs: int) -> Share:
    if available == 0 or granted == 0:
        return Share(target, granted, 0, 0)
    whole = granted // available
    if whole >= max_epochs:
        return Share(target, granted, max_epochs, 0)
    return Share(target, granted, whole, granted - whole * available)


def _fail_if_short(sources: tuple[str, ...], targets: list[int], has: list[int]) -> None:
    short = [
        f"{name} has {available:,} tokens of the {target:,} its weight asks for"
        for name, target, available in zip(sources, targets, has, strict=True)
        if available < target
    ]
    if short:
        raise CorpusError(
            f"when_short is fail, and {'; '.join(short)}: lower train_tokens or the weight, or "
            "choose shortfall, redistribute or repeat"
        )


def _redistribute(weights: tuple[float, ...], targets: list[int], has: list[int]) -> list[int]:
    """Gives what dry sources cannot spend to the others, in proportion to their weights."""
    granted = list(targets)
    while True:
        spare = sum(g - a for g, a in zip(granted, has, strict=True) if g > a)
        open_places = [k for k in range(len(weights)) if granted[k] < has[k] and weights[k] > 0]
        if not spare or not open_places:
            return granted
        granted = [min(g, a) for g, a in zip(granted, has, strict=True)]
        # Cumulative rounding, so that the parts add up to exactly what there is to give.
        given, weight_so_far = 0, 0.0
        total_weight = sum(weights[k] for k in open_places)
        for place in open_places:
            weight_so_far += weights[place]
            upto = _round(spare * min(1.0, weight_so_far / total_weight))
            granted[place] += upto - given
            given = upto


def _round(tokens: float) -> int:
    """To the nearest whole token, halves up."""
    return int(np.floor(tokens + 0.5))


def pick_keys(documents: np.ndarray, settings: BudgetSettings, key: int, epoch: int) -> np.ndarray:
    """Pick order of documents of one group, uint64 [n, 2]."""
    digests = np.stack([documents["text_hi"], documents["text_lo"]], axis=1)
    name = settings.sources[split_and_source(key)[1]]
    return keys.order_keys("pick", settings.seed, name, digests, epoch)


def costs(documents: np.ndarray, seq_len: int) -> np.ndarray:
    """Tokens that documents take in windows, int64 [n]."""
    return packed_cost(documents["ids"].astype(np.int64), seq_len)


def choose(
    documents: np.ndarray, settings: BudgetSettings, key: int, cut: Cut
) -> tuple[np.ndarray, np.ndarray]:
    """Takes documents of one group.

    Returns:
      `records.CHOSEN`, each document once an epoch it is taken in; and which documents are taken
      at all, bool [n].
    """
    _, source = split_and_source(key)
    takes = [(epoch, np.ones(len(documents), bool)) for epoch in range(cut.epochs)]
    if cut.partial:
        picks = pick_keys(documents, settings, key, cut.epochs)
        takes.append((cut.epochs, taken(picks, cut.last_hi, cut.last_lo)))
    chosen = [np.empty(0, records.CHOSEN)]
    used = np.zeros(len(documents), bool)
    for epoch, which in takes:
        some = documents[which]
        digests = np.stack([some["text_hi"], some["text_lo"]], axis=1)
        shuffle = keys.order_keys(
            "shuffle", settings.seed, settings.sources[source], digests, epoch
        )
        part = records.widened(some, records.CHOSEN)
        part["shuffle_hi"], part["shuffle_lo"] = shuffle.T
        part["source"] = source
        chosen.append(part)
        used |= which
    return np.concatenate(chosen), used


Shares = dict[int, tuple[Share, int]]


class Budgeted(NamedTuple):
    """Outputs of `Budget`.

    Attributes:
      chosen: (split, packed `records.CHOSEN`).
      entries: ledger entries: train, val, over budget, held out over the cap, repeats.
      spent: (`group_key`, (documents, tokens)), one a group; repeats included.
      shares: one {`group_key`: (`Share`, available tokens)}.
    """

    chosen: beam.PCollection[tuple[int, bytes]]
    entries: beam.PCollection[ledger.Entry]
    spent: beam.PCollection[tuple[int, tuple[int, int]]]
    shares: beam.PCollection[Shares]


@dataclass
class _ShareOut(beam.DoFn):
    settings: BudgetSettings

    def process(self, _: None, totals: dict[int, int]) -> Iterator[Shares]:
        shares: Shares = {}
        for split in (TRAIN, VAL):
            available = {
                place: totals.get(group_key(split, place), 0)
                for place in range(len(self.settings.sources))
            }
            for place, share in share_out(self.settings, split, available).items():
                shares[group_key(split, place)] = share, available[place]
        yield shares


@dataclass
class _Histogram(beam.DoFn):
    settings: BudgetSettings

    def process(self, element: tuple[int, bytes], shares: Shares) -> Iterator[tuple[int, bytes]]:
        key, packed = element
        share, _ = shares[key]
        if share.rest:
            documents = np.frombuffer(packed, records.DOCUMENT)
            picks = pick_keys(documents, self.settings, key, share.epochs)
            yield key, histogram(picks, costs(documents, self.settings.seq_len))


@dataclass
class _InRangeOfCut(beam.DoFn):
    settings: BudgetSettings

    def process(
        self, element: tuple[int, bytes], shares: Shares, histograms: dict[int, bytes]
    ) -> Iterator[tuple[int, bytes]]:
        key, packed = element
        share, _ = shares[key]
        if not share.rest:
            return
        cut_range, _ = range_of_cut(histograms[key], share.rest)
        documents = np.frombuffer(packed, records.DOCUMENT)
        picks = pick_keys(documents, self.settings, key, share.epochs)
        inside = in_range(picks, cut_range)
        if inside.any():
            yield key, documents[inside].tobytes()


@dataclass
class _Cut(beam.DoFn):
    settings: BudgetSettings

    def process(
        self,
        group: tuple[int, Iterable[bytes]],
        shares: Shares,
        histograms: dict[int, bytes],
    ) -> Iterator[tuple[int, Cut]]:
        key, packed = group
        share, _ = shares[key]
        _, before = range_of_cut(histograms[key], share.rest)
        documents = records.unpack(packed, records.DOCUMENT)
        picks = pick_keys(documents, self.settings, key, share.epochs)
        cost = costs(documents, self.settings.seq_len)
        yield key, Cut(share.epochs, *last_taken(picks, cost, share.rest - before), True)


_SpentOutput = TaggedOutput[Literal["spent"], tuple[int, tuple[int, int]]]


@dataclass
class _Choose(beam.DoFn):
    settings: BudgetSettings

    def process(
        self, element: tuple[int, bytes], shares: Shares, cuts: dict[int, Cut]
    ) -> Iterator[tuple[int, bytes] | ledger.EntryOutput | _SpentOutput]:
        key, packed = element
        split, place = split_and_source(key)
        share, _ = shares[key]
        documents = np.frombuffer(packed, records.DOCUMENT)
        cut = cuts.get(key, Cut(share.epochs, 0, 0, False))
        chosen, used = choose(documents, self.settings, key, cut)
        name = self.settings.sources[place]
        repeats = len(chosen) - int(used.sum())
        left = (ledger.OVER_BUDGET, ledger.OVER_CAP)[split]
        for outcome, which in ((SPLITS[split], used), (left, ~used)):
            if which.any():
                size = int(documents["size"][which].sum(dtype=np.int64))
                yield ledger.EntryOutput(
                    "entries", ledger.entry(name, outcome, int(which.sum()), size)
                )
        if repeats:
            once = int(documents["size"][used].sum(dtype=np.int64))
            size = int(chosen["size"].sum(dtype=np.int64)) - once
            yield ledger.EntryOutput(
                "entries", ledger.entry(name, ledger.TRAIN_REPEATS, repeats, size)
            )
        if len(chosen):
            tokens = int(costs(chosen, self.settings.seq_len).sum())
            yield _SpentOutput("spent", (key, (len(chosen), tokens)))
            yield split, chosen.tobytes()


@dataclass
class _Cost(beam.DoFn):
    seq_len: int

    def process(self, element: tuple[int, bytes]) -> Iterator[tuple[int, int]]:
        documents = np.frombuffer(element[1], records.DOCUMENT)
        yield element[0], int(costs(documents, self.seq_len).sum())


@dataclass
class Budget(beam.PTransform):
    """Takes each source in pick order until it has spent its share of the tokens.

    In: (`group_key`, packed `records.DOCUMENT`). Out: `Budgeted`. A worker holds one element or
    the documents of one 65 536th of a source's pick order.
    """

    settings: BudgetSettings

    @no_annotations
    def expand(self, documents: beam.PCollection[tuple[int, bytes]]) -> Budgeted:
        """Wires the three passes over the costs."""
        totals = (
            documents
            | "Cost" >> beam.ParDo(_Cost(self.settings.seq_len))
            | "SumCosts" >> beam.CombinePerKey(sum)
        )
        shares = (
            documents.pipeline
            | "ShareOnce" >> beam.Create([None], reshuffle=False)
            | "ShareOut" >> beam.ParDo(_ShareOut(self.settings), beam.pvalue.AsDict(totals))
        )
        one_share = beam.pvalue.AsSingleton(shares)
        histograms = beam.pvalue.AsDict(
            documents
            | "Histogram" >> beam.ParDo(_Histogram(self.settings), one_share)
            | "SumHistograms" >> beam.CombinePerKey(add_histograms)
        )
        cuts = (
            documents
            | "InRangeOfCut" >> beam.ParDo(_InRangeOfCut(self.settings), one_share, histograms)
            | "GroupRange" >> beam.GroupByKey()
            | "Cut" >> beam.ParDo(_Cut(self.settings), one_share, histograms)
        )
        outputs = documents | "Choose" >> beam.ParDo(
            _Choose(self.settings), one_share, beam.pvalue.AsDict(cuts)
        ).with_outputs("entries", "spent", main="chosen")
        spent = outputs["spent"] | "SumSpent" >> beam.CombinePerKey(ledger.add)
        return Budgeted(outputs["chosen"], outputs["entries"], spent, shares)
