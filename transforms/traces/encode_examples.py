"""Examples as token ids in work files; what each layout makes of them, by their lengths."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import AsSingleton, TaggedOutput
from apache_beam.typehints.decorators import no_annotations

from transforms import keys, ledger, statistics, storage
from transforms import records as packing
from transforms.counters import count, count_resumed
from transforms.documents import TextBatch
from transforms.kernels.gather import gather
from transforms.tokenizers.encoders import Encoder, load_encoder
from transforms.tokenizers.spec import PreparedTokenizer
from transforms.traces.example import Example
from transforms.traces.geometry import Geometry, Layout
from transforms.traces.layouts import KEPT, OUTCOMES, outcomes
from transforms.traces.records import (
    ENCODED,
    PROBLEM_ORDER,
    UNIQUE,
    examples_of,
    problems,
    text_digests,
)
from transforms.traces.split import in_validation
from transforms.traces.split_examples import SPLITS, VALIDATION
from transforms.work import WorkFolder, write_report

BATCH_BYTES = 1 << 20
LENGTH = np.dtype("<u4")


@dataclass(frozen=True)
class EncodeSettings:
    """What encoding needs to know.

    Attributes:
      source: its name, which the shuffle key goes by.
    """

    source: str
    seed: int
    val_fraction: float
    layouts: tuple[Layout, ...]
    geometry: Geometry
    work: WorkFolder

    def folders(self) -> tuple[str, ...]:
        """The folders of the layouts below the output; `folder_key` numbers them."""
        return tuple(f"{split}/{layout}" for layout in self.layouts for split in SPLITS)


def folder_key(layout: int, split: int) -> int:
    """The number of a folder, by the place of its layout in the recipe."""
    return layout * len(SPLITS) + split


class EncodedPiece(NamedTuple):
    """A piece's examples as ids.

    Attributes:
      examples: `ENCODED`, in the order of the work files: train, then validation, both in shuffle
        order.
      ids: flat, of the tokenizer's dtype.
      lengths: uint32, how many ids each text has.
    """

    examples: np.ndarray
    ids: np.ndarray
    lengths: np.ndarray


def encode_piece(found: np.ndarray, settings: EncodeSettings, encoder: Encoder) -> EncodedPiece:
    """Encodes the chosen examples of a piece.

    Args:
      found: `UNIQUE`, all of one piece.
    """
    ids: list[np.ndarray] = []
    lengths: list[np.ndarray] = []
    counts: list[int] = []
    for batch in _batches(examples_of(found, settings.work)):
        texts = [Example.from_json(raw).texts() for raw in batch]
        counts += map(len, texts)
        batch_ids, batch_lengths = encoder.encode(
            TextBatch.from_strings(text for example in texts for text in example)
        )
        ids.append(batch_ids)
        lengths.append(batch_lengths)
    flat, text_lengths = np.concatenate(ids), np.concatenate(lengths).astype(LENGTH)
    texts_of = np.array(counts, np.int64)
    text_starts = np.cumsum(texts_of) - texts_of
    ids_of = np.add.reduceat(text_lengths.astype(np.int64), text_starts)

    shuffle = keys.order_keys("shuffle", settings.seed, settings.source, text_digests(found))
    held_out = in_validation(problems(found), settings.val_fraction)
    order = np.lexsort([shuffle[:, 1], shuffle[:, 0], held_out])
    examples = np.empty(len(found), ENCODED)
    examples["shuffle_hi"], examples["shuffle_lo"] = shuffle[order].T
    for field in (*PROBLEM_ORDER, "size"):
        examples[field] = found[field][order]
    (examples["piece"],) = set(packing.ref_pieces(found["ref"]).tolist())
    examples["ids"] = ids_of[order]
    examples["offset"] = np.cumsum(ids_of[order]) - ids_of[order]
    examples["texts"] = texts_of[order]
    examples["first_text"] = np.cumsum(texts_of[order]) - texts_of[order]
    return EncodedPiece(
        examples,
        gather(flat, (np.cumsum(ids_of) - ids_of)[order], ids_of[order]),
        gather(text_lengths, text_starts[order], texts_of[order]),
    )


def _batches(examples: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for example in examples:
        batch.append(example)
        size += len(example)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Where parts of these lengths begin and the last one ends, int64 [n + 1]."""
    return np.r_[0, np.cumsum(lengths, dtype=np.int64)]


def lengths_by_part(lengths: np.ndarray, texts: np.ndarray) -> dict[str, np.ndarray]:
    """What the statistics of examples count, by name: tokens of texts, thoughts of examples.

    Args:
      lengths: of each text, in tokens.
      texts: how many each example has: its problem, its thoughts, its answer.
    """
    stops = offsets_of(texts)
    problem, answer = stops[:-1], stops[1:] - 1
    return {
        statistics.PROBLEM_TOKENS: lengths[problem],
        statistics.THOUGHT_TOKENS: np.delete(lengths, np.r_[problem, answer]),
        statistics.ANSWER_TOKENS: lengths[answer],
        statistics.THOUGHTS: texts.astype(np.int64) - 2,
    }


class Encoded(NamedTuple):
    """Outputs of `EncodeExamples`.

    Attributes:
      chosen: (`folder_key`, packed `ENCODED`).
      tokens: (`folder_key`, tokens that its windows take), one for each folder that has any.
      entries: ledger entries whose sources are folders: read, encoded, dropped by reason; and
        statistics of the source.
    """

    chosen: beam.PCollection[tuple[int, bytes]]
    tokens: beam.PCollection[tuple[int, int]]
    entries: beam.PCollection[ledger.Entry]


_TokensOutput = TaggedOutput[Literal["tokens"], tuple[int, int]]


@dataclass
class _EncodePiece(beam.DoFn):
    settings: EncodeSettings

    def process(
        self, group: tuple[int, Iterable[bytes]], tokenizer: PreparedTokenizer
    ) -> Iterator[tuple[int, bytes] | ledger.EntryOutput | _TokensOutput]:
        number, packed = group
        settings, work = self.settings, self.settings.work
        report = work.done(work.tokens_report(number))
        if report is None:
            found = packing.unpack(packed, UNIQUE)
            found = found[np.argsort(found["ref"])]
            encoded = encode_piece(found, settings, load_encoder(tokenizer))
            storage.write_whole(work.tokens(number), encoded.ids.data.cast("B"))
            storage.write_whole(work.lengths(number), encoded.lengths.data.cast("B"))
            storage.save_array(work.documents(number), encoded.examples)
            write_report(work.tokens_report(number), {"examples": len(encoded.examples)})
            size = int(found["size"].sum(dtype=np.int64))
            count(len(found), text_bytes=size, tokens=len(encoded.ids))
        else:
            count_resumed(report["examples"])
        examples = np.asarray(storage.load_array(work.documents(number)))
        lengths = np.frombuffer(storage.read_bytes(work.lengths(number)), LENGTH)
        texts, offsets = offsets_of(lengths), offsets_of(examples["texts"])
        for name, values in lengths_by_part(lengths, examples["texts"]).items():
            counts = statistics.histogram(name, values)
            entry = statistics.entry(settings.source, name, counts)
            yield ledger.EntryOutput("entries", entry)
        held_out = in_validation(problems(examples), settings.val_fraction)
        for place, layout in enumerate(settings.layouts):
            became = outcomes(layout, texts, offsets, settings.geometry)
            for split in range(len(SPLITS)):
                of_split = held_out == (split == VALIDATION)
                key = folder_key(place, split)
                yield from self._account(key, examples[of_split], became[of_split])
                kept = examples[of_split & (became == KEPT)]
                if len(kept):
                    yield key, kept.tobytes()

    def _account(
        self, key: int, examples: np.ndarray, became: np.ndarray
    ) -> Iterator[ledger.EntryOutput | _TokensOutput]:
        """Ledger entries and tokens of examples of one folder."""
        folder = self.settings.folders()[key]
        for code, name in enumerate(OUTCOMES):
            which = became == code
            if which.any():
                amount = int(which.sum()), int(examples["size"][which].sum(dtype=np.int64))
                outcome = ledger.ENCODED if code == KEPT else f"{ledger.DROPPED}:{name}"
                for told in (ledger.READ, outcome):
                    yield ledger.EntryOutput("entries", ledger.entry(folder, told, *amount))
                if code == KEPT:
                    tokens = amount[0] * self.settings.geometry.seq_len
                    yield _TokensOutput("tokens", (key, tokens))


@dataclass
class EncodeExamples(beam.PTransform):
    """Encodes the chosen examples of each piece and judges them for each layout.

    In: (piece number, packed `UNIQUE`). Out: `Encoded`. Side effect: two work files a piece. A
    worker holds one piece.

    Attributes:
      tokenizer: one `PreparedTokenizer`.
    """

    settings: EncodeSettings
    tokenizer: AsSingleton

    @no_annotations
    def expand(self, by_piece: beam.PCollection[tuple[int, bytes]]) -> Encoded:
        """Wires the encoding."""
        outputs = (
            by_piece
            | "GroupPiece" >> beam.GroupByKey()
            | "EncodePiece"
            >> beam.ParDo(_EncodePiece(self.settings), self.tokenizer).with_outputs(
                "entries", "tokens", main="chosen"
            )
        )
        tokens = outputs["tokens"] | "SumTokens" >> beam.CombinePerKey(sum)
        return Encoded(outputs["chosen"], tokens, outputs["entries"])
