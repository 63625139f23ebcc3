"""Global order and writing: equal ranges of the shuffle key become shards.

Files get their final names whole or not at all, and those names and bytes depend on content
alone, so a replayed bundle overwrites a shard with itself.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.pvalue import AsDict, AsSideInput, AsSingleton
from apache_beam.typehints.decorators import no_annotations

from transforms import records, storage
from transforms.counters import count, count_resumed
from transforms.kernels.gather import scatter
from transforms.packed import PackingDoFn
from transforms.work import WorkFolder, write_report

_SHARD_BITS = 32
_CONCURRENT_READS = 16
# Between two documents of a work file it is cheaper to read on than to seek.
_GAP_ITEMS = 16 << 10


@dataclass(frozen=True)
class ShardSettings:
    """How and where shards are written.

    Attributes:
      folders: below the output, by the key under which their records come.
      dtype: of the packed records; it has `shuffle_hi` and `shuffle_lo`.
    """

    folders: tuple[str, ...]
    dtype: np.dtype
    tokens_per_shard: int
    work: WorkFolder
    output: str


class ShardContents(NamedTuple):
    """What goes into the files of a shard.

    Attributes:
      tokens: ids [n, seq_len].
      columns: further arrays [n, seq_len] by the name that their files bear.
      docs: one row a document, in the order of the shard.
      document_tokens: what documents take: their ids and what sets them off.
      facts: more for the manifest to tell, as plain data.
    """

    tokens: np.ndarray
    columns: dict[str, np.ndarray]
    docs: pa.Table
    document_tokens: int
    facts: dict[str, Any]


class Assemble(Protocol):
    """Fetches what the records of a shard stand for."""

    def __call__(self, folder: int, found: np.ndarray, *context: Any) -> ShardContents:
        """Makes the contents of a shard.

        Args:
          folder: key of the folder.
          found: records in shuffle order.
          context: values of `WriteShards.context`.
        """
        ...


@dataclass(frozen=True)
class ShardInfo:
    """A finished shard, as the manifest lists it.

    Attributes:
      split: the folder.
      number: its place in it.
      file, docs_file: names within it.
      sequences: windows in it.
      documents: in it, repeats counted.
      document_tokens: what documents take: their ids and what sets them off.
      sha256, docs_sha256: of the two files.
      facts: more for the manifest to tell; `<column>_sha256` among them for each further column.
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
    facts: dict[str, Any] = field(default_factory=dict)

    def entry(self, folder: str = "") -> dict[str, Any]:
        """The manifest's entry; file names begin with the folder, if one is given."""
        found = asdict(self)
        del found["split"], found["number"]
        facts = found.pop("facts")
        prefix = f"{folder}/" if folder else ""
        paths = {"file": prefix + self.file, "docs_file": prefix + self.docs_file}
        return found | paths | facts


def shard_count(tokens: int, tokens_per_shard: int) -> int:
    """How many equal ranges of the shuffle key a folder is cut into."""
    return -(-tokens // tokens_per_shard)


def shard_ranges(shuffle_hi: np.ndarray, count: int) -> np.ndarray:
    """Which of `count` (below 2**32) equal ranges of the key each document falls in, int64 [n]."""
    return ((shuffle_hi >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)).astype(np.int64)


def number_shards(keys: list[int]) -> dict[int, int]:
    """Numbers the ranges of each folder that documents fell in, so that there are no gaps."""
    numbers: dict[int, int] = {}
    last_folder, number = -1, 0
    for key in sorted(keys):
        folder = key >> _SHARD_BITS
        number = number + 1 if folder == last_folder else 0
        numbers[key], last_folder = number, folder
    return numbers


def fetch(
    pieces: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    path_of: Callable[[int], str],
    dtype: np.dtype,
) -> np.ndarray:
    """Concatenates ranges of work files, in the order given.

    Documents of a first epoch lie together in a file; those of later epochs anywhere in it, and
    then only what is needed is read.

    Args:
      pieces: integers [n], whose file each range is in.
      starts, lengths: int64 [n], in items.
      path_of: the file of each piece.
      dtype: of the items, uint16 or uint32.
    """
    places = np.cumsum(lengths) - lengths
    found = np.empty(int(lengths.sum()), dtype)

    def read(path: str, which: np.ndarray) -> None:
        which = which[np.argsort(starts[which], kind="stable")]
        _fetch_from(path, starts[which], lengths[which], places[which], found)

    read_by_piece(pieces, path_of, read)
    return found


def read_by_piece(
    pieces: np.ndarray, path_of: Callable[[int], str], read: Callable[[str, np.ndarray], None]
) -> None:
    """Reads the file of each piece; several at once where that means waiting for a network.

    Args:
      pieces: integers [n].
      read: takes the file, and the places where its piece stands in `pieces`, int64 [k].
    """
    tasks = [(path_of(piece), which) for piece, which in by_piece(pieces)]
    if not any(storage.is_remote(path) for path, _ in tasks):
        for path, which in tasks:
            read(path, which)
        return
    with ThreadPoolExecutor(_CONCURRENT_READS) as pool:
        for _ in pool.map(read, *zip(*tasks, strict=True)):
            pass


def _fetch_from(
    path: str, starts: np.ndarray, lengths: np.ndarray, places: np.ndarray, found: np.ndarray
) -> None:
    """Copies ranges of a file, by ascending start, to their places."""
    stops = starts + lengths
    runs = np.flatnonzero(np.r_[True, starts[1:] - np.maximum.accumulate(stops)[:-1] > _GAP_ITEMS])
    ends = np.r_[runs[1:], len(starts)]
    width = found.dtype.itemsize
    spans = [(int(starts[a]), int(stops[a:b].max())) for a, b in zip(runs, ends, strict=True)]
    parts = storage.read_ranges(path, [(first * width, last * width) for first, last in spans])
    for a, b, (first, _), raw in zip(runs, ends, spans, parts, strict=True):
        part = np.frombuffer(raw, found.dtype)
        scatter(part, starts[a:b] - first, lengths[a:b], places[a:b], found)


def by_piece(pieces: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each piece number with the places where it stands, int64 [k]."""
    order = np.argsort(pieces, kind="stable")
    for which in np.split(order, np.flatnonzero(np.diff(pieces[order])) + 1):
        if len(which):
            yield int(pieces[which[0]]), which


def write_shard(
    contents: ShardContents, folder: str, number: int, settings: ShardSettings
) -> ShardInfo:
    """Writes the files of a shard."""
    path = storage.join(settings.output, folder)
    stem = f"shard_{number:05d}"
    hashes = {}
    for name, values in {"tokens": contents.tokens, **contents.columns}.items():
        data = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data.cast("B")
        storage.write_whole(storage.join(path, f"{stem}.{name}.bin"), [data])
        hashes[name] = hashlib.sha256(data).hexdigest()
    meta = np.array(contents.tokens.shape, "<i8")
    storage.write_whole(storage.join(path, f"{stem}.meta.bin"), meta.tobytes())
    sink = pa.BufferOutputStream()
    pq.write_table(contents.docs, sink, compression="zstd")
    docs = memoryview(sink.getvalue())
    storage.write_whole(storage.join(path, f"{stem}.docs.parquet"), [docs])
    of_columns = {f"{name}_sha256": hashes[name] for name in contents.columns}
    return ShardInfo(
        split=folder,
        number=number,
        file=f"{stem}.tokens.bin",
        docs_file=f"{stem}.docs.parquet",
        sequences=len(contents.tokens),
        documents=contents.docs.num_rows,
        document_tokens=contents.document_tokens,
        sha256=hashes["tokens"],
        docs_sha256=hashlib.sha256(docs).hexdigest(),
        facts=of_columns | contents.facts,
    )


@dataclass
class _AssignShard(PackingDoFn):
    settings: ShardSettings

    def process(
        self, element: tuple[int, bytes], tokens: Mapping[int, int]
    ) -> Iterator[tuple[int, bytes]]:
        folder, packed = element
        found = np.frombuffer(packed, self.settings.dtype)
        count = shard_count(tokens[folder], self.settings.tokens_per_shard)
        ranges = shard_ranges(found["shuffle_hi"], count)
        yield from self.packed(records.split(found, (folder << _SHARD_BITS) + ranges))


@dataclass
class _WriteShard(beam.DoFn):
    settings: ShardSettings
    assemble: Assemble

    def process(
        self, group: tuple[int, Iterable[bytes]], numbers: dict[int, int], *context: Any
    ) -> Iterator[ShardInfo]:
        key, packed = group
        settings = self.settings
        folder = key >> _SHARD_BITS
        name = settings.folders[folder]
        report = settings.work.shard_report(name, key & ((1 << _SHARD_BITS) - 1))
        done = settings.work.done(report)
        if done is None:
            found = records.unpack(packed, settings.dtype)
            found = found[records.order_by(found, "shuffle_hi", "shuffle_lo")]
            contents = self.assemble(folder, found, *context)
            info = write_shard(contents, name, numbers[key], settings)
            write_report(report, asdict(info))
            count(info.documents, tokens=contents.tokens.size)
        else:
            info = ShardInfo(**done)
            count_resumed(info.documents)
        yield info


@dataclass
class WriteRecords(beam.PTransform):
    """Orders records by shuffle key, and writes what they stand for in shards.

    In: {"chosen": (key of the folder, packed records), "tokens": (key of the folder, tokens that
    its windows take)}. Out: `ShardInfo`. A worker holds one shard.

    Attributes:
      assemble: makes the contents of a shard.
      context: side inputs that it takes.
    """

    settings: ShardSettings
    assemble: Assemble
    context: tuple[AsSideInput, ...] = ()

    @no_annotations
    def expand(self, inputs: dict[str, beam.PCollection]) -> beam.PCollection[ShardInfo]:
        """Wires the grouping by shard."""
        grouped = (
            inputs["chosen"]
            | "AssignShard" >> beam.ParDo(_AssignShard(self.settings), AsDict(inputs["tokens"]))
            | "GroupShard" >> beam.GroupByKey()
        )
        numbers = (
            grouped
            | "UsedRanges" >> beam.Keys()
            | "AllRanges" >> beam.combiners.ToList()
            | "Number" >> beam.Map(number_shards)
        )
        return grouped | "WriteShard" >> beam.ParDo(
            _WriteShard(self.settings, self.assemble), AsSingleton(numbers), *self.context
        )
