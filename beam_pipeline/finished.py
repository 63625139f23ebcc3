"""What a job has finished: its manifests, and the files of its shards held against them."""

import hashlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from beam_pipeline.manifest import MANIFEST, SUCCESS
from transforms import storage
from transforms.errors import OutputError


def read_manifest(folder: str, split: str | None = None) -> dict[str, Any]:
    """The manifest of a finished output, or of one of its folders of shards.

    Args:
      split: that folder, such as `train` or `train/slotted`.

    Raises:
      OutputError: the job has not finished, or there is none.
      CloudError: there is not even the bucket.
    """
    for name in (SUCCESS, MANIFEST):
        path = storage.join(folder, name)
        if not storage.exists(path):
            storage.check_bucket(path)
            raise OutputError(
                f"{folder} has no {name}: nothing finished is here; build it (again) "
                "with corpusbeam"
            )
    path = storage.join(folder, split, MANIFEST) if split else storage.join(folder, MANIFEST)
    try:
        return orjson.loads(storage.read_bytes(path))
    except (orjson.JSONDecodeError, FileNotFoundError) as error:
        raise OutputError(f"{path} is missing or not JSON: build the corpus again") from error


def listing_problems(folder: str, manifest: dict[str, Any], whole: dict[str, Any]) -> Iterator[str]:
    """Where a folder's manifest contradicts its own list of shards, or that of the whole."""
    shards = manifest["shards"]
    listed = [s for s in whole["shards"] if s["file"].rpartition("/")[0] == folder]
    if [s["sha256"] for s in listed] != [s["sha256"] for s in shards]:
        yield f"{folder}/{MANIFEST} and {MANIFEST} list different shards"
    sums = {
        "n_shards": len(shards),
        "n_sequences": sum(s["sequences"] for s in shards),
        "n_tokens": sum(s["sequences"] for s in shards) * manifest["seq_len"],
        "n_document_tokens": sum(s["document_tokens"] for s in shards),
        "n_documents": sum(s["documents"] for s in shards),
    }
    for key, value in sums.items():
        if manifest[key] != value:
            yield f"{folder}/{MANIFEST}: {key} is {manifest[key]}, its shards add up to {value}"


def report_problems(folder: str, whole: dict[str, Any]) -> Iterator[str]:
    """Where the report is not the one that the manifest of the whole tells of."""
    told = whole.get("report")
    if told is None:
        yield f"{MANIFEST} tells of no report"
        return
    path = storage.join(folder, told["file"])
    if not storage.exists(path):
        yield f"{path} is missing"
    elif hashlib.sha256(storage.read_bytes(path)).hexdigest() != told["sha256"]:
        yield f"{path}: its sha256 is not that of the manifest"


class ShardFiles:
    """One shard's files against its manifest entry.

    Attributes:
      name: for messages.
      arrays: once checked, [n, seq_len] of `tokens` and of each further column.
      docs: once checked, the table of documents; None where the files cannot be used.
    """

    def __init__(self, root: str, folder: str, entry: dict, manifest: dict) -> None:
        self._entry = entry
        self._manifest = manifest
        self._folder = storage.join(root, *folder.split("/"))
        self.name = f"{folder}/{entry['file']}"
        self.arrays: dict[str, np.ndarray] = {}
        self.docs: pa.Table | None = None

    def problems(self) -> Iterator[str]:
        """What is wrong with the files, ids outside of the vocabulary included."""
        entry, manifest = self._entry, self._manifest
        dtypes = {"tokens": manifest["dtype"], **manifest.get("columns", {})}
        paths = {column: self._path(column) for column in (*dtypes, "meta")}
        docs_path = storage.join(self._folder, entry["docs_file"])
        missing = [path for path in (*paths.values(), docs_path) if not storage.exists(path)]
        if missing:
            yield from (f"{path} is missing" for path in missing)
            return
        for column, kind in dtypes.items():
            yield from self._read(column, np.dtype(kind).newbyteorder("<"))
        if len(self.arrays) < len(dtypes):
            return
        meta = np.array([entry["sequences"], manifest["seq_len"]], "<i8").tobytes()
        if storage.read_bytes(paths["meta"]) != meta:
            yield f"{paths['meta']}: does not say what the manifest says"
        docs = storage.read_bytes(docs_path)
        if hashlib.sha256(docs).hexdigest() != entry["docs_sha256"]:
            yield f"{docs_path}: its sha256 is not that of the manifest"
            return
        tokens = self.arrays["tokens"]
        if tokens.size and int(tokens.max()) >= manifest["vocab_size"]:
            yield f"{self.name}: id {tokens.max()} is outside of {manifest['vocab_size']} entries"
        self.docs = pq.read_table(io.BytesIO(docs))
        if self.docs.num_rows != entry["documents"]:
            yield f"{self.name}: {self.docs.num_rows} documents listed, not {entry['documents']}"

    def _path(self, column: str) -> str:
        return storage.join(self._folder, self._entry["file"].replace(".tokens.", f".{column}."))

    def _read(self, column: str, dtype: np.dtype) -> Iterator[str]:
        entry, seq_len = self._entry, self._manifest["seq_len"]
        name = self.name.replace(".tokens.", f".{column}.")
        raw = storage.read_bytes(self._path(column))
        expected = entry["sequences"] * seq_len * dtype.itemsize
        if len(raw) != expected:
            yield f"{name}: {len(raw)} bytes, the manifest says {expected}"
            return
        told = entry["sha256" if column == "tokens" else f"{column}_sha256"]
        if hashlib.sha256(raw).hexdigest() != told:
            yield f"{name}: its sha256 is not that of the manifest"
        self.arrays[column] = np.frombuffer(raw, dtype).reshape(-1, seq_len)
