"""First read: rows become examples, which wait in the work folder; only keys and sizes leave."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import orjson
from apache_beam.typehints.decorators import no_annotations

from transforms import keys, ledger, readers, storage
from transforms import records as packing
from transforms.account import Accountant, AccountOutput, Note, PieceAccount, Reject, account_of
from transforms.counters import count, count_input, count_resumed
from transforms.documents import Piece, RowBatch, TextBatch
from transforms.sources import SourceSpec
from transforms.traces.example import Example, Malformed
from transforms.traces.parsers import ParserSpec, parse
from transforms.traces.records import PARSED, PROBLEM_ORDER
from transforms.traces.split import problem_digests
from transforms.unicode import check_unicode
from transforms.work import WorkFolder, write_report


@dataclass(frozen=True)
class ParseSettings:
    """What parsing needs to know.

    Attributes:
      source: its text is a JSON object of the parser's columns.
      partitions: of the problems; a power of two.
      unicode_version: of the launcher; what is white space depends on it.
    """

    source: SourceSpec
    parser: ParserSpec
    partitions: int
    unicode_version: str
    work: WorkFolder


class PieceExamples(NamedTuple):
    """What a piece gives.

    Attributes:
      found: `PARSED`, in the order of the rows.
      examples: of them, as `Example.to_json` writes them.
      account: of all rows; the bytes are those of the examples, 0 for malformed rows.
    """

    found: np.ndarray
    examples: list[bytes]
    account: PieceAccount


def parse_piece(piece: Piece, settings: ParseSettings) -> PieceExamples:
    """Reads and parses every row of a piece.

    Raises:
      CorpusError: the piece cannot be read.
    """
    accountant = Accountant(piece)
    problems: list[str] = []
    examples: list[bytes] = []
    for batch in readers.read(piece, settings.source):
        if not isinstance(batch, RowBatch):
            accountant.note(batch)
            continue
        for bad in batch.bad:
            accountant.bad_row(bad)
        for row, text in zip(batch.rows.tolist(), batch.texts.bytes_list(), strict=True):
            example = parse(settings.parser, orjson.loads(text))
            if isinstance(example, Malformed):
                outcome = f"{ledger.MALFORMED}:{example.reason}"
                accountant.count(outcome, 1, 0)
                accountant.count(ledger.READ, 1, 0)
                accountant.sample(outcome, row, text)
                continue
            examples.append(example.to_json())
            problems.append(example.problem)
            accountant.count(ledger.READ, 1, len(examples[-1]))
            for note in example.notes:
                accountant.count(f"{ledger.KEPT_WITH}:{note}", 1, len(examples[-1]))
    found = _describe(piece, problems, examples)
    return PieceExamples(found, examples, accountant.account())


def _describe(piece: Piece, problems: list[str], examples: list[bytes]) -> np.ndarray:
    found = np.empty(len(examples), PARSED)
    digests = problem_digests(TextBatch.from_strings(problems))
    for k, name in enumerate(PROBLEM_ORDER):
        found[name] = digests[:, k]
    texts = TextBatch.from_bytes(examples)
    found["text_hi"], found["text_lo"] = keys.digests(texts).T
    found["size"] = texts.sizes()
    found["ref"] = packing.refs(piece.number, np.arange(len(found)))
    return found


def gives_example(batch: RowBatch, parser: ParserSpec) -> np.ndarray:
    """Which of the good rows of a batch parse to an example, bool [n]."""
    parsed = (parse(parser, orjson.loads(text)) for text in batch.texts.bytes_list())
    return np.array([isinstance(example, Example) for example in parsed], bool)


class Parsed(NamedTuple):
    """Outputs of `ParseRows`.

    Attributes:
      problems: (partition of the problem's digest, packed `PARSED`).
      entries: ledger entries: read, malformed, kept with an oddity.
      rejects: ((source, outcome), (key, JSON of the row)).
      notes: (path, kind, detail) of damage passed over.
    """

    problems: beam.PCollection[tuple[int, bytes]]
    entries: beam.PCollection[ledger.Entry]
    rejects: beam.PCollection[Reject]
    notes: beam.PCollection[Note]


@dataclass
class _ParsePiece(beam.DoFn):
    settings: ParseSettings

    def setup(self) -> None:
        check_unicode(self.settings.unicode_version)

    def process(self, piece: Piece) -> Iterator[tuple[int, bytes] | AccountOutput]:
        count_input(piece.size)
        work = self.settings.work
        report = work.done(work.parsed_report(piece.number))
        if report is None:
            parsed = parse_piece(piece, self.settings)
            found, account = parsed.found, parsed.account
            storage.write_whole(work.examples(piece.number), parsed.examples)
            storage.save_array(work.parsed(piece.number), found)
            write_report(work.parsed_report(piece.number), account.report())
            count(*account.read())
        else:
            found = np.asarray(storage.load_array(work.parsed(piece.number)))
            account = account_of(report)
            count_resumed(account.read()[0])
        yield from account.tagged(self.settings.source.name)
        where = packing.partition(found[PROBLEM_ORDER[0]], self.settings.partitions)
        yield from packing.split(found, where)


@dataclass
class ParseRows(beam.PTransform):
    """Reads pieces and parses their rows.

    In: `Piece`. Out: `Parsed`. Side effect: a file of examples a piece. A worker holds one piece.
    """

    settings: ParseSettings

    @no_annotations
    def expand(self, pieces: beam.PCollection[Piece]) -> Parsed:
        """Wires the parsing."""
        outputs = pieces | "ParsePiece" >> beam.ParDo(_ParsePiece(self.settings)).with_outputs(
            "entries", "rejects", "notes", main="problems"
        )
        return Parsed(outputs["problems"], outputs["entries"], outputs["rejects"], outputs["notes"])
