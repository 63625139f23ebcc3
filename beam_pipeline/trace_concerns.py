"""What of finished traces should make people look twice, from the facts of their manifest."""

from collections.abc import Iterator
from typing import Any

from beam_pipeline.concerns import Concern, Step, lost_in, step_losses
from beam_pipeline.traces_recipe import TracesWarn
from transforms import ledger
from transforms.traces.layouts import OUTCOMES, TOO_LONG, TOO_MANY_SLOTS
from transforms.traces.split_examples import SPLITS, TRAIN, VALIDATION

LOSSES = (
    Step("parsing", (ledger.MALFORMED,)),
    Step("deduplication", (ledger.DUPLICATE,)),
)
_LAYOUT = Step("its geometry", (ledger.DROPPED,))
_REMEDIES = {
    f"{ledger.DROPPED}:{OUTCOMES[TOO_LONG]}": "seq_len",
    f"{ledger.DROPPED}:{OUTCOMES[TOO_MANY_SLOTS]}": "max_slots",
}


def trace_concerns(manifest: dict[str, Any], warn: TracesWarn) -> list[Concern]:
    """All warnings about finished traces; their source is a folder where a layout is meant.

    Args:
      manifest: of the whole.
    """
    rows = manifest["ledger"]["total"]
    return [
        *step_losses("the source", rows, LOSSES, warn.step_loss, "rows"),
        *_dropped(manifest, warn.dropped),
        *_fill(manifest, warn.fill),
        *_small_validation(rows, warn.validation_examples),
    ]


def _of_train(manifest: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The folders of train; those of validation have the same rules, and less to tell by."""
    for layout in manifest["recipe"]["layouts"]:
        folder = f"{SPLITS[TRAIN]}/{layout}"
        yield folder, manifest["layouts"][folder]


def _dropped(manifest: dict[str, Any], limit: float) -> Iterator[Concern]:
    for folder, told in _of_train(manifest):
        given = told["encoding"][ledger.READ]["documents"]
        parts = lost_in(told["encoding"], _LAYOUT)
        share = sum(parts.values()) / given
        if share > limit:
            why = ", ".join(
                f"{number:,} {outcome.partition(':')[2].replace('_', ' ')}"
                for outcome, number in sorted(parts.items())
            )
            keys = [key for outcome, key in _REMEDIES.items() if outcome in parts]
            message = (
                f"{folder} drops {share:.1%} of its examples ({why} of {given:,}), so that models "
                f"learn from the shorter ones alone: raise {' or '.join(keys)}"
            )
            yield Concern("dropped", folder, share, limit, message)


def _fill(manifest: dict[str, Any], limit: float) -> Iterator[Concern]:
    keys = {"slotted": "block", "adaptive": "sizes"}
    for folder, told in _of_train(manifest):
        share = told["statistics"]["fill_fraction_of_thought"]
        if share > limit:
            key = keys[folder.partition("/")[2]]
            message = (
                f"{folder} has {share:.1%} of fill in its thoughts, which are shorter than their "
                f"blocks: try smaller {key} ({_shown(manifest['recipe'][key])})"
            )
            yield Concern("fill", folder, share, limit, message)


def _shown(measure: int | list[int]) -> str:
    return ", ".join(map(str, measure)) if isinstance(measure, list) else str(measure)


def _small_validation(rows: dict[str, dict[str, int]], limit: int) -> Iterator[Concern]:
    examples = rows[SPLITS[VALIDATION]]["documents"]
    if examples < limit:
        message = (
            f"validation has only {examples:,} examples, so that what is measured on it is noisy: "
            "raise val_fraction, or give more rows"
        )
        yield Concern("validation_examples", None, examples, limit, message)
