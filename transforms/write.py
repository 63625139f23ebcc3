"""Global order, packing and writing: equal ranges of the shuffle key become shards.

Files get their final names whole or not at all, and those names and bytes depend on content
alone, so a replayed bundle overwrites a shard with itself.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.typehints.decorators import no_annotations

from transforms import records, storage
from transforms.errors import InternalError
from transforms.kernels.gather import scatter
from transforms.kernels.packing import pack, packed_cost
from transforms.tokenize import SPLITS, split_and_source
from transforms.tokenizers.prepare import PreparedTokenizer
from transforms.work import WorkFolder, write_report

_SHARD_BITS = 32
# Between two documents of a token file it is cheaper to read on than to seek.
_GAP_IDS = 16 << 10


@dataclass(frozen=True)
class WriteSettings:
    """How and where shards are written.

    Attributes:
      sources: names, by place in the recipe.
      named: by place, whether the source names an id column.
    """

    sources: tuple[str, ...]
    named: tuple[bool, ...]
    seq_len: int
    tokens_per_shard: int
    tokenizer: PreparedTokenizer
    work: WorkFolder
    output: str


@dataclass(frozen=True)
class ShardInfo:
    """A finished shard, as the manifest lists it.

    Attributes:
      split: "train" or "val".
      number: its place in the split.
      file, docs_file: names within the split's folder.
      sequences: windows in it.
      documents: in it, repeats counted.
      document_tokens: what documents take: their ids, and bos and eos of each chunk.
      sha256, docs_sha256: of the two files.
    """

    split: str
    number: int
    file: str
    docs_file: str
    sequences: int
    documents: int
    document_tokens: int
    sha256: str
    docs_sha256: str


class Shard(NamedTuple):
    """A shard's contents.

    Attributes:
      windows: [n, seq_len] of the tokenizer's dtype.
      chosen: `records.CHOSEN`, in the order of the shard.
      positions: int64 [documents], where in the flat windows each one's first id stands.
    """

    windows: np.ndarray
    chosen: np.ndarray
    positions: np.ndarray


def shard_count(tokens: int, tokens_per_shard: int) -> int:
    """How many equal ranges of the shuffle key a split is cut into."""
    return -(-tokens // tokens_per_shard)


def shard_ranges(shuffle_hi: np.ndarray, count: int) -> np.ndarray:
    """Which of `count` (below 2**32) equal ranges of the key each document falls in, int64 [n]."""
    return ((shuffle_hi >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)).astype(np.int64)


def number_shards(keys: list[int]) -> dict[int, int]:
    """Numbers the ranges of each split that documents fell in, so that there are no gaps."""
    numbers: dict[int, int] = {}
    last_split, number = -1, 0
    for key in sorted(keys):
        split = key >> _SHARD_BITS
        number = number + 1 if split == last_split else 0
        numbers[key], last_split = number, split
    return numbers


def assemble(chosen: np.ndarray, settings: WriteSettings) -> Shard:
    """Fetches the ids of a shard's documents and packs them into windows.

    Args:
      chosen: `records.CHOSEN`, in any order.
    """
    chosen = chosen[records.order_by(chosen, "shuffle_hi", "shuffle_lo")]
    lengths = chosen["ids"].astype(np.int64)
    offsets = np.r_[0, np.cumsum(lengths)]
    ids = np.empty(offsets[-1], settings.tokenizer.dtype)
    for piece, which in _by_piece(chosen):
        _fetch(settings.work.tokens(piece), chosen[which], offsets[which], ids)
    if len(ids) and int(ids.max()) >= settings.tokenizer.vocab_size:
        raise InternalError(
            f"token id {ids.max()} is outside the vocabulary of {settings.tokenizer.vocab_size}"
        )
    tokenizer = settings.tokenizer
    windows, positions = pack(
        ids, offsets, settings.seq_len, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
    )
    return Shard(windows, chosen, positions)


def _fetch(path: str, chosen: np.ndarray, places: np.ndarray, ids: np.ndarray) -> None:
    """Copies the ids of a token file's documents to their places.

    Documents of a first epoch lie together; those of later epochs anywhere in the file, and then
    only what is needed is read.
    """
    order = np.argsort(chosen["offset"])
    starts = chosen["offset"][order].astype(np.int64)
    lengths = chosen["ids"][order].astype(np.int64)
    stops = starts + lengths
    runs = np.flatnonzero(np.r_[True, starts[1:] - np.maximum.accumulate(stops)[:-1] > _GAP_IDS])
    ends = np.r_[runs[1:], len(order)]
    width = ids.dtype.itemsize
    spans = [(int(starts[a]), int(stops[a:b].max())) for a, b in zip(runs, ends, strict=True)]
    parts = storage.read_ranges(path, [(first * width, last * width) for first, last in spans])
    for a, b, (first, _), raw in zip(runs, ends, spans, parts, strict=True):
        part = np.frombuffer(raw, ids.dtype)
        scatter(part, starts[a:b] - first, lengths[a:b], places[order[a:b]], ids)


def _by_piece(chosen: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    order = np.argsort(chosen["piece"], kind="stable")
    starts = np.flatnonzero(records.run_starts(chosen[order], "piece"))
    for which in np.split(order, starts[1:]):
        if len(which):
            yield int(chosen["piece"][which[0]]), which


def docs_table(shard: Shard, settings: WriteSettings) -> pa.Table:
    """One row a document, in the order of the shard."""
    chosen, seq_len = shard.chosen, settings.seq_len
    digests = np.stack([chosen["digest_hi"], chosen["digest_lo"]], axis=1).astype(">u8")
    columns = {
        "digest": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), len(chosen), [None, pa.py_buffer(digests.tobytes())]
        ),
        "source": pa.DictionaryArray.from_arrays(
            pa.array(chosen["source"].astype(np.int32)), pa.array(settings.sources)
        ),
        "window": pa.array(shard.positions // seq_len),
        "position": pa.array((shard.positions % seq_len).astype(np.int32)),
        "n_ids": pa.array(chosen["ids"]),
        "cluster_size": pa.array(chosen["cluster"]),
    }
    if any(settings.named):
        columns["id"] = pa.array(_names(chosen, settings), pa.string())
    return pa.table(columns)


def _names(chosen: np.ndarray, settings: WriteSettings) -> list[str | None]:
    names: list[str | None] = [None] * len(chosen)
    for piece, which in _by_piece(chosen):
        if settings.named[chosen["source"][which[0]]]:
            report = orjson.loads(storage.read_bytes(settings.work.tokens_report(piece)))
            for k, place in zip(which.tolist(), chosen["place"][which].tolist(), strict=True):
                names[k] = report["names"][place]
    return names


def write_shard(shard: Shard, split: str, number: int, settings: WriteSettings) -> ShardInfo:
    """Writes the three files of a shard."""
    folder = storage.join(settings.output, split)
    stem = f"shard_{number:05d}"
    tokens = np.ascontiguousarray(shard.windows, shard.windows.dtype.newbyteorder("<"))
    meta = np.array([len(shard.windows), settings.seq_len], "<i8")
    sink = pa.BufferOutputStream()
    pq.write_table(docs_table(shard, settings), sink, compression="zstd")
    docs = sink.getvalue()
    storage.write_whole(storage.join(folder, f"{stem}.tokens.bin"), [memoryview(tokens).cast("B")])
    storage.write_whole(storage.join(folder, f"{stem}.meta.bin"), meta.tobytes())
    storage.write_whole(storage.join(folder, f"{stem}.docs.parquet"), [memoryview(docs)])
    ids = shard.chosen["ids"].astype(np.int64)
    return ShardInfo(
        split=split,
        number=number,
        file=f"{stem}.tokens.bin",
        docs_file=f"{stem}.docs.parquet",
        sequences=len(shard.windows),
        documents=len(shard.chosen),
        document_tokens=int(packed_cost(ids, settings.seq_len).sum()),
        sha256=hashlib.sha256(memoryview(tokens).cast("B")).hexdigest(),
        docs_sha256=hashlib.sha256(memoryview(docs)).hexdigest(),
    )


@dataclass
class _AssignShard(beam.DoFn):
    tokens_per_shard: int

    def process(
        self, element: tuple[int, bytes], spent: Mapping[int, tuple[int, int]]
    ) -> Iterator[tuple[int, bytes]]:
        split, packed = element
        tokens = sum(
            tokens for key, (_, tokens) in spent.items() if split_and_source(key)[0] == split
        )
        chosen = np.frombuffer(packed, records.CHOSEN)
        count = shard_count(tokens, self.tokens_per_shard)
        ranges = shard_ranges(chosen["shuffle_hi"], count)
        yield from records.split(chosen, (split << _SHARD_BITS) + ranges)


@dataclass
class _WriteShard(beam.DoFn):
    settings: WriteSettings

    def process(
        self, group: tuple[int, Iterable[bytes]], numbers: dict[int, int]
    ) -> Iterator[ShardInfo]:
        key, packed = group
        split = key >> _SHARD_BITS
        report = self.settings.work.shard_report(SPLITS[split], key & ((1 << _SHARD_BITS) - 1))
        done = self.settings.work.done(report)
        if done is None:
            shard = assemble(records.unpack(packed, records.CHOSEN), self.settings)
            info = write_shard(shard, SPLITS[split], numbers[key], self.settings)
            write_report(report, asdict(info))
        else:
            info = ShardInfo(**done)
        yield info


@dataclass
class WriteShards(beam.PTransform):
    """Orders, packs and writes the chosen documents.

    In: {"chosen": (split, packed `records.CHOSEN`), "spent": (`group_key`, (documents,
    tokens))}. Out: `ShardInfo`. A worker holds one shard.
    """

    settings: WriteSettings

    @no_annotations
    def expand(self, inputs: dict[str, beam.PCollection]) -> beam.PCollection[ShardInfo]:
        """Wires the grouping by shard."""
        grouped = (
            inputs["chosen"]
            | "AssignShard"
            >> beam.ParDo(
                _AssignShard(self.settings.tokens_per_shard), beam.pvalue.AsDict(inputs["spent"])
            )
            | "GroupShard" >> beam.GroupByKey()
        )
        numbers = (
            grouped
            | "UsedRanges" >> beam.Keys()
            | "AllRanges" >> beam.combiners.ToList()
            | "Number" >> beam.Map(number_shards)
        )
        return grouped | "WriteShard" >> beam.ParDo(
            _WriteShard(self.settings), beam.pvalue.AsSingleton(numbers)
        )
