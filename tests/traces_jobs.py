"""Whole traces jobs for tests: rows, recipes, runs, and what came out."""

import hashlib
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import yaml

from beam_pipeline import run
from beam_pipeline.traces_job import TRACES
from tests import jobs

SMALL = {"train": {"vocab_size": 400, "min_frequency": 2}}


def trace_rows(count: int = 120) -> list[dict[str, Any]]:
    """Rows for the parser `glaive`: most are good, some malformed, some of the same problem."""
    rows = []
    for k in range(count):
        thoughts = "\n\n".join(f"Step {j}: add {j} to {k * j}." for j in range(1 + k % 7))
        rows.append(
            {
                "prompt": f"What is {k} and what comes next?",
                "response": f"<think>{thoughts}</think> It is {k * k}.",
                "other": k,
            }
        )
    # The same problem with another answer, a row twice, and what cannot be parsed.
    rows.append({**rows[1], "response": "<think>Other.</think>Another answer."})
    rows.append({**rows[2], "prompt": f"  {rows[2]['prompt']}\n", "response": rows[3]["response"]})
    rows.append(rows[4])
    rows.append({"prompt": "Why?", "response": "No region at all."})
    rows.append({"prompt": "How?", "response": "<think>never closed"})
    rows.append({"prompt": None, "response": "<think>a</think>b"})
    # Too long for any layout, and oddities that are kept.
    rows.append({"prompt": "Long?", "response": f"<think>{'word ' * 900}</think>b"})
    rows.append({"prompt": "Odd?", "response": "So <think>a</think>b <think>c</think>"})
    return rows


def recipe_of(files: Any, **changes: Any) -> dict[str, Any]:
    """A small recipe that trains its tokenizer."""
    paths = [str(path) for path in files] if isinstance(files, list) else str(files)
    return {
        "name": "test",
        "source": {"files": paths},
        "tokenizer": SMALL,
        "seq_len": 256,
        "block": 8,
        "max_slots": 24,
        "sizes": [8, 32],
        "val_fraction": 0.2,
        "tokens_per_shard": 6000,
        **changes,
    }


def write_recipe(folder: Path, recipe: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False))
    return path


def build(folder: Path, recipe: dict[str, Any], *options: str) -> "Traces":
    """Lays traces out in a folder that is made."""
    path = write_recipe(folder, recipe)
    run.build(TRACES, str(path), str(folder / "traces"), list(options), quiet=True)
    return Traces(folder / "traces")


def build_rows(folder: Path, rows: list[dict[str, Any]], *options: str, **changes: Any) -> "Traces":
    """Lays out rows from one file."""
    path = jobs.write_rows(folder / "in" / "rows.jsonl", rows)
    return build(folder, recipe_of(path, **changes), *options)


class Traces:
    """Finished traces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = orjson.loads((folder / "manifest.json").read_bytes())

    def hashes(self) -> dict[str, str]:
        """sha256 of all files but manifests and report, which tell where the input was."""
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
            and path.name not in ("manifest.json", "_STARTED.json", "report.html")
            and path.parent.name != "rejects"
        }

    def layout(self, folder: str) -> dict[str, Any]:
        """The manifest of a folder such as `train/flat`."""
        return orjson.loads((self.folder / folder / "manifest.json").read_bytes())

    def problems(self, folder: str) -> list[bytes]:
        """SHA-256 of the problem of each window."""
        found: list[bytes] = []
        for shard in self.layout(folder)["shards"]:
            table = pq.read_table(self.folder / folder / shard["docs_file"])
            found += table["problem"].to_pylist()
        return found

    def ledger(self) -> dict[str, int]:
        """Rows by outcome."""
        account = self.manifest["ledger"]["total"]
        return {outcome: amount["documents"] for outcome, amount in account.items()}

    def encoding(self, folder: str) -> dict[str, int]:
        """Examples of a folder by outcome."""
        account = self.layout(folder)["encoding"]
        return {outcome: amount["documents"] for outcome, amount in account.items()}

    def held_out(self) -> list[dict[str, str]]:
        """The problems for validation."""
        return jobs.read_rows(self.folder / "validation-problems.jsonl")
