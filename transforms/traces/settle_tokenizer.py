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
      wanted: says which special token plays which part; `location` is where the trained file waits.
    """

    vocab_size: int
    min_frequency: int
    max_bytes: int
    special_tokens: tuple[str, ...]
    wanted: TokenizerSpec


@dataclass(frozen=True)
class SettleSettings:
    """What tokenizer is wanted.

    Attributes:
      given: a tokenizer that is ready; None where one is to be trained.
      training: how; None where one is given.
      path: where the tokenizer that is used is written for workers and readers.
      val_fraction, limit: of the recipe, for messages.
    """

    given: PreparedTokenizer | None
    training: Training | None
    path: str
    val_fraction: float
    limit: int | None
    work: WorkFolder


def special_of(prepared: PreparedTokenizer) -> SpecialTokens:
    """The special tokens of a tokenizer that was prepared for traces."""
    return SpecialTokens.from_roles({role: id_ for role, _, id_ in prepared.control()})


def tell_empty_split(
    counts: Mapping[str, int], val_fraction: float, limit: int | None, what: str = "unique examples"
) -> str | None:
    """What to say where a split is empty; None where both have examples."""
    of = sum(counts.values())
    if not of:
        return f"there are no {what}: the rejects folder or the ledger tells why; check the parser"
    for split, other in zip(SPLITS, ("lower", "raise"), strict=True):
        if not counts.get(split):
            more = " or limit" if limit is not None else ""
            return (
                f"the {split} split is empty: of {of:,} {what} none falls "
                f"{'above' if other == 'lower' else 'below'} val_fraction {val_fraction:g}: "
                f"{other} val_fraction{more}, or give more rows"
            )
    return None


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
    storage.write_whole(training.wanted.location, trained.to_str().encode())


def take_trained(
    sample: np.ndarray, training: Training, path: str, work: WorkFolder
) -> PreparedTokenizer:
    """Checks a trained tokenizer, writes it to a path, and chooses who encodes with it."""
    prepared, tokenizer_json = prepare(training.wanted)
    texts = _some_texts(sample, work)
    settled, _ = settle(prepared, tokenizer_json, path, texts, training.wanted.backend)
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
        empty = tell_empty_split(counts, settings.val_fraction, settings.limit)
        if empty is not None:
            raise RecipeError(empty)
        if settings.training is None:
            yield settings.given
            return
        found = packing.unpack(sample, UNIQUE)
        if not (settings.work.resume and storage.exists(settings.training.wanted.location)):
            train_on(found, settings.training, settings.work)
        yield take_trained(found, settings.training, settings.path, settings.work)


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
        if self.settings.training is not None:
            first = FirstSettings(self.settings.training.max_bytes, UNIQUE, "size")
            sample = AsList((chosen | "Sample" >> TakeFirst(first)).taken)
        return (
            chosen.pipeline
            | "TokenizerOnce" >> beam.Create([None], reshuffle=False)
            | "Settle" >> beam.ParDo(_Settle(self.settings), AsDict(inputs["counts"]), sample)
        )
