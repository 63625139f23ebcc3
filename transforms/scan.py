"""First read: filter, normalise, digest and sign; only keys and sizes leave.

A piece's keys and signatures go to its scan file in the work folder, in row order. A document is
known from here on by its position in that file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.typehints.decorators import no_annotations

from transforms import keys, ledger, quality, readers, records, statistics, storage
from transforms.account import Accountant, AccountOutput, Note, PieceAccount, Reject, account_of
from transforms.counters import count, count_input, count_resumed
from transforms.documents import ROW_BITS, Piece, RowBatch, TextBatch
from transforms.errors import InternalError
from transforms.kernels.blake2b import blake2b
from transforms.kernels.measures import measure
from transforms.kernels.minhash import Signer
from transforms.kernels.normal_form import normalize
from transforms.packed import PackingDoFn
from transforms.sources import SourceSpec
from transforms.unicode import check_unicode
from transforms.work import WorkFolder, write_report


@dataclass(frozen=True)
class ScanSettings:
    """What a scan needs to know.

    Attributes:
      sources, rules, priorities: by place in the recipe.
      partitions: of the digests; a power of two.
      unicode_version: of the launcher; the filter and lower-casing depend on it.
    """

    sources: tuple[SourceSpec, ...]
    rules: tuple[quality.Rules, ...]
    priorities: tuple[int, ...]
    seed: int
    signer: Signer
    partitions: int
    unicode_version: str
    work: WorkFolder


class PieceScan(NamedTuple):
    """What a scan finds in one piece.

    Attributes:
      documents: `records.scanned`, those that passed the filter, in row order.
      account: of all rows.
    """

    documents: np.ndarray
    account: PieceAccount


def scan_piece(piece: Piece, settings: ScanSettings) -> PieceScan:
    """Reads and judges every row of a piece.

    Raises:
      CorpusError: the piece cannot be read.
    """
    spec = settings.sources[piece.source]
    rules = settings.rules[piece.source]
    dtype = records.scanned(settings.signer.permutations)
    parts: list[np.ndarray] = [np.empty(0, dtype)]
    measured: list[np.ndarray] = []
    accountant = Accountant(piece)
    for batch in readers.read(piece, spec):
        if not isinstance(batch, RowBatch):
            accountant.note(batch)
            continue
        for row in batch.bad:
            accountant.bad_row(row)
        measures = measure(batch.texts)
        verdicts = quality.judge(measures, rules)
        sizes = batch.texts.sizes()
        empty = measures["words"] == 0
        accountant.count(ledger.READ, len(sizes), int(sizes.sum()))
        accountant.count(ledger.EMPTY, int(empty.sum()), int(sizes[empty].sum()))
        _count_filtered(accountant, batch, np.where(empty, 0, verdicts), rules)
        measured.append(measures[~empty])
        kept = np.flatnonzero(~empty & (verdicts == 0))
        if len(kept):
            texts = batch.texts.take(kept)
            described = _describe(texts, piece, settings)
            described["row"] = batch.rows[kept]
            described["tie"] = _ties(batch.ids, kept)
            parts.append(described)
    if measured:
        _measure(accountant, np.concatenate(measured), rules)
    return PieceScan(np.concatenate(parts), accountant.account())


def _describe(texts: TextBatch, piece: Piece, settings: ScanSettings) -> np.ndarray:
    """Keys and signature of documents, `records.scanned` less `row` and `tie`."""
    normalized = normalize(texts)
    found = np.empty(len(texts), records.scanned(settings.signer.permutations))
    text_digests = keys.digests(texts)
    digests = keys.digests(normalized)
    keep = keys.order_keys("keep", settings.seed, settings.sources[piece.source].name, text_digests)
    found["text_hi"], found["text_lo"] = text_digests.T
    found["digest_hi"], found["digest_lo"] = digests.T
    found["keep_hi"], found["keep_lo"] = keep.T
    found["priority"] = settings.priorities[piece.source]
    found["fingerprint"] = keys.fingerprints(texts)
    found["source"] = piece.source
    found["size"] = texts.sizes()
    found["signature"] = settings.signer.sign(normalized)
    return found


def _ties(ids: list[str | None] | None, kept: np.ndarray) -> np.ndarray:
    """Hashes of the documents' ids, which settle whose of equal texts is kept; 0 if none."""
    if ids is None:
        return np.zeros(len(kept), np.uint64)
    names = [ids[k] for k in kept.tolist()]
    hashes = blake2b(TextBatch.from_strings(name or "" for name in names), 8)[:, 0]
    return np.where([name is None for name in names], np.uint64(0), hashes)


def _count_filtered(
    accountant: Accountant, batch: RowBatch, verdicts: np.ndarray, rules: quality.Rules
) -> None:
    """Counts and samples the documents whose verdict is a reason."""
    rejected = np.flatnonzero(verdicts)
    if not len(rejected):
        return
    sizes = batch.texts.sizes()
    for code in np.unique(verdicts[rejected]).tolist():
        outcome = f"{ledger.FILTERED}:{rules.REASONS[code - 1]}"
        is_of = verdicts == code
        accountant.count(outcome, int(is_of.sum()), int(sizes[is_of].sum()))
    texts = batch.texts.take(rejected).bytes_list()
    for place, text in zip(rejected.tolist(), texts, strict=True):
        outcome = f"{ledger.FILTERED}:{rules.REASONS[verdicts[place] - 1]}"
        accountant.sample(outcome, int(batch.rows[place]), text)


def _measure(accountant: Accountant, measures: np.ndarray, rules: quality.Rules) -> None:
    """Counts into histograms what the filter judges, and how long documents are."""
    found = {statistics.CHARACTERS: measures["characters"], **rules.statistics(measures)}
    for name, values in found.items():
        accountant.measure(name, values)


def exact_records(piece: Piece, scan: PieceScan) -> np.ndarray:
    """What exact deduplication needs of the scanned documents, `records.EXACT`.

    Raises:
      InternalError: the piece has more documents than a reference can tell apart.
    """
    if len(scan.documents) > 1 << ROW_BITS:
        raise InternalError(
            f"{piece.name()} has {len(scan.documents):,} documents in one piece, of at most "
            f"{1 << ROW_BITS:,}: lower --piece_bytes, or give the compressed file in parts"
        )
    found = np.empty(len(scan.documents), records.EXACT)
    for field in (*records.PREFERENCE_ORDER, "digest_hi", "digest_lo", "tie", "size", "source"):
        found[field] = scan.documents[field]
    found["ref"] = records.refs(piece.number, np.arange(len(found)))
    return found


def save_scan(piece: Piece, scan: PieceScan, work: WorkFolder) -> None:
    """Writes the scan file and the report of a piece."""
    storage.save_array(work.scan(piece.number), scan.documents)
    write_report(work.scan_report(piece.number), scan.account.report())


def load_scan(piece: Piece, work: WorkFolder) -> PieceScan | None:
    """What an earlier run found in a piece, if it came to the end of it."""
    report = work.done(work.scan_report(piece.number))
    if report is None:
        return None
    documents = storage.load_array(work.scan(piece.number))
    return PieceScan(documents, account_of(report))


class Scanned(NamedTuple):
    """Outputs of `Scan`.

    Attributes:
      digests: (partition, packed `records.EXACT`).
      entries: ledger entries.
      rejects: ((source, outcome), (key, JSON of the row)).
      notes: (path, kind, detail) of damage passed over.
    """

    digests: beam.PCollection[tuple[int, bytes]]
    entries: beam.PCollection[ledger.Entry]
    rejects: beam.PCollection[Reject]
    notes: beam.PCollection[Note]


@dataclass
class _ScanPiece(PackingDoFn):
    settings: ScanSettings

    def setup(self) -> None:
        check_unicode(self.settings.unicode_version)

    def process(self, piece: Piece) -> Iterator[tuple[int, bytes] | AccountOutput]:
        count_input(piece.size)
        settings = self.settings
        scan = load_scan(piece, settings.work)
        if scan is None:
            scan = scan_piece(piece, settings)
            save_scan(piece, scan, settings.work)
            count(*scan.account.read())
        else:
            count_resumed(scan.account.read()[0])
        yield from scan.account.tagged(settings.sources[piece.source].name)
        found = exact_records(piece, scan)
        where = records.partition(found["digest_hi"], settings.partitions)
        yield from self.packed(records.split(found, where))


@dataclass
class Scan(beam.PTransform):
    """Reads pieces for the first time.

    In: `Piece`. Out: `Scanned`. Side effect: one scan file a piece.
    """

    settings: ScanSettings

    @no_annotations
    def expand(self, pieces: beam.PCollection[Piece]) -> Scanned:
        """Wires the scan."""
        outputs = pieces | "ScanPiece" >> beam.ParDo(_ScanPiece(self.settings)).with_outputs(
            "entries", "rejects", "notes", main="digests"
        )
        return Scanned(outputs["digests"], outputs["entries"], outputs["rejects"], outputs["notes"])
