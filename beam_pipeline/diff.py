"""`corpusbeam diff`: how two finished outputs differ."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from rich.console import Console

from beam_pipeline.document_sets import Comparison, DocumentSet, compare
from beam_pipeline.finished import read_manifest
from beam_pipeline.manifest import STARTED
from beam_pipeline.print_diff import print_differences
from beam_pipeline.traces_manifest import is_traces
from transforms import ledger, storage
from transforms.errors import OutputError
from transforms.tokenize import SPLITS
from transforms.traces.split_examples import SPLITS as TRACES_SPLITS


@dataclass(frozen=True)
class Change:
    """A value that differs.

    Attributes:
      place: dotted; a source of a recipe by its name.
      before, after: plain data; None where an output has no such value.
    """

    place: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Differences:
    """All that differs between two outputs.

    Attributes:
      same_bytes: both have the same shards, with the same tokens.
      recipe, inputs, tokenizer, versions, sizes, warnings: values that differ.
      ledger: documents by source and outcome, without the total.
      mix: of each source of a corpus, its tokens and share of train.
      documents: by layout, "" for a corpus.
    """

    before: str
    after: str
    same_bytes: bool
    recipe: list[Change]
    inputs: list[Change]
    tokenizer: list[Change]
    versions: list[Change]
    sizes: list[Change]
    warnings: list[Change]
    ledger: list[Change]
    mix: list[Change]
    documents: dict[str, Comparison]

    def any(self) -> bool:
        """Whether anything differs."""
        changes = (
            self.recipe,
            self.inputs,
            self.tokenizer,
            self.versions,
            self.sizes,
            self.warnings,
            self.ledger,
            self.mix,
        )
        return not self.same_bytes or any(changes) or any(map(_differ, self.documents.values()))


def diff(before: str, after: str, *, as_json: bool) -> int:
    """Compares two finished outputs and prints how they differ.

    Returns:
      0 if nothing differs, else 1.

    Raises:
      OutputError: one is not finished, or one holds a corpus and the other traces.
    """
    found = differences(before, after)
    if as_json:
        print(orjson.dumps(asdict(found), option=orjson.OPT_INDENT_2).decode())
    else:
        print_differences(found, Console())
    return int(found.any())


def differences(before: str, after: str) -> Differences:
    """How two finished outputs differ; see `diff`."""
    a, b = read_manifest(before), read_manifest(after)
    if is_traces(a) != is_traces(b):
        kinds = ["traces" if is_traces(m) else "a corpus" for m in (a, b)]
        raise OutputError(
            f"{before} holds {kinds[0]} and {after} {kinds[1]}: these cannot be compared"
        )
    started = [_started(folder) for folder in (before, after)]
    return Differences(
        before=before,
        after=after,
        same_bytes=_shards(a) == _shards(b),
        recipe=list(_changes(_by_name(a["recipe"]), _by_name(b["recipe"]))),
        inputs=list(_changes(*(one["inputs"] for one in started)))
        + list(_changes(*(one["revisions"] for one in started))),
        tokenizer=list(_changes(a["tokenizer"], b["tokenizer"])),
        versions=list(_changes(a["versions"], b["versions"])),
        sizes=list(_changes(_sizes(a), _sizes(b))),
        warnings=list(_changes(_warnings(a), _warnings(b))),
        ledger=list(_changes(_ledger(a), _ledger(b))),
        mix=list(_changes(_mix(a), _mix(b))),
        documents=_documents(before, after, a, b),
    )


def _changes(before: Any, after: Any, place: tuple[str, ...] = ()) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from _changes(before.get(key), after.get(key), (*place, key))
    elif before != after:
        yield Change(".".join(place), before, after)


def _by_name(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe whose sources go by name, so that one more does not change all that follow."""
    if "sources" not in recipe:
        return dict(recipe)
    named = {
        source["name"]: {key: value for key, value in source.items() if key != "name"}
        for source in recipe["sources"]
    }
    return {**recipe, "sources": named}


def _started(folder: str) -> dict[str, Any]:
    path = storage.join(folder, STARTED)
    if not storage.exists(path):
        return {"inputs": {}, "revisions": {}}
    return orjson.loads(storage.read_bytes(path))


def _shards(manifest: Mapping[str, Any]) -> dict[str, str]:
    return {shard["file"]: shard["sha256"] for shard in manifest["shards"]}


def _sizes(manifest: Mapping[str, Any]) -> dict[str, Any]:
    folders = manifest["layouts" if is_traces(dict(manifest)) else "splits"]
    return {
        name: {
            "shards": folder["n_shards"],
            "windows": folder["n_sequences"],
            "tokens": folder["n_document_tokens"],
        }
        for name, folder in folders.items()
    }


def _warnings(manifest: Mapping[str, Any]) -> dict[str, bool]:
    """Each warning as a key, so that those of one output alone come out."""
    return {
        one if isinstance(one, str) else orjson.dumps(one).decode(): True
        for one in manifest.get("warnings", ())
    }


def _ledger(manifest: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    return {
        source: {outcome: amount["documents"] for outcome, amount in account.items()}
        for source, account in manifest["ledger"].items()
        if source != ledger.TOTAL
    }


def _mix(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {
        source["name"]: {
            "train_tokens": source["realized_tokens"],
            "share": source["realized_weight"],
            "epochs": source["epochs"],
        }
        for source in manifest.get("sources", ())
    }


def _documents(
    before: str, after: str, a: dict[str, Any], b: dict[str, Any]
) -> dict[str, Comparison]:
    if not is_traces(a):
        sources = list(dict.fromkeys(s["name"] for m in (a, b) for s in m["sources"]))
        folders = {split: split for split in SPLITS}
        return {"": _compare(before, after, folders, "digest", sources)}
    found = {}
    for layout in a["recipe"]["layouts"]:
        if layout in b["recipe"]["layouts"]:
            folders = {split: f"{split}/{layout}" for split in TRACES_SPLITS}
            found[layout] = _compare(before, after, folders, "problem", ["traces"])
    return found


def _compare(
    before: str, after: str, folders: dict[str, str], key: str, sources: list[str]
) -> Comparison:
    return compare(
        DocumentSet(before, folders, key, sources),
        DocumentSet(after, folders, key, sources),
        list(folders),
    )


def _differ(found: Comparison) -> bool:
    return bool(found.lost or found.gained or found.moved)
