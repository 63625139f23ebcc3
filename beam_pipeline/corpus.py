"""The corpus job: from pieces to shards, manifests and `_SUCCESS`, all written by the graph.

On a Flex Template the launcher does not wait for the job, so nothing after `run()` may matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import apache_beam as beam
from apache_beam.pvalue import AsDict, AsList, AsSingleton

from beam_pipeline.finish import finish
from beam_pipeline.launch import Launch
from beam_pipeline.manifest import MANIFEST, SUCCESS, CorpusFacts, manifests
from beam_pipeline.report.write import add_report
from transforms import ledger, statistics, storage
from transforms.account import Note
from transforms.budget import Budget, Shares
from transforms.clusters import Cluster
from transforms.exact_dedup import ExactDedup
from transforms.land import LandPieces
from transforms.near_dedup import FindEdges
from transforms.rejects import WriteRejects
from transforms.scan import Scan
from transforms.shards import ShardInfo
from transforms.tokenize import Tokenize
from transforms.work import WorkFolder
from transforms.write import WriteShards


def build(pipeline: beam.Pipeline, launched: Launch) -> beam.PCollection[str]:
    """Adds the corpus job to a pipeline.

    Returns:
      the paths of the report and the finished manifests, once `_SUCCESS` is written.
    """
    sources = launched.source_names
    pieces = pipeline | "LandPieces" >> LandPieces(
        launched.scan.sources, launched.work, launched.landed_bytes
    )
    scanned = pieces | "Scan" >> Scan(launched.scan)
    exact = scanned.digests | "ExactDedup" >> ExactDedup(sources, launched.by_source)
    survivors = exact.survivors | "SurvivorsByPiece" >> beam.GroupByKey()
    edges = survivors | "FindEdges" >> FindEdges(launched.near)
    clustered = {"survivors": survivors, "edges": edges} | "Cluster" >> Cluster(
        launched.near, launched.keep, sources
    )
    tokenized = {
        "pieces": pieces | "KeyPieces" >> beam.Map(lambda piece: (piece.number, piece)),
        "survivors": exact.survivors,
        "verdicts": clustered.verdicts,
    } | "Tokenize" >> Tokenize(launched.tokenize)
    budgeted = tokenized.documents | "Budget" >> Budget(launched.budget)
    shards = {"chosen": budgeted.chosen, "spent": budgeted.spent} | "WriteShards" >> WriteShards(
        launched.write
    )
    entries = (
        (
            scanned.entries,
            exact.entries,
            clustered.entries,
            tokenized.entries,
            budgeted.entries,
        )
        | "AllEntries" >> beam.Flatten()
        | "Tally" >> ledger.Tally()
    )
    rejects = scanned.rejects | "Rejects" >> WriteRejects(launched.output)
    return (
        pipeline
        | "Once" >> beam.Create([None], reshuffle=False)
        | "Finish"
        >> beam.ParDo(
            _Finish(launched.facts, launched.output, launched.work),
            shards=AsList(shards),
            entries=AsList(entries),
            spent=AsDict(budgeted.spent),
            shares=AsSingleton(budgeted.shares),
            notes=AsList(scanned.notes),
            rejects=AsList(rejects),
        )
    )


@dataclass
class _Finish(beam.DoFn):
    """Checks the ledger; writes report and manifests, then `_SUCCESS`; clears the work folder."""

    facts: CorpusFacts
    output: str
    work: WorkFolder

    def process(
        self,
        _: None,
        shards: Sequence[ShardInfo],
        entries: Sequence[ledger.Entry],
        spent: Mapping[int, tuple[int, int]],
        shares: Shares,
        notes: Sequence[Note],
        rejects: Sequence[str],
    ) -> Iterator[str]:
        if storage.exists(storage.join(self.output, SUCCESS)):
            # Launch removed that of an earlier run: an earlier try of this bundle came to the end,
            # and the work folder that the report quotes from may be gone.
            storage.remove_tree(self.work.root)
            yield storage.join(self.output, MANIFEST)
            return
        account, found = statistics.apart(entries)
        names = [spec.name for spec in self.facts.sources]
        table = ledger.as_table(account, names)
        ledger.check(table)
        written = manifests(self.facts, shards, table, spent, shares, notes)
        yield add_report(written, self.facts, found, rejects, self.output, self.work)
        yield from finish(written, self.output, self.work)
