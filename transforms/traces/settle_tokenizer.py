"""The tokenizer that a run encodes with: given, or trained on its own examples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import AsDict, AsList
from apache_beam.typehints.decorators import no_annotations

from transforms import records as packing
from transforms import storage
from transforms.errors import RecipeError
from transforms.shards import by_piece
from transforms.take_first import FirstSettings, TakeFirst
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.settle import settle
from transforms.tokenizers.spec import PreparedTokenizer, TokenizerSpec
from transforms.tokenizers.train import train
from transforms.traces.example import Example
from transforms.traces.records import UNIQUE, examples_of
from transforms.traces.special_tokens import SpecialTokens
from transforms.traces.split_examples import SPLITS
from transforms.work import WorkFolder

TRAINED = "trained"
SAMPLE_CHARACTERS = 128 << 10


@dataclass(frozen=True)
class Training:
    """How a tokenizer is trained.

    Attributes:
      max_bytes: of examples to train on, the first in pick order.
      special_tokens: take the ids from 0 on.
      checks: what `prepare` is to look for in the trained file, and where that waits.
    """

    vocab_size: int
    min_frequency: int
    max_bytes: int
    special_tokens: tuple[str, ...]
    checks: TokenizerSpec


@dataclass(frozen=True)
class SettleSettings:
    """What tokenizer is wanted.

    Attributes:
      wanted: a tokenizer that is ready, or how to train one.
      path: where the tokenizer that is used is written for workers and readers.
      val_fraction, limit: of the recipe, for messages.
    """

    wanted: PreparedTokenizer | Training
    path: str
    val_fraction: float
    limit: int | None
    work: WorkFolder


def special_of(prepared: PreparedTokenizer) -> SpecialTokens:
    """The special tokens of a tokenizer that was prepared for traces."""
    return SpecialTokens.from_roles({role: id_ for role, _, id_ in prepared.control()})


def check_splits(counts: Mapping[str, int], val_fraction: float, limit: int | None) -> None:
    """Refuses to go on where a split is empty.

    Args:
      counts: unique examples by split.

    Raises:
      RecipeError: saying what to change.
    """
    total = sum(counts.values())
    if not total:
        raise RecipeError("no row gives an example: check the parser and its columns")
    for split, side, mend in ((SPLITS[0], "above", "lower"), (SPLITS[1], "below", "raise")):
        if not counts.get(split):
            limits = " or raise limit" if limit is not None else ""
            raise RecipeError(
                f"the {split} split is empty: of {total:,} unique examples none falls {side} "
                f"val_fraction {val_fraction:g}: {mend} val_fraction{limits}, or give more rows"
            )


def training_text(example: Example) -> str:
    """What a tokenizer is trained on: problem, thoughts and answer on three lines."""
    return f"{example.problem}\n{' '.join(example.thoughts)}\n{example.answer}"


def _training_texts(sample: np.ndarray, work: WorkFolder) -> Iterator[str]:
    for _, which in by_piece(packing.ref_pieces(sample["ref"])):
        for raw in examples_of(sample[which], work):
            yield training_text(Example.from_json(raw))


def train_on(sample: np.ndarray, training: Training, work: WorkFolder) -> None:
    """Trains on examples and writes the tokenizer.json; the order of the examples is no matter.

    Args:
      sample: `UNIQUE`.
    """
    texts = _training_texts(sample, work)
    trained = train(texts, training.vocab_size, training.special_tokens, training.min_frequency)
    storage.write_whole(training.checks.location, trained.to_str().encode())


def take_trained(
    sample: np.ndarray, training: Training, path: str, work: WorkFolder
) -> PreparedTokenizer:
    """Checks a trained tokenizer, writes it to a path, and chooses who encodes with it."""
    prepared, tokenizer_json = prepare(training.checks)
    texts = _some_texts(sample, work)
    settled, _ = settle(prepared, tokenizer_json, path, texts, training.checks.backend)
    return replace(settled, name=TRAINED)


def _some_texts(sample: np.ndarray, work: WorkFolder) -> list[str]:
    texts: list[str] = []
    size = 0
    for text in _training_texts(sample, work):
        texts.append(text)
        size += len(text)
        if size > SAMPLE_CHARACTERS:
            break
    return texts


@dataclass
class _Settle(beam.DoFn):
    settings: SettleSettings

    def process(
        self, _: None, counts: Mapping[str, int], sample: Sequence[bytes]
    ) -> Iterator[PreparedTokenizer]:
        settings = self.settings
        check_splits(counts, settings.val_fraction, settings.limit)
        wanted, work = settings.wanted, settings.work
        if isinstance(wanted, PreparedTokenizer):
            yield wanted
            return
        found = packing.unpack(sample, UNIQUE)
        if not (work.resume and storage.exists(wanted.checks.location)):
            train_on(found, wanted, work)
        yield take_trained(found, wanted, settings.path, work)


@dataclass
class SettleTokenizer(beam.PTransform):
    """Gives the tokenizer, once it is sure that both splits have examples.

    In: {"chosen": packed `UNIQUE`, "counts": (split, examples)}. Out: one `PreparedTokenizer`.
    Side effect: a trained one is written. One worker trains; it holds the keys of the first
    `max_bytes` of examples, and reads those one piece after the other.
    """

    settings: SettleSettings

    @no_annotations
    def expand(self, inputs: dict[str, beam.PCollection]) -> beam.PCollection[PreparedTokenizer]:
        """Wires the sample to the training."""
        chosen = inputs["chosen"]
        sample: Iterable[bytes] | AsList = []
        if isinstance(self.settings.wanted, Training):
            first = FirstSettings(self.settings.wanted.max_bytes, UNIQUE, "size")
            sample = AsList((chosen | "Sample" >> TakeFirst(first)).taken)
        return (
            chosen.pipeline
            | "TokenizerOnce" >> beam.Create([None], reshuffle=False)
            | "Settle" >> beam.ParDo(_Settle(self.settings), AsDict(inputs["counts"]), sample)
        )
