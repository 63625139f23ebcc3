"""`corpusbeam verify`: what a finished output promises, checked on its bytes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console

from beam_pipeline.finished import ShardFiles, listing_problems, read_manifest, report_problems
from beam_pipeline.manifest import MANIFEST
from beam_pipeline.summary import in_shards
from beam_pipeline.traces_manifest import is_traces
from beam_pipeline.verify_traces import traces_problems
from transforms import ledger
from transforms.kernels.packing import packed_cost, unpack
from transforms.tokenize import SPLITS


def verify(folder: str) -> int:
    """Checks what a job wrote and prints what was checked, or each thing that is wrong.

    Returns:
      0 if all is well, else 1.

    Raises:
      OutputError: there is nothing finished to check.
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
        f"[green]ok[/green]  {folder}: {in_shards(whole['n_shards'])}, {whole['n_sequences']:,} "
        f"windows of {whole['seq_len']}, {whole['n_documents']:,} documents, "
        f"{whole['n_document_tokens']:,} tokens; sizes, checksums, ids, "
        f"{'layouts' if is_traces(whole) else 'boundaries'}, documents, splits and ledger agree",
        highlight=False,
        soft_wrap=True,
    )
    return 0


def problems(folder: str) -> Iterator[str]:
    """What is wrong with a finished output, one line each; nothing if all is well.

    Raises:
      OutputError: there is nothing finished to check.
    """
    whole = read_manifest(folder)
    if is_traces(whole):
        yield from traces_problems(folder, whole)
    else:
        yield from _corpus_problems(folder, whole)


def _corpus_problems(folder: str, whole: dict[str, Any]) -> Iterator[str]:
    for line in ledger.imbalances(whole["ledger"]):
        yield f"ledger: {line}"
    keys: dict[str, np.ndarray] = {}
    documents: dict[str, int] = {}
    for split in SPLITS:
        manifest = read_manifest(folder, split)
        yield from listing_problems(split, manifest, whole)
        split_keys = [np.empty(0, "V18")]
        for shard in manifest["shards"]:
            checked = _Shard(folder, split, shard, manifest)
            yield from checked.problems()
            split_keys.append(checked.keys)
        keys[split] = np.concatenate(split_keys)
        documents[split] = len(keys[split])
        yield from _totals(split, manifest)
    yield from _documents(whole, keys, documents)
    yield from report_problems(folder, whole)


def _totals(split: str, manifest: dict[str, Any]) -> Iterator[str]:
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
    """One shard's windows and documents against its manifest entry."""

    def __init__(self, folder: str, split: str, entry: dict, manifest: dict) -> None:
        self._files = ShardFiles(folder, split, entry, manifest)
        self._entry = entry
        self._manifest = manifest
        self._name = self._files.name
        self.keys = np.empty(0, "V18")

    def problems(self) -> Iterator[str]:
        """What is wrong with the shard; fills `keys`, (digest, source) of its documents."""
        yield from self._files.problems()
        if self._files.docs is not None:
            yield from self._contents(self._files.arrays["tokens"].ravel(), self._files.docs)

    def _contents(self, flat: np.ndarray, docs: Any) -> Iterator[str]:
        entry, manifest = self._entry, self._manifest
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
