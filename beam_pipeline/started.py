"""What tells a corpus from another, and what may be done in a folder that holds one already."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from beam_pipeline.manifest import MANIFEST, STARTED, SUCCESS, versions
from beam_pipeline.recipe import JobRecipe
from transforms import storage
from transforms.errors import OutputError
from transforms.readers.planning import Plan
from transforms.readers.spec import HubInput
from transforms.tokenizers.spec import PreparedTokenizer
from transforms.work import WorkFolder

_CONCURRENT_LOOKS = 16
_PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS


def started(
    recipe: JobRecipe, plans: list[Plan], tokenizer: PreparedTokenizer | None, offline: bool
) -> dict[str, Any]:
    """What tells this corpus from another: recipe, inputs, tokenizer.

    Args:
      tokenizer: None where the job trains one, which recipe and inputs determine.
    """
    return {
        "recipe": recipe.canonical(),
        "inputs": {planned.spec.name: dict(planned.inputs) for planned in plans},
        "revisions": {
            planned.spec.name: planned.spec.input.revision
            for planned in plans
            if isinstance(planned.spec.input, HubInput)
        },
        "tokenizer": tokenizer and {"name": tokenizer.name, "sha256": tokenizer.sha256},
        "offline": offline,
    }


def take_output(output: str, now: dict[str, Any], resume: bool, folders: Sequence[str]) -> None:
    """Makes a folder this corpus's own.

    A finished corpus stays if another is to be built; shards of an unfinished one do not, unless
    its work is resumed.

    Args:
      folders: those below it that hold shards.

    Raises:
      OutputError: naming what differs from the corpus that is there.
    """
    marker, success = storage.join(output, STARTED), storage.join(output, SUCCESS)
    if storage.exists(success) or storage.exists(storage.join(output, MANIFEST)):
        if resume:
            raise OutputError(f"{output} is finished: there is nothing to resume")
        if not storage.exists(marker):
            raise OutputError(
                f"{output} holds a corpus that says nothing of its recipe ({STARTED} is missing): "
                "choose another folder"
            )
        _refuse_other(marker, now, f"{output} holds another corpus")
        storage.remove_file(success)
    elif storage.exists(marker) and not resume:
        for folder in folders:
            storage.remove_tree(storage.join(output, folder))
    for folder in folders:
        storage.remove_temporaries(storage.join(output, folder))
    storage.write_whole(marker, orjson.dumps(now, option=_PRETTY))


def take_work(work: WorkFolder, now: dict[str, Any], plans: list[Plan]) -> None:
    """Clears a work folder, or makes sure that what is in it belongs to this run.

    Raises:
      OutputError: the run to be resumed had another recipe, inputs that have changed since, or
        other versions; naming what differs.
    """
    now = {**now, "inputs": _fingerprints(plans), "versions": versions()}
    if work.resume:
        if not storage.exists(work.started()):
            raise OutputError(f"{work.root} holds no work to resume: build without --resume")
        _refuse_other(work.started(), now, f"{work.root} holds the work of another run")
    else:
        storage.remove_tree(work.root)
        storage.write_whole(work.started(), orjson.dumps(now, option=_PRETTY))


def _fingerprints(plans: list[Plan]) -> dict[str, dict[str, str]]:
    with ThreadPoolExecutor(_CONCURRENT_LOOKS) as pool:
        return {
            planned.spec.name: dict(
                zip(
                    (path for path, _ in planned.inputs),
                    pool.map(storage.fingerprint, (path for path, _ in planned.inputs)),
                    strict=True,
                )
            )
            for planned in plans
        }


def _refuse_other(path: str, now: dict[str, Any], what: str) -> None:
    before = orjson.loads(storage.read_bytes(path))
    different = list(_differences(before, now, ""))
    if different:
        raise OutputError(
            f"{what}: {'; '.join(different[:3])}: choose another folder, or delete this one"
        )


def _differences(before: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            inside = f"{place}.{key}" if place else key
            yield from _differences(before.get(key), now.get(key), inside)
    elif before != now:
        yield f"{place} was {_short(before)} and is now {_short(now)}"


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
