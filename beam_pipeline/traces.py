"""The traces job: from pieces to windows in every layout, manifests and `_SUCCESS`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSingleton

from beam_pipeline.finish import finish
from beam_pipeline.report.traces.write import add_report
from beam_pipeline.traces_launch import TracesLaunch
from beam_pipeline.traces_manifest import TracesFacts, manifests
from transforms import ledger, statistics
from transforms.account import Note
from transforms.documents import Piece
from transforms.land import LandPieces
from transforms.rejects import WriteRejects
from transforms.shards import ShardInfo
from transforms.take_first import FirstSettings, TakeFirst
from transforms.tokenizers.spec import PreparedTokenizer
from transforms.traces.dedup import DedupProblems
from transforms.traces.encode_examples import EncodeExamples
from transforms.traces.first_rows import LandFirstRows
from transforms.traces.over_limit import CountLeft
from transforms.traces.parse_rows import ParseRows
from transforms.traces.problems import WriteProblems
from transforms.traces.records import UNIQUE
from transforms.traces.settle_tokenizer import SettleTokenizer
from transforms.traces.split_examples import SplitExamples
from transforms.traces.write_layouts import WriteLayouts
from transforms.work import WorkFolder


def build(pipeline: beam.Pipeline, launched: TracesLaunch) -> beam.PCollection[str]:
    """Adds the traces job to a pipeline.

    Returns:
      the paths of the report and the finished manifests, once `_SUCCESS` is written.
    """
    source, seed = launched.parse.source.name, launched.encode.seed
    parsed = _pieces(pipeline, launched) | "ParseRows" >> ParseRows(launched.parse)
    exact = parsed.problems | "DedupProblems" >> DedupProblems(seed, source)
    chosen, entries = exact.unique, [parsed.entries, exact.entries]
    if launched.limit is not None:
        first = exact.unique | "Limit" >> TakeFirst(FirstSettings(launched.limit, UNIQUE))
        chosen = first.taken
        entries.append(first.left | "CountLeft" >> CountLeft(source))
    split = chosen | "SplitExamples" >> SplitExamples(launched.encode.val_fraction, source)
    tokenizer = AsSingleton(
        {"chosen": chosen, "counts": split.counts}
        | "SettleTokenizer" >> SettleTokenizer(launched.tokenizer)
    )
    encoded = split.by_piece | "EncodeExamples" >> EncodeExamples(launched.encode, tokenizer)
    shards = {
        "chosen": encoded.chosen,
        "tokens": encoded.tokens,
    } | "WriteLayouts" >> WriteLayouts(
        launched.encode, launched.tokens_per_shard, launched.output, tokenizer
    )
    tally = (
        (*entries, split.entries, encoded.entries)
        | "AllEntries" >> beam.Flatten()
        | "Tally" >> ledger.Tally()
    )
    rejects = parsed.rejects | "Rejects" >> WriteRejects(launched.output)
    problems = split.held_out | "Problems" >> WriteProblems(launched.output, launched.work)
    return (
        pipeline
        | "Once" >> beam.Create([None], reshuffle=False)
        | "Finish"
        >> beam.ParDo(
            _Finish(launched.facts, launched.output, launched.work),
            tokenizer=tokenizer,
            shards=AsList(shards),
            entries=AsList(tally),
            notes=AsList(parsed.notes),
            written=AsList((rejects, problems) | "Written" >> beam.Flatten()),
        )
    )


def _pieces(pipeline: beam.Pipeline, launched: TracesLaunch) -> beam.PCollection[Piece]:
    if launched.scan_limit is None:
        return pipeline | "LandPieces" >> LandPieces((launched.parse.source,), launched.work)
    return pipeline | "LandFirstRows" >> LandFirstRows(launched.parse, launched.scan_limit)


@dataclass
class _Finish(beam.DoFn):
    """Checks the account; writes report and manifests, then `_SUCCESS`; clears the work folder."""

    facts: TracesFacts
    output: str
    work: WorkFolder

    def process(
        self,
        _: None,
        tokenizer: PreparedTokenizer,
        shards: Sequence[ShardInfo],
        entries: Sequence[ledger.Entry],
        notes: Sequence[Note],
        written: Sequence[str],
    ) -> Iterator[str]:
        account, measured = statistics.apart(entries)
        found = manifests(self.facts, tokenizer, shards, account, notes)
        lengths = measured[self.facts.source.name]
        yield add_report(found, self.facts, tokenizer, shards, lengths, written, self.output)
        yield from finish(found, self.output, self.work)
