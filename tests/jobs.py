"""Whole jobs for tests: inputs, recipes, runs, and what came out."""

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import yaml

from beam_pipeline import run
from beam_pipeline.corpus_job import CORPUS

DEMO = Path(__file__).resolve().parents[1] / "beam_pipeline" / "recipes" / "demo"

# Worker processes of this mode import the packages anew, as workers elsewhere do.
PROCESSES = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Writes JSON lines, gzipped if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = b"".join(orjson.dumps(row) + b"\n" for row in rows)
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Reads JSON lines, gzipped or not."""
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    return [orjson.loads(line) for line in raw.split(b"\n") if line]


def recipe_of(sources: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A small recipe with the byte tokenizer."""
    return {
        "name": "test",
        "train_tokens": 10_000_000,
        "seq_len": 64,
        "tokens_per_shard": 50_000,
        "tokenizer": "bytes",
        "holdout": {"per_mille": 100, "max_tokens": 1_000_000},
        "sources": sources,
        **changes,
    }


# Thresholds under which any text passes.
NO_FILTER = {
    "min_words": 0,
    "max_words": 10**9,
    "min_mean_word_length": 0,
    "max_mean_word_length": 10**9,
    "min_letter_fraction": 0,
    "max_digit_fraction": 1,
    "max_duplicate_line_fraction": 1,
}


def source_of(name: str, files: Any, weight: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A source of web documents, unfiltered unless told otherwise."""
    paths = [str(path) for path in files] if isinstance(files, list) else str(files)
    return {
        "name": name,
        "domain": "web",
        "weight": weight,
        "files": paths,
        "filter": NO_FILTER,
        **changes,
    }


def build(folder: Path, recipe: dict[str, Any], *options: str) -> "Corpus":
    """Builds a corpus in a folder that is made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False))
    run.build(CORPUS, str(path), str(folder / "corpus"), list(options), quiet=True)
    return Corpus(folder / "corpus")


class Corpus:
    """A finished corpus."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = orjson.loads((folder / "manifest.json").read_bytes())

    def split(self, name: str) -> dict[str, Any]:
        """The manifest of a split."""
        return orjson.loads((self.folder / name / "manifest.json").read_bytes())

    def hashes(self) -> dict[str, tuple[str, str]]:
        """sha256 of the tokens and the documents of each shard."""
        return {s["file"]: (s["sha256"], s["docs_sha256"]) for s in self.manifest["shards"]}

    def documents(self, split: str) -> list[dict[str, Any]]:
        """Rows of all docs files of a split, in order of the shards."""
        rows: list[dict[str, Any]] = []
        for shard in self.split(split)["shards"]:
            rows += pq.read_table(self.folder / split / shard["docs_file"]).to_pylist()
        return rows

    def ledger(self, source: str = "total") -> dict[str, int]:
        """Documents by outcome."""
        account = self.manifest["ledger"][source]
        return {outcome: amount["documents"] for outcome, amount in account.items()}

    def texts(self, split: str) -> list[str]:
        """What the windows of a byte-tokenizer corpus say, document by document, in order."""
        import numpy as np

        from transforms.kernels.packing import unpack

        manifest = self.split(split)
        texts: list[str] = []
        for shard in manifest["shards"]:
            flat = np.fromfile(self.folder / split / shard["file"], manifest["dtype"])
            docs = pq.read_table(self.folder / split / shard["docs_file"])
            positions = (
                docs["window"].to_numpy() * manifest["seq_len"] + docs["position"].to_numpy()
            )
            n_ids = docs["n_ids"].to_numpy().astype(np.int64)
            ids, offsets = unpack(
                flat, positions, n_ids, manifest["seq_len"], manifest["bos_id"], manifest["eos_id"]
            )
            raw = ids.astype(np.uint8).tobytes()
            texts += [raw[a:b].decode() for a, b in pairwise(offsets)]
        return texts
