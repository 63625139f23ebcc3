"""The first steps of the corpus job, taken on a sample of its input: no Beam pipeline is run."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from beam_pipeline.launch import Launch
from transforms import records
from transforms.budget import costs
from transforms.documents import Piece, piece_number
from transforms.exact_dedup import survivors
from transforms.ledger import EXACT_DUPLICATE, READ
from transforms.readers.landed import land_rows
from transforms.readers.sampling import Part, Sample, sample
from transforms.scan import PieceScan, exact_records, save_scan, scan_piece
from transforms.tokenize import SPLITS, TRAIN, VAL, tokenize_piece
from transforms.tokenizers.encoders import load_encoder


@dataclass
class PartResult:
    """What became of a part of the sample.

    Attributes:
      units: how much of the input it is; see `transforms.readers.sampling`.
      text_bytes: of all its documents.
      outcomes: documents by ledger outcome, `read` and `exact_duplicate` included; the latter has
        copies of any document in the sample.
      tokens: by split, what its documents take in windows.
      documents: by split.
      read_seconds, scan_seconds, tokenize_seconds: CPU.
    """

    units: float
    text_bytes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    tokens: list[int] = field(default_factory=lambda: [0] * len(SPLITS))
    documents: list[int] = field(default_factory=lambda: [0] * len(SPLITS))
    read_seconds: float = 0.0
    scan_seconds: float = 0.0
    tokenize_seconds: float = 0.0


@dataclass(frozen=True)
class SourceResult:
    """What became of a source's sample.

    Attributes:
      parts: as sampled.
      total: units of the whole source; None where they are not known.
      whole: the sample is all that the source has.
    """

    parts: list[PartResult]
    total: float | None
    whole: bool


def run_sample(launched: Launch) -> list[SourceResult]:
    """Samples every source, and filters, deduplicates exactly and tokenizes the sample.

    Args:
      launched: its work folder takes the sample; nothing else of it is touched.

    Returns:
      By place of the source in the recipe.

    Raises:
      CorpusError: the sample cannot be read as the recipe says.
    """
    samples = [sample(planned, launched.scan.seed) for planned in launched.plans]
    results = [
        SourceResult([_begun(part) for part in one.parts], one.total, one.whole())
        for one in samples
    ]
    landed = list(_landed(samples, launched))
    scans: dict[int, PieceScan] = {}
    for piece, result in _with_results(landed, results):
        started = time.process_time()
        scan = scan_piece(piece, launched.scan)
        result.scan_seconds += time.process_time() - started
        save_scan(piece, scan, launched.work)
        scans[piece.number] = scan
        for outcome, (count, size) in scan.account.outcomes.items():
            result.outcomes[outcome] += count
            result.text_bytes += size if outcome == READ else 0
    positions = _survivors([piece for piece, _ in landed], scans, launched.by_source)
    load_encoder(launched.tokenize.tokenizer)
    for piece, result in _with_results(landed, results):
        kept = positions.get(piece.number, np.empty(0, np.uint32))
        scanned = scans[piece.number].documents
        result.outcomes[EXACT_DUPLICATE] += len(scanned) - len(kept)
        if launched.tokenize.weights[piece.source] == 0:
            continue  # the job does not tokenize it either
        _tokenize(piece, scanned, kept, launched, result)
    return results


Place = tuple[int, int]


def _begun(part: Part) -> PartResult:
    return PartResult(part.units, read_seconds=part.cpu_seconds)


def _landed(samples: list[Sample], launched: Launch) -> Iterator[tuple[Piece, Place]]:
    """Pieces that hold the sample, each with (source, part)."""
    number = 0
    for source, one in enumerate(samples):
        for place, part in enumerate(one.parts):
            parent = replace(part.piece, number=piece_number(number))
            number += 1
            for piece in land_rows(part.batches, parent, launched.work.root):
                yield piece, (source, place)


def _with_results(
    landed: list[tuple[Piece, Place]], results: list[SourceResult]
) -> Iterator[tuple[Piece, PartResult]]:
    for piece, (source, place) in landed:
        yield piece, results[source].parts[place]


def _survivors(
    pieces: list[Piece], scans: dict[int, PieceScan], by_source: bool
) -> dict[int, np.ndarray]:
    """Positions of the exact survivors of each piece, ascending."""
    found = np.concatenate(
        [np.empty(0, records.EXACT), *(exact_records(p, scans[p.number]) for p in pieces)]
    )
    chosen, _ = survivors(found, by_source)
    references = np.sort(found["ref"][chosen])
    numbers = records.ref_pieces(references)
    return {
        int(number): records.ref_positions(references[numbers == number])
        for number in np.unique(numbers)
    }


def _tokenize(
    piece: Piece, scanned: np.ndarray, kept: np.ndarray, launched: Launch, result: PartResult
) -> None:
    settings = launched.tokenize
    encoder = load_encoder(settings.tokenizer)
    started = time.process_time()
    alone = np.ones(len(kept), np.uint32)
    shown = np.empty(0, np.int64)
    found = tokenize_piece(piece, scanned, kept, alone, shown, settings, encoder)
    result.tokenize_seconds += time.process_time() - started
    cost = costs(found.documents, launched.budget.seq_len)
    for split, of_split in ((TRAIN, slice(found.train)), (VAL, slice(found.train, None))):
        result.tokens[split] += int(cost[of_split].sum())
        result.documents[split] += len(cost[of_split])
