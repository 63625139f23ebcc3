"""Inputs on disk: a folder with the documents, the recipe that reads them, and their size."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

# Large enough that every document is taken, at any scale.
BUDGET = 10**12


@dataclass(frozen=True)
class Bench:
    """Files that the inputs are made from: one `<domain>.jsonl.gz` for each domain.

    Attributes:
      tokenizer: a `tokenizer.json` whose end token is `<|endoftext|>`.
    """

    folder: Path
    tokenizer: Path

    def file(self, domain: str) -> Path:
        return self.folder / f"{domain}.jsonl.gz"


@dataclass(frozen=True)
class Input:
    """An input that is ready.

    Attributes:
      text_bytes: of all documents' texts, UTF-8.
    """

    name: str
    folder: str
    documents: int
    text_bytes: int

    @property
    def recipe(self) -> Path:
        return Path(self.folder) / "recipe.yaml"

    @property
    def megabytes(self) -> float:
        return self.text_bytes / 1e6

    @property
    def series(self) -> str:
        """The same for inputs that differ in their size only."""
        return "x" if scale_of(self.name) else self.name.removesuffix("_quarter")

    def files(self) -> list[Path]:
        return sorted(Path(self.folder).glob("*/*.jsonl*"))


def scale_of(name: str) -> int:
    """4 for "4x"; 0 for an input that is no multiple of the bench corpus."""
    digits = name.removesuffix("x")
    return int(digits) if digits != name and digits.isdigit() else 0


def text_column(domain: str) -> str:
    """The column of the bench files that holds the text."""
    return "content" if domain == "code" else "text"


def source(domain: str, **more: Any) -> dict[str, Any]:
    """A source of a recipe, its files in the folder of the domain's name."""
    return {
        "name": domain,
        "domain": domain,
        "files": f"{domain}/*.jsonl*",
        "text_column": text_column(domain),
        **more,
    }


def write_recipe(
    folder: Path, sources: Sequence[Mapping[str, Any]], bench: Bench, **more: Any
) -> None:
    """Writes the recipe of an input, the sources sharing the budget equally."""
    recipe = {
        "name": folder.name,
        "seed": 1337,
        "train_tokens": BUDGET,
        "seq_len": 2048,
        "tokens_per_shard": 10_000_000,
        "tokenizer": {
            "file": str(bench.tokenizer.resolve()),
            "bos": "<|bos|>",
            "eos": "<|endoftext|>",
            "pad": "<|pad|>",
            "add_missing": True,
        },
        "holdout": {"per_mille": 1, "max_tokens": BUDGET},
        "sources": [{**source, "weight": 1 / len(sources)} for source in sources],
        **more,
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))


def finish(folder: Path, made_from: Mapping[str, Any], documents: int, text_bytes: int) -> Input:
    """Records that an input is complete; `load` finds it then."""
    ready = Input(folder.name, str(folder), documents, text_bytes)
    record = {"made_from": made_from, "input": asdict(ready)}
    (folder / "input.json").write_text(json.dumps(record, indent=2))
    return ready


def load(folder: Path, made_from: Mapping[str, Any]) -> Input | None:
    """The input in a folder, if it is complete and made from the same."""
    record = folder / "input.json"
    if not record.exists():
        return None
    found = json.loads(record.read_text())
    return Input(**found["input"]) if found["made_from"] == made_from else None
