"""`corpusbeam verify`: what a finished corpus promises, checked on its bytes."""

import hashlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq
from rich.console import Console

from beam_pipeline.manifest import MANIFEST, SUCCESS
from transforms import ledger, storage
from transforms.errors import OutputError
from transforms.kernels.packing import packed_cost, unpack
from transforms.tokenize import SPLITS


def verify(folder: str) -> int:
    """Checks a corpus and prints what was checked, or each thing that is wrong.

    Returns:
      0 if all is well, else 1.

    Raises:
      OutputError: there is no finished corpus to check.
    """
    console = Console()
    found = list(problems(folder))
    for problem in found:
        console.print(f"[red]wrong[/red]  {problem}", highlight=False, soft_wrap=True)
    whole = read_manifest(folder)
    if found:
        console.print(f"{len(found)} problems in {folder}", highlight=False, soft_wrap=True)
        return 1
    console.print(
        f"[green]ok[/green]  {folder}: {whole['n_shards']} shards, {whole['n_sequences']:,} "
        f"windows of {whole['seq_len']}, {whole['n_documents']:,} documents, "
        f"{whole['n_document_tokens']:,} tokens; sizes, checksums, ids, boundaries, documents, "
        "splits and ledger agree",
        highlight=False,
        soft_wrap=True,
    )
    return 0


def read_manifest(folder: str, split: str | None = None) -> dict[str, Any]:
    """The manifest of a finished corpus, or of one of its splits.

    Raises:
      OutputError: the corpus is not finished, or there is none.
    """
    for name in (SUCCESS, MANIFEST):
        if not storage.exists(storage.join(folder, name)):
            raise OutputError(
                f"{folder} has no {name}: not a finished corpus; build it (again) with "
                "corpusbeam build"
            )
    path = storage.join(folder, split, MANIFEST) if split else storage.join(folder, MANIFEST)
    try:
        return orjson.loads(storage.read_bytes(path))
    except (orjson.JSONDecodeError, FileNotFoundError) as error:
        raise OutputError(f"{path} is missing or not JSON: build the corpus again") from error


def problems(folder: str) -> Iterator[str]:
    """What is wrong with a corpus, one line each; nothing if all is well.

    Raises:
      OutputError: there is no finished corpus to check.
    """
    whole = read_manifest(folder)
    for line in ledger.imbalances(whole["ledger"]):
        yield f"ledger: {line}"
    keys: dict[str, np.ndarray] = {}
    documents: dict[str, int] = {}
    for split in SPLITS:
        manifest = read_manifest(folder, split)
        listed = [s for s in whole["shards"] if s["file"].startswith(f"{split}/")]
        if [s["sha256"] for s in listed] != [s["sha256"] for s in manifest["shards"]]:
            yield f"{split}/{MANIFEST} and {MANIFEST} list different shards"
        split_keys = [np.empty(0, "V18")]
        for shard in manifest["shards"]:
            checked = _Shard(folder, split, shard, manifest)
            yield from checked.problems()
            split_keys.append(checked.keys)
        keys[split] = np.concatenate(split_keys)
        documents[split] = len(keys[split])
        yield from _totals(split, manifest)
    yield from _documents(whole, keys, documents)


def _totals(split: str, manifest: dict[str, Any]) -> Iterator[str]:
    shards = manifest["shards"]
    sums = {
        "n_shards": len(shards),
        "n_sequences": sum(s["sequences"] for s in shards),
        "n_tokens": sum(s["sequences"] for s in shards) * manifest["seq_len"],
        "n_document_tokens": sum(s["document_tokens"] for s in shards),
        "n_documents": sum(s["documents"] for s in shards),
    }
    for key, value in sums.items():
        if manifest[key] != value:
            yield f"{split}/{MANIFEST}: {key} is {manifest[key]}, its shards add up to {value}"
    realized = sum(source["realized_tokens"] for source in manifest["sources"])
    if realized != manifest["n_document_tokens"]:
        yield (
            f"{split}/{MANIFEST}: sources add up to {realized} tokens, shards hold "
            f"{manifest['n_document_tokens']}"
        )


def _documents(
    whole: dict[str, Any], keys: dict[str, np.ndarray], documents: dict[str, int]
) -> Iterator[str]:
    account = whole["ledger"]["total"]
    for split in SPLITS:
        told = account.get(split, {"documents": 0})["documents"]
        if split == "train":
            told += account.get(ledger.TRAIN_REPEATS, {"documents": 0})["documents"]
        if told != documents[split]:
            yield f"{split}: the ledger has {told} documents, the shards list {documents[split]}"
    both = np.intersect1d(keys["train"], keys["val"])
    if len(both):
        digest = both[0].tobytes()[:16].hex()
        yield f"{len(both)} documents are in both splits, such as the one with digest {digest}"
    _, copies = np.unique(keys["train"], return_counts=True)
    most = 1
    if whole["recipe"]["when_short"] == "repeat":
        most = whole["recipe"]["max_epochs"]
    if (copies > most).any():
        yield f"train: {(copies > most).sum()} documents stand in it more often than {most} times"


class _Shard:
    """One shard's files against its manifest entry."""

    def __init__(self, folder: str, split: str, entry: dict, manifest: dict) -> None:
        self._entry = entry
        self._manifest = manifest
        self._name = f"{split}/{entry['file']}"
        self._folder = storage.join(folder, split)
        self.keys = np.empty(0, "V18")

    def problems(self) -> Iterator[str]:
        """What is wrong with the shard; fills `keys`, (digest, source) of its documents."""
        entry, manifest = self._entry, self._manifest
        paths = {
            "tokens": storage.join(self._folder, entry["file"]),
            "meta": storage.join(self._folder, entry["file"].replace(".tokens.", ".meta.")),
            "docs": storage.join(self._folder, entry["docs_file"]),
        }
        missing = [path for path in paths.values() if not storage.exists(path)]
        if missing:
            yield from (f"{path} is missing" for path in missing)
            return
        raw = storage.read_bytes(paths["tokens"])
        dtype = np.dtype(manifest["dtype"]).newbyteorder("<")
        expected = entry["sequences"] * manifest["seq_len"] * dtype.itemsize
        if len(raw) != expected:
            yield f"{self._name}: {len(raw)} bytes, the manifest says {expected}"
            return
        if hashlib.sha256(raw).hexdigest() != entry["sha256"]:
            yield f"{self._name}: its sha256 is not that of the manifest"
        meta = np.array([entry["sequences"], manifest["seq_len"]], "<i8").tobytes()
        if storage.read_bytes(paths["meta"]) != meta:
            yield f"{paths['meta']}: does not say what the manifest says"
        docs = storage.read_bytes(paths["docs"])
        if hashlib.sha256(docs).hexdigest() != entry["docs_sha256"]:
            yield f"{paths['docs']}: its sha256 is not that of the manifest"
            return
        yield from self._contents(np.frombuffer(raw, dtype), pq.read_table(io.BytesIO(docs)))

    def _contents(self, flat: np.ndarray, docs: Any) -> Iterator[str]:
        entry, manifest = self._entry, self._manifest
        if len(flat) and int(flat.max()) >= manifest["vocab_size"]:
            yield f"{self._name}: id {flat.max()} is outside of {manifest['vocab_size']} entries"
        if docs.num_rows != entry["documents"]:
            yield f"{self._name}: {docs.num_rows} documents listed, not {entry['documents']}"
        n_ids = docs["n_ids"].to_numpy().astype(np.int64)
        positions = docs["window"].to_numpy() * manifest["seq_len"] + docs["position"].to_numpy()
        try:
            unpack(
                flat, positions, n_ids, manifest["seq_len"], manifest["bos_id"], manifest["eos_id"]
            )
        except ValueError as error:
            yield f"{self._name}: {error}"
        tokens = int(packed_cost(n_ids, manifest["seq_len"]).sum())
        if tokens != entry["document_tokens"]:
            yield f"{self._name}: documents take {tokens} tokens, not {entry['document_tokens']}"
        if (flat[tokens:] != manifest["pad_id"]).any() or len(flat) - tokens >= manifest["seq_len"]:
            yield f"{self._name}: what follows the last document is not the padding of one window"
        self.keys = self._document_keys(docs)

    def _document_keys(self, docs: Any) -> np.ndarray:
        """Digest and source, or the digest alone where duplicates count across sources."""
        digests = docs["digest"].combine_chunks()
        keys = np.zeros(docs.num_rows, [("digest", "V16"), ("source", "<u2")])
        raw = b"".join(digests.to_pylist())
        keys["digest"] = np.frombuffer(raw, "V16") if raw else keys["digest"]
        if self._manifest["recipe"]["dedup"]["scope"] == "source":
            names = [source["name"] for source in self._manifest["sources"]]
            keys["source"] = [names.index(name) for name in docs["source"].to_pylist()]
        return keys.view("V18")
