"""First read: filter, normalise, digest and sign; only keys and sizes leave.

A piece's keys and signatures go to its scan file in the work folder, in row order. A document is
known from here on by its position in that file.
"""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import orjson
from apache_beam.typehints.decorators import no_annotations

from transforms import keys, ledger, quality, readers, records, storage
from transforms.documents import ROW_BITS, BadRow, Piece, RowBatch, TextBatch
from transforms.errors import InternalError
from transforms.kernels import text as text_kernels
from transforms.kernels.minhash import Signer
from transforms.readers.spec import SourceSpec
from transforms.work import WorkFolder, write_report

REJECTS_PER_REASON = 20
SAMPLE_CHARACTERS = 2000

Reject = tuple[tuple[str, str], tuple[bytes, bytes]]
Note = tuple[str, str, str]


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
      outcomes: (documents, bytes) by ledger outcome, `read` included.
      rejects: by reason, the least rejected rows by key.
      notes: (path, kind, detail) of damage that was passed over.
    """

    documents: np.ndarray
    outcomes: dict[str, tuple[int, int]]
    rejects: dict[str, list[tuple[bytes, bytes]]]
    notes: list[Note]


def scan_piece(piece: Piece, settings: ScanSettings) -> PieceScan:
    """Reads and judges every row of a piece.

    Raises:
      CorpusError: the piece cannot be read.
    """
    spec = settings.sources[piece.source]
    rules = settings.rules[piece.source]
    dtype = records.scanned(settings.signer.permutations)
    parts: list[np.ndarray] = [np.empty(0, dtype)]
    tally = _Tally(piece)
    notes: list[Note] = []
    for batch in readers.read(piece, spec):
        if not isinstance(batch, RowBatch):
            notes.append((batch.path, batch.kind, batch.detail))
            continue
        for row in batch.bad:
            tally.bad_row(row)
        measures = text_kernels.measure(batch.texts)
        verdicts = quality.judge(measures, rules)
        sizes = batch.texts.sizes()
        empty = measures["words"] == 0
        tally.count(ledger.READ, len(sizes), int(sizes.sum()))
        tally.count(ledger.EMPTY, int(empty.sum()), int(sizes[empty].sum()))
        tally.filtered(batch, np.where(empty, 0, verdicts), rules)
        kept = np.flatnonzero(~empty & (verdicts == 0))
        if len(kept):
            texts = batch.texts.take(kept)
            described = _describe(texts, piece, settings)
            described["row"] = batch.rows[kept]
            described["tie"] = _ties(batch.ids, kept)
            parts.append(described)
    return PieceScan(np.concatenate(parts), tally.outcomes(), tally.rejects(), notes)


def _describe(texts: TextBatch, piece: Piece, settings: ScanSettings) -> np.ndarray:
    """Keys and signature of documents, `records.scanned` less `row` and `tie`."""
    normalized = text_kernels.normalize(texts)
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
    hashed = [
        hashlib.blake2b(name.encode(), digest_size=8).digest() if name is not None else bytes(8)
        for name in (ids[k] for k in kept.tolist())
    ]
    return np.frombuffer(b"".join(hashed), "<u8")


class _Tally:
    """Counts and samples of one piece's rejected rows."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._documents: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._rejects: dict[str, list[tuple[bytes, bytes]]] = {}

    def count(self, outcome: str, documents: int, size: int) -> None:
        if documents:
            self._documents[outcome] += documents
            self._bytes[outcome] += size

    def bad_row(self, row: BadRow) -> None:
        outcome = f"{ledger.MALFORMED}:{row.reason}"
        self.count(ledger.READ, 1, 0)
        self.count(outcome, 1, 0)
        self._sample(outcome, row.row, row.sample)

    def filtered(self, batch: RowBatch, verdicts: np.ndarray, rules: quality.Rules) -> None:
        rejected = np.flatnonzero(verdicts)
        if not len(rejected):
            return
        sizes = batch.texts.sizes()
        for code in np.unique(verdicts[rejected]).tolist():
            outcome = f"{ledger.FILTERED}:{rules.REASONS[code - 1]}"
            self.count(outcome, int((verdicts == code).sum()), int(sizes[verdicts == code].sum()))
        texts = batch.texts.take(rejected).bytes_list()
        for place, text in zip(rejected.tolist(), texts, strict=True):
            outcome = f"{ledger.FILTERED}:{rules.REASONS[verdicts[place] - 1]}"
            self._sample(outcome, int(batch.rows[place]), text)

    def _sample(self, outcome: str, row: int, raw: bytes) -> None:
        key = hashlib.blake2b(raw, digest_size=16).digest()
        sampled = self._rejects.setdefault(outcome, [])
        if len(sampled) == REJECTS_PER_REASON and key > sampled[-1][0]:
            return
        excerpt = raw[: 4 * SAMPLE_CHARACTERS].decode(errors="replace")[:SAMPLE_CHARACTERS]
        shown = {
            "reason": outcome,
            "file": self._piece.name(),
            "from_byte": self._piece.start if self._piece.kind == "jsonl" else 0,
            "row": self._piece.rows_before + row,
            "text": excerpt,
        }
        sampled.append((key, orjson.dumps(shown)))
        sampled.sort()
        del sampled[REJECTS_PER_REASON:]

    def outcomes(self) -> dict[str, tuple[int, int]]:
        return {name: (count, self._bytes[name]) for name, count in self._documents.items()}

    def rejects(self) -> dict[str, list[tuple[bytes, bytes]]]:
        return self._rejects


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
    rejects = {
        outcome: [(key.hex(), row.decode()) for key, row in sampled]
        for outcome, sampled in scan.rejects.items()
    }
    report = {"outcomes": scan.outcomes, "rejects": rejects, "notes": scan.notes}
    write_report(work.scan_report(piece.number), report)


def load_scan(piece: Piece, work: WorkFolder) -> PieceScan | None:
    """What an earlier run found in a piece, if it came to the end of it."""
    report = work.done(work.scan_report(piece.number))
    if report is None:
        return None
    return PieceScan(
        storage.load_array(work.scan(piece.number)),
        {outcome: (documents, size) for outcome, (documents, size) in report["outcomes"].items()},
        {
            outcome: [(bytes.fromhex(key), row.encode()) for key, row in sampled]
            for outcome, sampled in report["rejects"].items()
        },
        [(path, kind, detail) for path, kind, detail in report["notes"]],
    )


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
class _ScanPiece(beam.DoFn):
    settings: ScanSettings

    def setup(self) -> None:
        here = unicodedata.unidata_version
        if here != self.settings.unicode_version:
            raise InternalError(
                f"this worker's Python has Unicode {here}, the launcher's "
                f"{self.settings.unicode_version}: run both on the same Python version"
            )

    def process(self, piece: Piece) -> Iterator[tuple[int, bytes]]:
        settings = self.settings
        scan = load_scan(piece, settings.work)
        if scan is None:
            scan = scan_piece(piece, settings)
            save_scan(piece, scan, settings.work)
        name = settings.sources[piece.source].name
        for outcome, (documents, size) in scan.outcomes.items():
            yield beam.pvalue.TaggedOutput("entries", ledger.entry(name, outcome, documents, size))
        for outcome, sampled in scan.rejects.items():
            for sample in sampled:
                yield beam.pvalue.TaggedOutput("rejects", ((name, outcome), sample))
        for note in scan.notes:
            yield beam.pvalue.TaggedOutput("notes", note)
        found = exact_records(piece, scan)
        where = records.partition(found["digest_hi"], settings.partitions)
        yield from records.split(found, where)


@dataclass
class Scan(beam.PTransform):
    """Reads pieces for the first time.

    In: `Piece`. Out: `Scanned`. Side effect: one scan file a piece.
    """

    settings: ScanSettings

    @no_annotations
    def expand(self, pieces: beam.PCollection[Piece]) -> Scanned:
        """Wires the scan."""
        outputs = pieces | "ScanPiece" >> beam.ParDo(_ScanPiece(self.settings)).with_output_types(
            tuple[int, bytes], entries=ledger.Entry, rejects=Reject, notes=Note
        ).with_outputs("entries", "rejects", "notes", main="digests")
        return Scanned(outputs["digests"], outputs["entries"], outputs["rejects"], outputs["notes"])
