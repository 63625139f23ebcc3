"""The manifests of a corpus, as plain data."""

import platform
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from beam_pipeline.recipe import Warn
from transforms.budget import Share
from transforms.quality import Rules
from transforms.shards import ShardInfo
from transforms.sources import HubInput, SourceSpec
from transforms.tokenize import SPLITS, TRAIN, group_key
from transforms.tokenizers.spec import PreparedTokenizer

STARTED = "_STARTED.json"
SUCCESS = "_SUCCESS"
MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
REPORT = "report.html"


@dataclass(frozen=True)
class CorpusFacts:
    """What launch knows and the manifests tell.

    Attributes:
      recipe: as `Recipe.canonical` gives it.
      warn: when to warn of the corpus.
      rules: of the quality filter, by source.
      inputs_chosen: by source, (read, all) files or dataset shards.
      skipped: (path, kind, detail) of damaged files that launch left out.
      offline: hub sources were replaced by generated documents.
    """

    recipe: dict[str, Any]
    recipe_sha256: str
    warn: Warn
    rules: tuple[Rules, ...]
    sources: tuple[SourceSpec, ...]
    inputs_chosen: tuple[tuple[int, int], ...]
    tokenizer: PreparedTokenizer
    filter_config_hash: str
    skipped: tuple[tuple[str, str, str], ...]
    offline: bool
    versions: dict[str, str]


def versions() -> dict[str, str]:
    """Versions of what the bytes of a corpus depend on."""
    packages = ("corpusbeam", "apache-beam", "numpy", "numba", "pyarrow", "tokenizers", "fastokens")
    found = {package: version(package) for package in packages}
    return {"python": platform.python_version(), "unicode": unicodedata.unidata_version, **found}


def manifests(
    facts: CorpusFacts,
    shards: Sequence[ShardInfo],
    ledger: dict[str, dict[str, dict]],
    spent: Mapping[int, tuple[int, int]],
    shares: Mapping[int, tuple[Share, int]],
    notes: Sequence[tuple[str, str, str]],
) -> dict[str, dict[str, Any]]:
    """The manifests by path below the corpus: of each split, and of the whole.

    Args:
      shards: all of both splits.
      ledger: from `ledger.as_table`.
      spent: by `group_key`, (documents, tokens) taken.
      shares: by `group_key`, what was granted and how many tokens there were.
      notes: (path, kind, detail) of damage that was passed over.
    """
    common = _common(facts, ledger, notes)
    found: dict[str, dict[str, Any]] = {}
    listed: list[dict[str, Any]] = []
    for split, name in enumerate(SPLITS):
        infos = sorted((info for info in shards if info.split == name), key=lambda i: i.number)
        sources = _sources(facts, split, spent, shares)
        found[f"{name}/{MANIFEST}"] = {
            "split": name,
            **totals(infos, facts.recipe["seq_len"]),
            **common,
            "sources": sources,
            "shards": [info.entry() for info in infos],
        }
        listed += [info.entry(name) for info in infos]
    found[MANIFEST] = {
        **totals(shards, facts.recipe["seq_len"]),
        **common,
        "sources": found[f"{SPLITS[TRAIN]}/{MANIFEST}"]["sources"],
        "splits": {
            name: {
                key: found[f"{name}/{MANIFEST}"][key]
                for key in ("n_shards", "n_sequences", "n_tokens", "n_document_tokens", "sources")
            }
            for name in SPLITS
        },
        "shards": listed,
    }
    return found


def _common(
    facts: CorpusFacts, ledger: dict[str, dict[str, dict]], notes: Sequence[tuple[str, str, str]]
) -> dict[str, Any]:
    recipe, tokenizer = facts.recipe, facts.tokenizer
    return {
        "store_positions": False,
        **ids_and_tokenizer(tokenizer),
        "seed": recipe["seed"],
        "token_budget": recipe["train_tokens"],
        "filter_config_hash": facts.filter_config_hash,
        "dedup": recipe["dedup"],
        "holdout": recipe["holdout"],
        "offline_synthetic": facts.offline,
        "ledger": ledger,
        "damaged_files": damaged_files({*facts.skipped, *notes}),
        "recipe": recipe,
        "recipe_sha256": facts.recipe_sha256,
        "versions": facts.versions,
    }


def totals(shards: Sequence[ShardInfo], seq_len: int) -> dict[str, Any]:
    """What shards hold together."""
    sequences = sum(info.sequences for info in shards)
    return {
        "seq_len": seq_len,
        "n_shards": len(shards),
        "n_sequences": sequences,
        "n_tokens": sequences * seq_len,
        "n_document_tokens": sum(info.document_tokens for info in shards),
        "n_documents": sum(info.documents for info in shards),
    }


def ids_and_tokenizer(tokenizer: PreparedTokenizer) -> dict[str, Any]:
    """What a reader needs to know of the ids, and where they are from."""
    return {
        "bos_id": tokenizer.bos_id,
        "eos_id": tokenizer.eos_id,
        "pad_id": tokenizer.pad_id,
        "dtype": tokenizer.dtype,
        "vocab_size": tokenizer.vocab_size,
        "tokenizer": {
            "name": tokenizer.name,
            "sha256": tokenizer.sha256,
            **{role: name for role, name, _ in tokenizer.control()},
            "added": dict(tokenizer.added),
        },
    }


def damaged_files(notes: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """(path, kind, detail) of damage that was passed over, as the manifests list it."""
    return [{"file": path, "kind": kind, "detail": detail} for path, kind, detail in sorted(notes)]


def _sources(
    facts: CorpusFacts,
    split: int,
    spent: Mapping[int, tuple[int, int]],
    shares: Mapping[int, tuple[Share, int]],
) -> list[dict[str, Any]]:
    total = sum(
        spent.get(group_key(split, place), (0, 0))[1] for place in range(len(facts.sources))
    )
    asked = facts.recipe["sources"]
    return [
        {
            "name": spec.name,
            "domain": spec.domain,
            **origin(spec, asked[place]["huggingface"], facts.inputs_chosen[place]),
            "target_weight": asked[place]["weight"],
            **_spending(group_key(split, place), total, spent, shares),
        }
        for place, spec in enumerate(facts.sources)
    ]


def _spending(
    key: int,
    total: int,
    spent: Mapping[int, tuple[int, int]],
    shares: Mapping[int, tuple[Share, int]],
) -> dict[str, Any]:
    documents, tokens = spent.get(key, (0, 0))
    share, available = shares[key]
    return {
        "target_tokens": share.target,
        "granted_tokens": share.granted,
        "available_tokens": available,
        "realized_tokens": tokens,
        "realized_weight": tokens / total if total else 0.0,
        "documents": documents,
        "epochs": tokens / available if available else 0.0,
    }


def origin(
    spec: SourceSpec, asked: dict[str, Any] | None, chosen: tuple[int, int]
) -> dict[str, Any]:
    """Where a source comes from; `asked` is what the recipe says of the hub."""
    hub = asked or {}
    read, there_are = chosen
    return {
        "hf_path": hub.get("repo"),
        "hf_config": hub.get("config"),
        "hf_data_dir": hub.get("data_dir"),
        "revision": spec.input.revision if isinstance(spec.input, HubInput) else None,
        "read_fraction": spec.read_fraction,
        "inputs_read": read,
        "inputs_there": there_are,
    }
