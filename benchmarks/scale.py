"""What a corpus of any size asks for, from what was measured on small ones.

    python -m benchmarks.scale          prints the tables of docs/scale.md
    python -m benchmarks.scale --write  puts them there

Measured figures are in crossings.json (`python -m benchmarks.crossings 1x 4x 16x
one_word_apart_quarter --save`), record sizes and limits in the code, and assumptions here.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from beam_pipeline.launch import MAX_PARTITIONS, MIN_PARTITIONS, PARTITION_BYTES
from beam_pipeline.measured import (
    PRICE_MEMORY_GB_HOUR,
    PRICE_SHUFFLED_GB,
    PRICE_VCPU_HOUR,
    WORKER_MEMORY_GB,
)
from benchmarks.crossings import MEASURED
from benchmarks.make_inputs import HERE
from transforms import records
from transforms.packed import HELD_BYTES
from transforms.readers.planning import piece_bytes_for

DOC = HERE.parent / "docs" / "scale.md"
BEGIN, END = "<!-- benchmarks/scale.py -->\n", "<!-- end -->\n"

# Assumed of the corpus.
BYTES_PER_TOKEN = 4.5
BYTES_PER_DOCUMENT = 4000
SHARING = 0.3  # of the documents, those that share a bucket of a band with another
LARGEST_CLUSTER = 0.01  # of the documents, near copies of one and the same
TOKENS_PER_SHARD = 100_000_000
PERMUTATIONS, BANDS = 128, 16

# Measured on one core (benchmarks/README.md): 16x less 1x, of 8.1 kB a document, and a million
# documents of 100 bytes less a quarter of them. Two equations: CPU seconds a MB and a document.
_LARGE = 0.0205, 8107
_SMALL = (13.1 - 4.6) / 75, 100
CPU_PER_DOCUMENT = (_SMALL[0] - _LARGE[0]) / (1e6 / _SMALL[1] - 1e6 / _LARGE[1])
CPU_PER_MB = _LARGE[0] - CPU_PER_DOCUMENT * 1e6 / _LARGE[1]
# `tokenizers` in place of fastokens, of MB a CPU second.
TOKENIZERS_MB = 2.0
# Assumed of an object store: seconds until a range comes, and how many are asked for at once.
LATENCY, CONCURRENT = 0.03, 16

# List prices of Cloud Storage in US dollars; docs/scale.md says where from.
READS_1000, WRITES_1000 = 0.0004, 0.005


@dataclass(frozen=True)
class Corpus:
    """A corpus on paper.

    Attributes:
      tokens: of its budget, which takes all of the input.
    """

    tokens: int

    @property
    def text_bytes(self) -> float:
        return self.tokens * BYTES_PER_TOKEN

    @property
    def documents(self) -> float:
        return self.text_bytes / BYTES_PER_DOCUMENT

    @property
    def pieces(self) -> int:
        return round(self.text_bytes / piece_bytes_for(int(self.text_bytes)))

    @property
    def partitions(self) -> int:
        wanted = max(MIN_PARTITIONS, min(MAX_PARTITIONS, int(self.text_bytes) // PARTITION_BYTES))
        return 1 << (wanted - 1).bit_length()

    @property
    def shards(self) -> int:
        return -(-self.tokens // TOKENS_PER_SHARD)


CORPORA = {"20 B tokens": Corpus(20 * 10**9), "1 T tokens": Corpus(10**12)}


@dataclass(frozen=True)
class Step:
    """One shuffle.

    Attributes:
      record: bytes of what is packed.
      sharing: it concerns documents that share a bucket only.
      senders, keys: what the records come from and go to, by the name of a `Corpus` property.
    """

    shuffle: str
    what: str
    record: int
    sharing: bool
    senders: str
    keys: str

    def bytes_per_document(self, measured: dict[str, dict]) -> float:
        """Of the whole corpus: the largest plain input, or as if `SHARING` of it were copies."""
        plain, copies = (
            measured[name]["shuffles"][self.shuffle]["bytes"] / measured[name]["documents"]
            for name in ("16x", "one_word_apart_quarter")
        )
        return max(plain, SHARING * copies) if self.sharing else plain


_COMPONENTS = records.node(PERMUTATIONS).itemsize
STEPS = (
    Step(
        "ExactDedup/GroupDigests",
        "digests by partition",
        records.EXACT.itemsize,
        False,
        "pieces",
        "partitions",
    ),
    Step(
        "SurvivorsByPiece",
        "survivors by piece",
        records.SURVIVOR.itemsize,
        False,
        "partitions",
        "pieces",
    ),
    Step(
        "FindEdges/GroupBands",
        "band keys by band and partition",
        records.BAND.itemsize,
        False,
        "pieces",
        "partitions",
    ),
    Step(
        "FindEdges/GroupBuckets",
        "members of shared buckets",
        records.MEMBER.itemsize,
        True,
        "partitions",
        "partitions",
    ),
    Step(
        "FindEdges/GroupByPiece",
        "members by piece",
        records.MEMBER.itemsize,
        True,
        "partitions",
        "pieces",
    ),
    Step(
        "FindEdges/GroupCandidates",
        "signatures and seats",
        records.candidate(PERMUTATIONS).itemsize,
        True,
        "pieces",
        "partitions",
    ),
    Step(
        "Cluster/GroupComponents/CoGroupByKeyImpl/GroupByKey",
        "components",
        _COMPONENTS,
        True,
        "pieces",
        "partitions",
    ),
    Step(
        "Tokenize/JoinPieces/CoGroupByKeyImpl/GroupByKey",
        "survivors and verdicts by piece",
        records.SURVIVOR.itemsize,
        False,
        "partitions",
        "pieces",
    ),
    Step(
        "WriteShards/WriteRecords/GroupShard",
        "chosen documents by shard",
        records.CHOSEN.itemsize,
        False,
        "pieces",
        "shards",
    ),
)


def load_measured() -> dict[str, dict]:
    """Measured inputs by name."""
    return {found["input"]: found for found in json.loads(MEASURED.read_text())}


def size(count: float) -> str:
    """Bytes for people."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def number(count: float) -> str:
    """A count for people."""
    for unit, factor in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g}{unit}"
    return f"{count:.0f}"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table, all columns but the first to the right."""
    yield "| " + " | ".join(heading) + " |"
    yield "|---|" + "--:|" * (len(heading) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def linearity(measured: dict[str, dict]) -> Iterator[str]:
    """Bytes a document of each shuffle at each measured size."""
    names = list(measured)
    heading = ["bytes a document", *(f"{n}: {measured[n]['documents']:,}" for n in names)]
    rows = []
    for step in STEPS:
        found = [measured[name]["shuffles"][step.shuffle]["bytes"] for name in names]
        per_document = [
            f"{count / measured[name]['documents']:,.1f}"
            for name, count in zip(names, found, strict=True)
        ]
        rows.append([step.what, *per_document])
    yield from table(heading, rows)


def shuffles(corpus: Corpus, measured: dict[str, dict]) -> Iterator[str]:
    """What crosses each shuffle of a corpus."""
    heading = ("shuffle", "bytes a document", "bytes", "groups", "mean group", "elements")
    rows = []
    total = 0.0
    for step in STEPS:
        per_document = step.bytes_per_document(measured)
        crossing = per_document * corpus.documents
        total += crossing
        keys = getattr(corpus, step.keys)
        most = min(crossing / step.record, getattr(corpus, step.senders) * keys)
        least = min(most, max(keys, crossing / HELD_BYTES))
        rows.append(
            [
                step.what,
                f"{per_document:.1f}",
                size(crossing),
                number(keys),
                size(crossing / keys),
                f"{number(least)} to {number(most)}",
            ]
        )
    rows.append(["all", f"{total / corpus.documents:.0f}", size(total), "", "", ""])
    yield from table(heading, rows)


def shuffled_bytes(corpus: Corpus, measured: dict[str, dict]) -> float:
    """Bytes that cross all shuffles."""
    return sum(step.bytes_per_document(measured) for step in STEPS) * corpus.documents


def held(measured: dict[str, dict]) -> Iterator[str]:
    """What single workers hold, and what is handed to all of them."""
    scanned = records.scanned(PERMUTATIONS).itemsize
    apart = measured["one_word_apart_quarter"]
    digests, _, bands, *_ = STEPS
    candidates = next(step for step in STEPS if step.shuffle == "FindEdges/GroupCandidates")
    copies = apart["shuffles"][candidates.shuffle]["bytes"] / apart["documents"]
    shards_listed = measured["16x"]["side_inputs"]["Finish python_side_input3"]
    per_shard = shards_listed / measured["16x"]["shuffles"][STEPS[-1].shuffle]["groups"]

    def row(what: str, grows: str, of: Callable[[Corpus], float]) -> list[str]:
        return [what, grows, *(size(of(corpus)) for corpus in CORPORA.values())]

    def partition_of(step: Step) -> Callable[[Corpus], float]:
        return lambda c: step.bytes_per_document(measured) * c.documents / c.partitions

    rows = [
        row("scan: keys of one piece", "no", lambda c: scanned * c.documents / c.pieces),
        row("exact dedup: one partition", "from 256 GiB on", partition_of(digests)),
        row("bands: one partition", "from 256 GiB on", partition_of(bands)),
        row("buckets: one partition", "from 256 GiB on", partition_of(candidates)),
        row(
            f"buckets: a cluster of {LARGEST_CLUSTER:.0%}",
            "yes",
            lambda c: LARGEST_CLUSTER * c.documents * copies,
        ),
        row(
            f"components: a cluster of {LARGEST_CLUSTER:.0%}",
            "yes",
            lambda c: LARGEST_CLUSTER * c.documents * _COMPONENTS,
        ),
        row(
            "union-find: the forest and what waits, in one worker",
            "yes",
            lambda c: SHARING * c.documents * 2 * 16,
        ),
        row(
            "union-find: the forest, in every process",
            "yes",
            lambda c: SHARING * c.documents * 16,
        ),
        row("budget: histograms, a source and split", "no", lambda c: 65_536 * 12),
        row(
            "budget: one 65,536th of the pick order",
            "yes",
            lambda c: records.DOCUMENT.itemsize * c.documents / 65_536,
        ),
        row(
            "shard: ids and windows, uint16",
            "no",
            lambda c: 2 * 2 * min(c.tokens, TOKENS_PER_SHARD),
        ),
        row("finish: the list of shards", "yes", lambda c: per_shard * c.shards),
        row("launch: the list of pieces", "from 128 GiB on", lambda c: 240 * c.pieces),
    ]
    yield from table(("held", "grows with the corpus", *CORPORA), rows)


def totals(measured: dict[str, dict]) -> Iterator[str]:
    """Work, disk and price of whole jobs."""

    def row(what: str, of: Callable[[Corpus], str]) -> list[str]:
        return [what, *(of(corpus) for corpus in CORPORA.values())]

    scanned = records.scanned(PERMUTATIONS).itemsize
    chosen = records.DOCUMENT.itemsize

    def cpu_hours(c: Corpus) -> float:
        return (CPU_PER_MB * c.text_bytes / 1e6 + CPU_PER_DOCUMENT * c.documents) / 3600

    def reads(c: Corpus) -> float:
        # Two of the input, four of the scan files, then the token files by shard.
        return 6 * c.pieces + c.pieces * c.shards

    def waiting_hours(c: Corpus) -> float:
        return reads(c) * LATENCY / CONCURRENT / 3600

    def dollars(c: Corpus) -> float:
        hours = cpu_hours(c) + waiting_hours(c)
        objects = reads(c) / 1000 * READS_1000 + 4 * (c.pieces + c.shards) / 1000 * WRITES_1000
        machine = hours * (PRICE_VCPU_HOUR + WORKER_MEMORY_GB * PRICE_MEMORY_GB_HOUR)
        return machine + shuffled_bytes(c, measured) / 1e9 * PRICE_SHUFFLED_GB + objects

    def slow_hours(c: Corpus) -> float:
        return c.text_bytes / 1e6 / TOKENIZERS_MB / 3600

    rows = [
        row("text", lambda c: size(c.text_bytes)),
        row("documents", lambda c: number(c.documents)),
        row("pieces", lambda c: number(c.pieces)),
        row("partitions of a shuffle", lambda c: number(c.partitions)),
        row("shards", lambda c: number(c.shards)),
        row("shuffled", lambda c: size(shuffled_bytes(c, measured))),
        row(
            "work files: scan, then tokens",
            lambda c: f"{size(scanned * c.documents)}, {size(2 * c.tokens + chosen * c.documents)}",
        ),
        row("reads of objects", lambda c: number(reads(c))),
        row("vCPU hours of work", lambda c: f"{cpu_hours(c):,.1f}"),
        row("vCPU hours of waiting for objects", lambda c: f"{waiting_hours(c):,.1f}"),
        row("list price, $", lambda c: f"{dollars(c):,.2f}"),
        row("more with `tokenizers`, vCPU hours", lambda c: f"{slow_hours(c):,.0f}"),
    ]
    yield from table(("", *CORPORA), rows)


def report() -> str:
    """The tables of docs/scale.md."""
    measured = load_measured()
    lines = ["### Whole jobs", "", *totals(measured), ""]
    lines += ["### Measured: is it linear?", "", *linearity(measured), ""]
    for name, corpus in CORPORA.items():
        lines += [f"### Shuffles, {name}", "", *shuffles(corpus, measured), ""]
    lines += ["### Held by one worker or handed to all", "", *held(measured), ""]
    return "\n".join(lines)


def written() -> str:
    """The document, with the tables as they are now."""
    before, rest = DOC.read_text().split(BEGIN)
    return before + BEGIN + report() + END + rest.split(END)[1]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"to {DOC.name}")
    if parser.parse_args(argv).write:
        DOC.write_text(written())
    else:
        print(report())


if __name__ == "__main__":
    main()
