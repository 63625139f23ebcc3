"""What a corpus will be and take, reckoned from what became of a sample of its input."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from beam_pipeline import measured
from beam_pipeline.sample_job import PartResult, SourceResult
from transforms import records
from transforms.budget import BudgetSettings, Share, share_out
from transforms.ledger import READ
from transforms.shards import shard_count
from transforms.tokenize import TRAIN, VAL

Verdict = Literal["yes", "no", "perhaps", "unknown"]

# Of a normal distribution, what holds 95%.
_SIGMAS = 1.96
# How far off the time of a run may be: other work on the machine, slow disks, unlike documents.
_FASTER, _SLOWER = 0.8, 1.8
# What near deduplication may still take before a target is in doubt; it took 0.9% of the bench
# documents and 1.5% of the demo's, and 3.6% of the demo's web pages.
_NEAR_DUPLICATES = 0.05


@dataclass(frozen=True)
class Range:
    """An estimate; low and high hold the truth in 95% of samples, as far as sampling goes."""

    low: float
    expected: float
    high: float

    def scaled(self, factor: float, more: float = 0.0) -> "Range":
        """All three times a factor, and more."""
        return Range(*(factor * one + more for one in (self.low, self.expected, self.high)))


@dataclass(frozen=True)
class SourceEstimate:
    """What is expected of a source.

    Attributes:
      sampled_bytes: of text that was read for this.
      whole: that was all of it.
      documents, text_bytes: in all; None where the size of the input is not known.
      shares: of the documents read, by ledger outcome; `exact_duplicate` is a lower bound unless
        all sources were read whole.
      tokens_per_byte: of text that is left after filter and exact deduplication.
      train_tokens, val_tokens: what is left before near deduplication, by split.
      target: train tokens that its weight asks for.
      expected: train tokens that it will give.
      epochs: how often its documents are used for that.
      met: whether the target can be met.
    """

    name: str
    weight: float
    sampled_bytes: int
    whole: bool
    documents: Range | None
    text_bytes: Range | None
    shares: dict[str, float]
    tokens_per_byte: float
    train_tokens: Range | None
    val_tokens: Range | None
    target: int
    expected: float
    epochs: float
    met: Verdict


@dataclass(frozen=True)
class Resources:
    """What a run takes; every figure is None where the size of a source is not known.

    Attributes:
      cpu_seconds_per_mb: of the whole job for 10**6 bytes of text, start-up aside.
      seconds: of the run on this machine.
      memory_mb, output_mb, work_mb: peak memory, what stays on disk, and what is needed beside it
        while the job runs; 10**6 bytes.
      dataflow_vcpu_hours, dataflow_usd: on Dataflow.
    """

    cpu_seconds_per_mb: float
    seconds: Range | None
    memory_mb: float | None
    output_mb: float | None
    work_mb: float | None
    dataflow_vcpu_hours: Range | None
    dataflow_usd: Range | None


@dataclass(frozen=True)
class Estimate:
    """A corpus and its run.

    Attributes:
      train_tokens, val_tokens: that the splits will have.
      train_shards, val_shards: how many.
      met: whether every source can give its share of the budget.
    """

    sources: list[SourceEstimate]
    budget: int
    train_tokens: float
    val_tokens: float
    train_shards: int
    val_shards: int
    met: Verdict
    resources: Resources


@dataclass(frozen=True)
class JobShape:
    """What the job is besides its sources.

    Attributes:
      landed: of each source, the share of its input that is landed in the work folder.
      width: bytes of an id.
      permutations: of a signature.
      cores: that this machine has.
    """

    budget: BudgetSettings
    tokens_per_shard: int
    landed: Sequence[float]
    width: int
    permutations: int
    cores: int


def estimate(results: Sequence[SourceResult], shape: JobShape) -> Estimate:
    """Reckons from a sample."""
    train = [_of_source(one, lambda part: part.tokens[TRAIN]) for one in results]
    val = [_of_source(one, lambda part: part.tokens[VAL]) for one in results]
    shares = {
        split: _shares(shape.budget, split, has) for split, has in ((TRAIN, train), (VAL, val))
    }
    sources = [
        _source(place, one, shape.budget, shares[TRAIN][place], train[place], val[place])
        for place, one in enumerate(results)
    ]
    train_tokens = sum(source.expected for source in sources)
    val_tokens = sum(
        float(share.granted) if has is None else min(share.granted, has.expected)
        for has, share in zip(val, shares[VAL].values(), strict=True)
    )
    return Estimate(
        sources,
        shape.budget.train_tokens,
        train_tokens,
        val_tokens,
        shard_count(round(train_tokens), shape.tokens_per_shard),
        shard_count(round(val_tokens), shape.tokens_per_shard),
        _worst([source.met for source in sources if source.weight]),
        _resources(results, sources, train_tokens + val_tokens, shape),
    )


def ratio(values: Sequence[float], units: Sequence[float], total: float) -> Range:
    """A total from parts of it: the ratio estimator (Cochran, Sampling Techniques, 6.2).

    Args:
      values: what was counted in each part.
      units: how large each part is.
      total: units of the whole.
    """
    y, x = np.asarray(values, float), np.asarray(units, float)
    read = float(x.sum())
    if not read:
        return Range(0, 0, 0)
    rate = float(y.sum()) / read
    expected = rate * total
    left = max(0.0, 1 - read / total)
    if left < 1e-9:
        return Range(expected, expected, expected)
    if len(y) < 2:
        return Range(0, expected, math.inf)
    squares = float(((y - rate * x) ** 2).sum())
    spread = math.sqrt(left * len(y) / (len(y) - 1) * squares) / read
    reach = _SIGMAS * spread * total
    return Range(max(0.0, expected - reach), expected, expected + reach)


def _of_source(result: SourceResult, count: Callable[[PartResult], float]) -> Range | None:
    if result.total is None:
        return None
    return ratio(list(map(count, result.parts)), [p.units for p in result.parts], result.total)


def _shares(settings: BudgetSettings, split: int, has: Sequence[Range | None]) -> dict[int, Share]:
    """How the budget is shared out; a source of unknown size is taken to meet its target."""
    if settings.when_short == "fail":
        settings = replace(settings, when_short="shortfall")
    plenty = share_out(settings, split, dict.fromkeys(range(len(has)), 1 << 62))
    return share_out(
        settings,
        split,
        {
            place: plenty[place].target if one is None else round(one.expected)
            for place, one in enumerate(has)
        },
    )


def _source(
    place: int,
    result: SourceResult,
    settings: BudgetSettings,
    share: Share,
    train: Range | None,
    val: Range | None,
) -> SourceEstimate:
    outcomes: dict[str, int] = {}
    for part in result.parts:
        for outcome, count in part.outcomes.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + count
    read = outcomes.pop(READ, 0)
    text = sum(part.text_bytes for part in result.parts)
    tokens = sum(sum(part.tokens) for part in result.parts)
    has = share.granted if train is None else train.expected
    most = has * _most_epochs(settings)
    expected = most
    if share.granted < most:
        # The document that crosses the target is in: half a document more, on average.
        expected = min(most, share.granted + _mean_cost(result) / 2) if share.granted else 0.0
    return SourceEstimate(
        name=settings.sources[place],
        weight=settings.weights[place],
        sampled_bytes=text,
        whole=result.whole,
        documents=_of_source(result, lambda part: part.outcomes[READ]),
        text_bytes=_of_source(result, lambda part: part.text_bytes),
        shares={o: n / read for o, n in sorted(outcomes.items()) if n},
        tokens_per_byte=tokens / text if text else 0.0,
        train_tokens=train,
        val_tokens=val,
        target=share.target,
        expected=expected,
        epochs=expected / has if has else 0.0,
        met=_verdict(train, share.target, _most_epochs(settings)),
    )


def _mean_cost(result: SourceResult) -> float:
    documents = sum(part.documents[TRAIN] for part in result.parts)
    return sum(part.tokens[TRAIN] for part in result.parts) / max(1, documents)


def _most_epochs(settings: BudgetSettings) -> int:
    return settings.max_epochs if settings.when_short == "repeat" else 1


def _verdict(has: Range | None, target: int, epochs: int) -> Verdict:
    if has is None:
        return "unknown"
    if has.low * (1 - _NEAR_DUPLICATES) * epochs >= target:
        return "yes"
    return "no" if has.high * epochs < target else "perhaps"


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    order: tuple[Verdict, ...] = ("no", "unknown", "perhaps", "yes")
    return next((one for one in order if one in verdicts), "yes")


def _resources(
    results: Sequence[SourceResult],
    sources: Sequence[SourceEstimate],
    tokens: float,
    shape: JobShape,
) -> Resources:
    parts = [part for one in results for part in one.parts]
    sampled = sum(part.text_bytes for part in parts)
    work = sum(2 * p.read_seconds + p.scan_seconds + p.tokenize_seconds for p in parts)
    per_byte = measured.OTHER_STEPS * work / sampled if sampled else 0.0
    unknown = Resources(per_byte * 1e6, None, None, None, None, None, None)
    texts = [source.text_bytes for source in sources]
    if any(text is None for text in texts):
        return unknown
    megabytes = sum(text.expected for text in texts if text) / 1e6
    # Sources differ in cost, so each is reckoned by its own.
    cpu = sum(
        _cpu_seconds(one, text.expected) for one, text in zip(results, texts, strict=True) if text
    )
    seconds = measured.START_UP_SECONDS + cpu / (shape.cores * measured.BUSY_CORES)
    hours = (cpu + measured.START_UP_CPU_SECONDS) / measured.BUSY_CORES / 3600
    documents = sum(source.documents.expected for source in sources if source.documents)
    shuffled = documents * measured.SHUFFLED_BYTES / 1e9
    an_hour = (
        measured.PRICE_VCPU_HOUR
        + measured.WORKER_MEMORY_GB * measured.PRICE_MEMORY_GB_HOUR
        + measured.WORKER_DISK_GB * measured.PRICE_DISK_GB_HOUR
    )
    vcpu_hours = Range(_FASTER * hours, hours, _SLOWER * hours)
    shuffle = shuffled * measured.PRICE_SHUFFLED_GB
    return Resources(
        cpu_seconds_per_mb=cpu / megabytes if megabytes else 0.0,
        seconds=Range(_FASTER * seconds, seconds, _SLOWER * seconds),
        memory_mb=_memory(megabytes, tokens, shape),
        output_mb=tokens * shape.width / 1e6 + _kept(sources) * measured.DOCS_ROW_BYTES / 1e6,
        work_mb=_work_bytes(sources, shape) / 1e6,
        dataflow_vcpu_hours=vcpu_hours,
        dataflow_usd=vcpu_hours.scaled(an_hour, shuffle),
    )


def _cpu_seconds(result: SourceResult, text_bytes: float) -> float:
    sampled = sum(part.text_bytes for part in result.parts)
    if not sampled:
        return 0.0
    work = sum(
        2 * part.read_seconds + part.scan_seconds + part.tokenize_seconds for part in result.parts
    )
    return measured.OTHER_STEPS * work * text_bytes / sampled


def _kept(sources: Sequence[SourceEstimate]) -> float:
    """Documents that pass filter and exact deduplication."""
    return sum(
        source.documents.expected * max(0.0, 1 - sum(source.shares.values()))
        for source in sources
        if source.documents
    )


def _memory(megabytes: float, tokens: float, shape: JobShape) -> float:
    """Peak in 10**6 bytes: between measured points, and on along the last of them beyond."""
    at, peaks = zip(*measured.MEMORY_BY_TEXT_MB, strict=True)
    peak = float(np.interp(megabytes, at, peaks))
    if megabytes > at[-1]:
        peak += (megabytes - at[-1]) * (peaks[-1] - peaks[-2]) / (at[-1] - at[-2])
    more = min(shape.tokens_per_shard, tokens) - measured.MEASURED_SHARD_TOKENS
    return peak + max(0.0, more) * shape.width * measured.SHARD_COPIES * shape.cores / 1e6


def _work_bytes(sources: Sequence[SourceEstimate], shape: JobShape) -> float:
    """Scan files, token files and landed text."""
    a_document = records.scanned(shape.permutations).itemsize + records.DOCUMENT.itemsize
    needed = _kept(sources) * a_document
    for source, landed in zip(sources, shape.landed, strict=True):
        for has in (source.train_tokens, source.val_tokens):
            needed += has.expected * shape.width if has and source.weight else 0
        needed += (
            source.text_bytes.expected * landed * measured.LANDED_SHARE if source.text_bytes else 0
        )
    return needed
