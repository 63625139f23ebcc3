"""Near-duplicate clusters: edges joined into components, and who is kept of each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.typehints.decorators import no_annotations

from transforms import ledger, records, specimens, statistics, storage
from transforms.kernels import clusters as cluster_kernels
from transforms.kernels.union_find import Forest, forest
from transforms.near_dedup import NearDedupSettings
from transforms.packed import PackingDoFn

Keep = Literal["cluster", "greedy"]


class JoinForests(beam.CombineFn):
    """Joins edges into components.

    In: packed `records.EDGE`. Out: a forest as bytes, 16 of them for each document that has an
    edge. Accumulator: a forest, as the edges from its nodes to their roots, and edges that wait to
    be joined to it; they wait until they are as many as it has, so that joining stays linear in
    the edges however many elements they come in.
    """

    def create_accumulator(self) -> tuple[bytes, list[bytes]]:
        """No documents."""
        return b"", []

    def add_input(
        self, accumulator: tuple[bytes, list[bytes]], packed: bytes
    ) -> tuple[bytes, list[bytes]]:
        """Adds one batch of edges."""
        joined, waiting = accumulator
        waiting = [*waiting, packed]
        if sum(map(len, waiting)) > max(len(joined), _LEAST_JOINED):
            return _join([joined, *waiting]), []
        return joined, waiting

    def merge_accumulators(
        self, accumulators: Iterable[tuple[bytes, list[bytes]]]
    ) -> tuple[bytes, list[bytes]]:
        """Joins forests one after the other, however many there are."""
        merged = self.create_accumulator()
        for joined, waiting in accumulators:
            for part in (joined, *waiting):
                merged = self.add_input(merged, part)
        return merged

    def compact(self, accumulator: tuple[bytes, list[bytes]]) -> tuple[bytes, list[bytes]]:
        """Leaves the forest alone, which is what a bundle sends to the one that joins all."""
        joined, waiting = accumulator
        return (_join([joined, *waiting]), []) if waiting else accumulator

    def extract_output(self, accumulator: tuple[bytes, list[bytes]]) -> bytes:
        """The forest."""
        joined, waiting = accumulator
        return forest(_edges([joined, *waiting])).to_bytes()


# Bytes of edges that wait in any case: half a million of them are joined in some 0.1 s.
_LEAST_JOINED = 8 << 20


def _join(parts: list[bytes]) -> bytes:
    return np.stack(forest(_edges(parts)), axis=1).tobytes()


def _edges(parts: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(parts), np.uint64).reshape(-1, 2)


class Judged(NamedTuple):
    """What becomes of documents that have an edge.

    Attributes:
      kept: bool [n].
      chained: bool [n], dropped although the signature agrees in too few positions with that of
        the one kept.
      sizes: int64 [n], documents in the cluster, exact copies included.
      best: uint64 [n], reference to the best document of the cluster, which is kept.
      agreement: int64 [n], positions in which the signature equals that of the best document.
    """

    kept: np.ndarray
    chained: np.ndarray
    sizes: np.ndarray
    best: np.ndarray
    agreement: np.ndarray


def judge(nodes: np.ndarray, edges: np.ndarray, keep: Keep, min_agree: int) -> Judged:
    """Decides who is kept of each component.

    Args:
      nodes: `records.node`, whole components.
      edges: `records.EDGE` between them; repeats do not matter.
      keep: policy, see SPEC "Near dedup".
      min_agree: equal signature positions that make an edge.
    """
    order = records.order_by(nodes, *records.PREFERENCE_ORDER)
    rank = np.empty(len(nodes), np.int64)
    rank[order] = np.arange(len(nodes))
    by_ref = np.argsort(nodes["ref"])
    ends = np.stack([edges["a"], edges["b"]], axis=1)
    ends = by_ref[np.searchsorted(nodes["ref"], ends, sorter=by_ref)].astype(np.int64)
    _, component = np.unique(nodes["root"], return_inverse=True)
    decision = cluster_kernels.decide(
        rank,
        ends,
        component.astype(np.int64),
        keep,
        np.ascontiguousarray(nodes["signature"]),
        min_agree,
    )
    sizes = np.bincount(component, weights=nodes["copies"]).astype(np.int64)
    return Judged(
        decision.kept,
        decision.chained,
        sizes[component],
        nodes["ref"][decision.best],
        decision.agreement,
    )


class Clustered(NamedTuple):
    """Outputs of `Cluster`.

    Attributes:
      verdicts: (piece number, packed `records.VERDICT`) on every document that has an edge.
      entries: ledger entries of the near duplicates, and statistics of them.
    """

    verdicts: beam.PCollection[tuple[int, bytes]]
    entries: beam.PCollection[ledger.Entry]


@dataclass
class _FindNodes(PackingDoFn):
    """Picks the survivors that have an edge."""

    settings: NearDedupSettings

    def process(
        self, group: tuple[int, Iterable[bytes]], joined: bytes
    ) -> Iterator[tuple[int, bytes]]:
        piece, packed = group
        survivors = records.unpack(packed, records.SURVIVOR)
        references = records.refs(piece, survivors["position"])
        has_edge, roots = Forest.from_bytes(joined).roots_of(references)
        if not has_edge.any():
            return
        survivors = survivors[has_edge]
        scanned = storage.load_array(self.settings.work.scan(piece))[survivors["position"]]
        nodes = np.empty(len(survivors), records.node(self.settings.permutations))
        nodes["root"] = roots[has_edge]
        nodes["ref"] = references[has_edge]
        nodes["copies"] = survivors["copies"]
        for field in (*records.PREFERENCE_ORDER, "size", "source", "signature"):
            nodes[field] = scanned[field]
        where = _component_partition(nodes["root"], self.settings)
        yield from self.packed(records.split(nodes, where))


@dataclass
class _RouteEdges(PackingDoFn):
    """Sends edges to where their component is judged."""

    settings: NearDedupSettings

    def process(self, packed: bytes, joined: bytes) -> Iterator[tuple[int, bytes]]:
        edges = np.frombuffer(packed, records.EDGE)
        _, roots = Forest.from_bytes(joined).roots_of(edges["a"])
        yield from self.packed(records.split(edges, _component_partition(roots, self.settings)))


def _component_partition(roots: np.ndarray, settings: NearDedupSettings) -> np.ndarray:
    # References count up within a piece; the multiplication spreads them over the leading bits.
    return records.partition(roots * np.uint64(0x9E3779B97F4A7C15), settings.partitions)


@dataclass
class _JudgeComponents(PackingDoFn):
    settings: NearDedupSettings
    keep: Keep
    sources: tuple[str, ...]

    def process(
        self, group: tuple[int, dict[str, Iterable[bytes]]]
    ) -> Iterator[tuple[int, bytes] | ledger.EntryOutput]:
        nodes = records.unpack(group[1]["nodes"], records.node(self.settings.permutations))
        edges = records.distinct(records.unpack(group[1]["edges"], records.EDGE), "a", "b")
        judged = judge(nodes, edges, self.keep, self.settings.min_agree)
        outcomes = (ledger.NEAR_DUPLICATE, ~judged.kept), (ledger.CHAINED, judged.chained)
        for outcome, which in outcomes:
            for source in np.unique(nodes["source"][which]).tolist():
                found = which & (nodes["source"] == source)
                amount = int(found.sum()), int(nodes["size"][found].sum(dtype=np.int64))
                yield ledger.EntryOutput(
                    "entries", ledger.entry(self.sources[source], outcome, *amount)
                )
        shown = np.zeros(len(nodes), bool)
        for specimen in specimens.largest_clusters(nodes):
            yield ledger.EntryOutput(
                "entries", specimen.entry(self.sources[specimen.members[0].source])
            )
            shown |= np.isin(nodes["ref"], [m.ref() for m in specimen.members])
        for entry in self._cluster_sizes(nodes):
            yield ledger.EntryOutput("entries", entry)
        verdicts = np.empty(len(nodes), records.VERDICT)
        verdicts["position"] = records.ref_positions(nodes["ref"])
        verdicts["kept"] = judged.kept
        verdicts["shown"] = shown
        verdicts["cluster"] = judged.sizes
        verdicts["best"] = judged.best
        verdicts["agreement"] = judged.agreement
        yield from self.packed(records.split(verdicts, records.ref_pieces(nodes["ref"])))

    def _cluster_sizes(self, nodes: np.ndarray) -> Iterator[ledger.Entry]:
        """How many texts clusters have; each counts for the source of its preferred document."""
        order = records.order_by(nodes, "root", *records.PREFERENCE_ORDER)
        starts = np.flatnonzero(records.run_starts(nodes[order], "root"))
        texts = np.diff(np.r_[starts, len(order)])
        best = nodes["source"][order[starts]]
        for source in np.unique(best).tolist():
            counts = statistics.histogram(statistics.CLUSTER_TEXTS, texts[best == source])
            yield statistics.entry(self.sources[source], statistics.CLUSTER_TEXTS, counts)


@dataclass
class Cluster(beam.PTransform):
    """Decides which near duplicates are kept.

    In: {"survivors": (piece number, iterable of packed `records.SURVIVOR`), "edges": packed
    `records.EDGE`}. Out: `Clustered`. A worker holds the forest and one partition of components.

    Attributes:
      sources: names, by place in the recipe.
    """

    settings: NearDedupSettings
    keep: Keep
    sources: tuple[str, ...]

    @no_annotations
    def expand(self, inputs: dict[str, beam.PCollection]) -> Clustered:
        """Wires the union of the edges and the judgement."""
        joined = beam.pvalue.AsSingleton(
            inputs["edges"] | "JoinForests" >> beam.CombineGlobally(JoinForests())
        )
        nodes = inputs["survivors"] | "FindNodes" >> beam.ParDo(_FindNodes(self.settings), joined)
        edges = inputs["edges"] | "RouteEdges" >> beam.ParDo(_RouteEdges(self.settings), joined)
        outputs = (
            {"nodes": nodes, "edges": edges}
            | "GroupComponents" >> beam.CoGroupByKey()
            | "JudgeComponents"
            >> beam.ParDo(_JudgeComponents(self.settings, self.keep, self.sources)).with_outputs(
                "entries", main="verdicts"
            )
        )
        return Clustered(outputs["verdicts"], outputs["entries"])
