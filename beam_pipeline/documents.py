"""The documents of a finished corpus, read back from its shards one shard at a time."""

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beam_pipeline.finished import read_manifest
from transforms import storage
from transforms.errors import OutputError
from transforms.kernels.packing import unpack


class ShardDocuments(NamedTuple):
    """One shard as documents.

    Attributes:
      split: its folder.
      first_window: the number, in the split, of its first window.
      docs: the docs file, one row a document.
      ids: of all documents one after the other.
      offsets: int64 [documents + 1]; document i is ids[offsets[i]:offsets[i + 1]].
    """

    split: str
    first_window: int
    docs: pa.Table
    ids: np.ndarray
    offsets: np.ndarray


def read_docs(folder: str, split: str, shard: dict[str, Any], columns: Any = None) -> pa.Table:
    """The docs file of a shard.

    Args:
      split: path of the folder of shards below `folder`.
      shard: its entry in the manifest of the split.
      columns: names of those to read; all by default.
    """
    path = storage.join(folder, *split.split("/"), shard["docs_file"])
    return pq.read_table(io.BytesIO(storage.read_bytes(path)), columns=columns)


def read_documents(folder: str, split: str, shard: int, docs: pa.Table) -> ShardDocuments:
    """The ids of a shard's documents.

    Args:
      shard: its place in the manifest.
      docs: from `read_docs`.

    Raises:
      OutputError: the shard does not hold what it should.
    """
    manifest = read_manifest(folder, split)
    entry = manifest["shards"][shard]
    path = storage.join(folder, split, entry["file"])
    flat = np.frombuffer(storage.read_bytes(path), np.dtype(manifest["dtype"]).newbyteorder("<"))
    positions = docs["window"].to_numpy() * manifest["seq_len"] + docs["position"].to_numpy()
    n_ids = docs["n_ids"].to_numpy().astype(np.int64)
    try:
        ids, offsets = unpack(
            flat, positions, n_ids, manifest["seq_len"], manifest["bos_id"], manifest["eos_id"]
        )
    except ValueError as error:
        raise OutputError(f"{path}: {error}: see corpusbeam verify {folder}") from error
    first_window = sum(s["sequences"] for s in manifest["shards"][:shard])
    return ShardDocuments(split, first_window, docs, ids, offsets)


def shards_of(folder: str, splits: tuple[str, ...]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """(split, place in the manifest, entry) of every shard."""
    for split in splits:
        for place, entry in enumerate(read_manifest(folder, split)["shards"]):
            yield split, place, entry
