"""Second read: the documents that deduplication kept, as token ids in work files.

The ids wait in the work folder for the budget's cut and for their shard, so that what is shuffled
is 68 bytes a document. In a work file documents lie in shuffle order: a shard, which is a range of
that order, reads one range of each file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import apache_beam as beam
import numpy as np
from apache_beam.typehints.decorators import no_annotations

from transforms import keys, ledger, readers, records, specimens, statistics, storage
from transforms.counters import count, count_input, count_resumed
from transforms.documents import Piece, RowBatch, TextBatch
from transforms.duplicates import write_duplicates
from transforms.errors import SourceError
from transforms.kernels.gather import scatter
from transforms.names import save_names
from transforms.sources import SourceSpec
from transforms.tokenizers.encoders import Encoder, load_encoder
from transforms.tokenizers.prepare import PreparedTokenizer
from transforms.work import WorkFolder, write_report

TRAIN, VAL = 0, 1
SPLITS = ("train", "val")


@dataclass(frozen=True)
class TokenizeSettings:
    """What the second read needs to know.

    Attributes:
      sources, weights: by place in the recipe.
      per_mille: of a thousand documents, how many are held out.
      output: folder of the corpus.
    """

    sources: tuple[SourceSpec, ...]
    weights: tuple[float, ...]
    seed: int
    per_mille: int
    tokenizer: PreparedTokenizer
    work: WorkFolder
    output: str


class PieceTokens(NamedTuple):
    """A piece's documents as tokens.

    Attributes:
      documents: `records.DOCUMENT`, in the order of the work file: train, then val.
      train: how many of them belong to train.
      ids: flat, of the tokenizer's dtype.
      names: the documents' ids as the source gives them, if it names a column.
      outcomes: (documents, bytes) by ledger outcome, of those that gave no tokens.
      excerpts: first lines of documents to show, by position in the scan file.
    """

    documents: np.ndarray
    train: int
    ids: np.ndarray
    names: list[str | None] | None
    outcomes: dict[str, tuple[int, int]]
    excerpts: dict[int, str]


_Split = TypeVar("_Split", int, np.ndarray)


def group_key(split: _Split, source: int) -> _Split:
    """The shuffle key of a source's documents in a split, or in each of some, int64 [n]."""
    return source * len(SPLITS) + split


def split_and_source(key: int) -> tuple[int, int]:
    """Inverse of `group_key`."""
    return key % len(SPLITS), key // len(SPLITS)


def kept_documents(survivors: np.ndarray, verdicts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Who is left of a piece after deduplication.

    Args:
      survivors: `records.SURVIVOR`.
      verdicts: `records.VERDICT` on those that have a near duplicate.

    Returns:
      positions in the scan file, ascending, uint32 [n], and sizes of the duplicate clusters
      (1 for a document of its own), uint32 [n].
    """
    survivors = survivors[np.argsort(survivors["position"])]
    clusters = survivors["copies"].copy()
    kept = np.ones(len(survivors), bool)
    where = np.searchsorted(survivors["position"], verdicts["position"])
    kept[where] = verdicts["kept"]
    clusters[where] = verdicts["cluster"]
    return survivors["position"][kept], clusters[kept]


def tokenize_piece(
    piece: Piece,
    scanned: np.ndarray,
    positions: np.ndarray,
    clusters: np.ndarray,
    shown: np.ndarray,
    settings: TokenizeSettings,
    encoder: Encoder,
) -> PieceTokens:
    """Reads a piece again and encodes the documents that are left of it.

    Args:
      scanned: the piece's scan file.
      positions, clusters: from `kept_documents`.
      shown: from `specimens.wanted_positions`.

    Raises:
      SourceError: the input changed since it was scanned.
    """
    expected = scanned[positions]
    rows = np.ascontiguousarray(expected["row"])
    name = settings.sources[piece.source].name
    ids: list[np.ndarray] = []
    lengths: list[np.ndarray] = [np.empty(0, np.int64)]
    held_out: list[np.ndarray] = [np.empty(0, bool)]
    names: list[str | None] = []
    excerpts: dict[int, str] = {}
    done = 0
    for batch in readers.read(piece, settings.sources[piece.source]):
        if not isinstance(batch, RowBatch) or not len(batch.rows):
            continue
        for k, excerpt in specimens.excerpts(batch, scanned["row"][shown]):
            excerpts[int(shown[k])] = excerpt
        count = int(np.searchsorted(rows[done:], batch.rows[-1], "right"))
        if not count:
            continue
        wanted = np.searchsorted(batch.rows, rows[done : done + count])
        texts = batch.texts.take(wanted)
        _check_unchanged(piece, texts, expected[done : done + count])
        done += count
        batch_ids, batch_lengths = encoder.encode(texts)
        ids.append(batch_ids)
        lengths.append(batch_lengths)
        held_out.append(keys.held_out(texts, settings.per_mille))
        if batch.ids is not None:
            names += [batch.ids[k] for k in wanted.tolist()]
    if done != len(expected):
        raise SourceError(_changed(piece))
    counts = np.concatenate(lengths)
    splits = np.where(np.concatenate(held_out), VAL, TRAIN).astype(np.uint8)

    digests = np.stack([expected["text_hi"], expected["text_lo"]], axis=1)
    shuffle = keys.order_keys("shuffle", settings.seed, name, digests)
    order = np.lexsort([shuffle[:, 1], shuffle[:, 0], splits])
    encodes = counts[order] > 0
    silent = order[~encodes]
    order = order[encodes]

    ends = np.cumsum(counts[order])
    places = np.zeros(len(counts), np.int64)
    places[order] = ends - counts[order]
    documents = np.empty(len(order), records.DOCUMENT)
    for field in ("text_hi", "text_lo", "digest_hi", "digest_lo", "size"):
        documents[field] = expected[field][order]
    documents["piece"] = piece.number
    documents["place"] = np.arange(len(order))
    documents["ids"] = counts[order]
    documents["offset"] = places[order]
    documents["cluster"] = clusters[order]
    outcomes = {}
    if len(silent):
        silent_bytes = int(expected["size"][silent].sum(dtype=np.int64))
        outcomes[ledger.NO_TOKENS] = (len(silent), silent_bytes)
    return PieceTokens(
        documents,
        int((splits[order] == TRAIN).sum()),
        _placed(ids, lengths[1:], places, settings.tokenizer.dtype),
        [names[k] for k in order.tolist()] if names else None,
        outcomes,
        excerpts,
    )


def _placed(
    ids: list[np.ndarray], lengths: list[np.ndarray], places: np.ndarray, dtype: str
) -> np.ndarray:
    """The ids of each batch's documents, [n_tokens], each document at its place."""
    flat = np.empty(sum(map(len, ids)), dtype)
    done = 0
    for of_batch, of_each in zip(ids, lengths, strict=True):
        starts = np.cumsum(of_each) - of_each
        scatter(of_batch, starts, of_each, places[done : done + len(of_each)], flat)
        done += len(of_each)
    return flat


def _check_unchanged(piece: Piece, texts: TextBatch, expected: np.ndarray) -> None:
    if not np.array_equal(keys.fingerprints(texts), expected["fingerprint"]):
        raise SourceError(_changed(piece))


def _changed(piece: Piece) -> str:
    return (
        f"{piece.name()} changed while the job ran: the second read does not give the texts of the "
        "first; build again from files that stand still"
    )


def _save(number: int, tokens: PieceTokens, work: WorkFolder) -> dict[str, Any]:
    """Writes the token file of a piece, what is known of its documents, and its report."""
    storage.write_whole(work.tokens(number), tokens.ids.data.cast("B"))
    storage.save_array(work.documents(number), tokens.documents)
    if tokens.names:
        save_names(work.names(number), tokens.names)
    report = {
        "train": tokens.train,
        "outcomes": tokens.outcomes,
        "excerpts": {str(position): text for position, text in tokens.excerpts.items()},
    }
    write_report(work.tokens_report(number), report)
    return report


def _statistics(documents: np.ndarray) -> dict[str, statistics.Counts]:
    tokens, size = (int(documents[field].sum(dtype=np.int64)) for field in ("ids", "size"))
    return {
        statistics.TOKENS: statistics.histogram(statistics.TOKENS, documents["ids"]),
        statistics.SPENDING: statistics.Spending(tokens, size),
    }


class Tokenized(NamedTuple):
    """Outputs of `Tokenize`.

    Attributes:
      documents: (`group_key`, packed `records.DOCUMENT`).
      entries: ledger entries of documents that end here, and statistics of the others.
    """

    documents: beam.PCollection[tuple[int, bytes]]
    entries: beam.PCollection[ledger.Entry]


@dataclass
class _TokenizePiece(beam.DoFn):
    settings: TokenizeSettings

    def process(
        self, group: tuple[int, dict[str, Iterable]]
    ) -> Iterator[tuple[int, bytes] | ledger.EntryOutput]:
        number, joined = group
        (piece,) = joined["pieces"]
        count_input(piece.size)
        survivors = records.unpack(joined["survivors"], records.SURVIVOR)
        if not len(survivors):
            return
        verdicts = records.unpack(joined["verdicts"], records.VERDICT)
        positions, clusters = kept_documents(survivors, verdicts)
        settings = self.settings
        scanned = storage.load_array(settings.work.scan(number))
        spec = settings.sources[piece.source]
        name = spec.name
        if len(verdicts):
            write_duplicates(settings.output, piece, spec, scanned, verdicts)
        if settings.weights[piece.source] == 0:
            size = int(scanned["size"][positions].sum(dtype=np.int64))
            yield ledger.EntryOutput(
                "entries", ledger.entry(name, ledger.OVER_BUDGET, len(positions), size)
            )
            return
        report = settings.work.done(settings.work.tokens_report(number))
        if report is None:
            encoder = load_encoder(settings.tokenizer)
            shown = specimens.wanted_positions(survivors, verdicts, scanned)
            tokens = tokenize_piece(piece, scanned, positions, clusters, shown, settings, encoder)
            report, documents = _save(number, tokens, settings.work), tokens.documents
            size = int(scanned["size"][positions].sum(dtype=np.int64))
            count(len(positions), text_bytes=size, tokens=len(tokens.ids))
        else:
            documents = np.asarray(storage.load_array(settings.work.documents(number)))
            count_resumed(len(positions))
        for outcome, amount in report["outcomes"].items():
            yield ledger.EntryOutput("entries", ledger.entry(name, outcome, *amount))
        for told, counts in _statistics(documents).items():
            yield ledger.EntryOutput("entries", statistics.entry(name, told, counts))
        splits = (np.arange(len(documents)) >= report["train"]).astype(np.int64)
        yield from records.split(documents, group_key(splits, piece.source))


@dataclass
class Tokenize(beam.PTransform):
    """Reads pieces again and encodes what deduplication left.

    In: {"pieces": (number, `Piece`), "survivors": (number, packed `records.SURVIVOR`),
    "verdicts": (number, packed `records.VERDICT`)}. Out: `Tokenized`. Side effects: a token file a
    piece; a file in `duplicates/` of a piece that has near duplicates. A source of weight 0 is not
    read again; what is left of it counts as over budget.
    """

    settings: TokenizeSettings

    @no_annotations
    def expand(self, inputs: dict[str, beam.PCollection]) -> Tokenized:
        """Wires the join by piece."""
        outputs = (
            inputs
            | "JoinPieces" >> beam.CoGroupByKey()
            | "TokenizePiece"
            >> beam.ParDo(_TokenizePiece(self.settings)).with_outputs("entries", main="documents")
        )
        return Tokenized(outputs["documents"], outputs["entries"])
