"""The manifests of laid out traces, as plain data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import Any

from beam_pipeline.manifest import MANIFEST, damaged_files, ids_and_tokenizer, origin, totals
from beam_pipeline.traces_recipe import TracesWarn
from transforms import ledger
from transforms.errors import InternalError, RecipeError
from transforms.shards import ShardInfo
from transforms.sources import SourceSpec
from transforms.tokenizers.spec import PreparedTokenizer
from transforms.traces.geometry import Geometry, Layout
from transforms.traces.split_examples import SPLITS
from transforms.traces.statistics import LayoutStatistics
from transforms.traces.write_layouts import REGIONS

JOB = "traces"
STATISTICS = "statistics"


@dataclass(frozen=True)
class TracesFacts:
    """What launch knows and the manifests tell.

    Attributes:
      recipe: as `TracesRecipe.canonical` gives it.
      warn: when to warn of the traces.
      inputs_chosen: (read, all) files or dataset shards.
      geometry: without sizes where adaptive is not among the layouts.
      skipped: (path, kind, detail) of damaged files that launch left out.
    """

    recipe: dict[str, Any]
    recipe_sha256: str
    warn: TracesWarn
    source: SourceSpec
    inputs_chosen: tuple[int, int]
    layouts: tuple[Layout, ...]
    geometry: Geometry
    skipped: tuple[tuple[str, str, str], ...]
    versions: dict[str, str]

    def folders(self) -> dict[str, tuple[str, Layout]]:
        """(split, layout) of each folder of shards."""
        return {f"{split}/{layout}": (split, layout) for layout in self.layouts for split in SPLITS}


def manifests(
    facts: TracesFacts,
    tokenizer: PreparedTokenizer,
    shards: Sequence[ShardInfo],
    entries: Iterable[ledger.Entry],
    notes: Sequence[tuple[str, str, str]],
) -> dict[str, dict[str, Any]]:
    """The manifests by path below the output: of each folder, and of the whole.

    Args:
      shards: of all folders.
      entries: a tally; its sources are the source of the rows, and the folders.
      notes: (path, kind, detail) of damage that was passed over.

    Raises:
      InternalError: the account does not balance.
      RecipeError: a folder is empty, as nothing fits its layout.
    """
    entries = list(entries)
    folders = facts.folders()
    rows = ledger.as_table([e for e in entries if e[0][0] not in folders], [facts.source.name])
    encoding = ledger.as_table([e for e in entries if e[0][0] in folders], folders)
    del encoding["total"]
    _check(rows, encoding, shards, facts)
    common = _common(facts, tokenizer, rows, notes)
    found: dict[str, dict[str, Any]] = {}
    listed: list[dict[str, Any]] = []
    for folder, (split, layout) in folders.items():
        infos = sorted((info for info in shards if info.split == folder), key=lambda i: i.number)
        found[f"{folder}/{MANIFEST}"] = {
            "split": split,
            "layout": layout,
            **totals(infos, facts.geometry.seq_len),
            **common,
            "size_token_ids": _size_token_ids(tokenizer, facts) if layout == "adaptive" else {},
            STATISTICS: layout_statistics(infos).summary(),
            "encoding": encoding[folder],
            "shards": [_entry(info) for info in infos],
        }
        listed += [_entry(info, folder) for info in infos]
    told = ("n_shards", "n_sequences", "n_tokens", "n_document_tokens", STATISTICS, "encoding")
    found[MANIFEST] = {
        **totals(shards, facts.geometry.seq_len),
        **common,
        "layouts": {
            folder: {key: found[f"{folder}/{MANIFEST}"][key] for key in told} for folder in folders
        },
        "shards": listed,
    }
    return found


def is_traces(manifest: dict[str, Any]) -> bool:
    """Whether a manifest is one of this job's."""
    return manifest.get("job") == JOB


def _check(
    rows: dict[str, dict[str, dict]],
    encoding: dict[str, dict[str, dict]],
    shards: Sequence[ShardInfo],
    facts: TracesFacts,
) -> None:
    ledger.check(rows)
    ledger.check(encoding)
    for folder, (split, _) in facts.folders().items():
        if encoding[folder][ledger.READ] != rows["total"][split]:
            raise InternalError(
                f"the ledger does not balance: {folder} was given "
                f"{encoding[folder][ledger.READ]}, {split} has {rows['total'][split]}"
            )
        if ledger.ENCODED not in encoding[folder]:
            reasons = ", ".join(
                f"{outcome.partition(':')[2]} {amount['documents']:,}"
                for outcome, amount in encoding[folder].items()
                if outcome.startswith(ledger.DROPPED)
            )
            raise RecipeError(
                f"{folder} is empty: every example was dropped ({reasons}): raise seq_len or "
                "max_slots, or leave the layout out"
            )
        windows = sum(info.sequences for info in shards if info.split == folder)
        if windows != encoding[folder][ledger.ENCODED]["documents"]:
            raise InternalError(
                f"the ledger does not balance: {folder} has {windows} windows, "
                f"{encoding[folder][ledger.ENCODED]['documents']} examples were encoded"
            )


def _common(
    facts: TracesFacts,
    tokenizer: PreparedTokenizer,
    rows: dict[str, dict[str, dict]],
    notes: Sequence[tuple[str, str, str]],
) -> dict[str, Any]:
    recipe = facts.recipe
    return {
        "job": JOB,
        "store_positions": False,
        "columns": {REGIONS: "uint8"},
        **ids_and_tokenizer(tokenizer),
        "special_token_ids": {role: id_ for role, _, id_ in tokenizer.control()},
        "geometry": asdict(facts.geometry),
        "seed": recipe["seed"],
        "val_fraction": recipe["val_fraction"],
        "order_dependent": recipe["scan_limit"] is not None,
        "source": origin(facts.source, recipe["source"]["huggingface"], facts.inputs_chosen),
        "ledger": rows,
        "damaged_files": damaged_files({*facts.skipped, *notes}),
        "recipe": recipe,
        "recipe_sha256": facts.recipe_sha256,
        "versions": facts.versions,
    }


def _size_token_ids(tokenizer: PreparedTokenizer, facts: TracesFacts) -> dict[str, int]:
    ids: Mapping[str, int] = {role: id_ for role, _, id_ in tokenizer.control()}
    return {str(size): ids[str(size)] for size in facts.geometry.sizes}


def layout_statistics(infos: Iterable[ShardInfo]) -> LayoutStatistics:
    """What the windows of shards of one layout are filled with."""
    counted = (LayoutStatistics.from_plain(info.facts[STATISTICS]) for info in infos)
    return reduce(add, counted, LayoutStatistics())


def _entry(info: ShardInfo, folder: str = "") -> dict[str, Any]:
    entry = info.entry(folder)
    del entry[STATISTICS]
    return entry
