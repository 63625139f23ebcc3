"""What tells a corpus from another, and what may be done in a folder that holds one already."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from beam_pipeline.manifest import MANIFEST, REPORT, STARTED, SUCCESS, versions
from beam_pipeline.recipe import JobRecipe
from transforms import storage
from transforms.errors import OutputError
from transforms.readers.planning import Plan
from transforms.sources import HubInput
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


def started_work(this_corpus: dict[str, Any], plans: list[Plan]) -> dict[str, Any]:
    """What tells the work of a run from that of another: inputs that changed, other versions."""
    return {**this_corpus, "inputs": _fingerprints(plans), "versions": versions()}


def check_output(
    output: str, this_corpus: dict[str, Any], resume: bool, folders: Sequence[str]
) -> None:
    """Refuses a folder that holds another finished corpus, nothing to resume, or what is not ours.

    Args:
      folders: those below the output that the job removes and writes anew.

    Raises:
      OutputError: naming what differs from the corpus that is there, or what the job did not write.
    """
    if not storage.is_remote(output) and os.path.exists(output) and not os.path.isdir(output):
        raise OutputError(f"{output} is a file: give a folder for the corpus")
    marker = storage.join(output, STARTED)
    if not storage.exists(storage.join(output, SUCCESS)):
        if not storage.exists(marker):
            _refuse_strange(output, folders)
        return
    if resume:
        raise OutputError(f"{output} is finished: there is nothing to resume")
    if not storage.exists(marker):
        raise OutputError(
            f"{output} holds a corpus that says nothing of its recipe ({STARTED} is missing): "
            "choose another folder"
        )
    mend = "choose another folder, or delete this one"
    _refuse_other(marker, this_corpus, f"{output} holds another corpus", mend)


def _refuse_strange(output: str, folders: Sequence[str]) -> None:
    """Refuses folders with the names of ours that no run has left; they would be removed."""
    for name in folders:
        folder = storage.join(output, name)
        if not storage.is_empty(folder):
            raise OutputError(
                f"{folder} holds files that no run of corpusbeam has left: choose another output"
            )


def check_work(work: WorkFolder, this_work: dict[str, Any]) -> None:
    """Refuses to resume what is not the work of this run.

    Raises:
      OutputError: the run to be resumed had another recipe, inputs that have changed since, or
        other versions; naming what differs.
    """
    if not work.resume:
        return
    if not storage.exists(work.started()):
        raise OutputError(f"{work.root} holds no work to resume: build without --resume")
    what = f"{work.root} holds the work of another run"
    _refuse_other(work.started(), this_work, what, "start anew, without --resume")


def take(
    output: str,
    work: WorkFolder,
    this_corpus: dict[str, Any],
    this_work: dict[str, Any],
    folders: Sequence[str],
) -> None:
    """Makes the folders this run's own: from here on the corpus is not finished.

    What an unfinished run wrote is removed, unless its work is resumed.

    Args:
      folders: those below the output that hold shards.
    """
    for name in (SUCCESS, MANIFEST, REPORT):
        storage.remove_file(storage.join(output, name))
    for folder in folders:
        if work.resume:
            storage.remove_temporaries(storage.join(output, folder))
        else:
            storage.remove_tree(storage.join(output, folder))
    storage.write_whole(storage.join(output, STARTED), orjson.dumps(this_corpus, option=_PRETTY))
    if not work.resume:
        storage.remove_tree(work.root)
        storage.write_whole(work.started(), orjson.dumps(this_work, option=_PRETTY))


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


def _refuse_other(path: str, now: dict[str, Any], what: str, mend: str) -> None:
    before = orjson.loads(storage.read_bytes(path))
    different = list(_differences(before, now, ""))
    if different:
        raise OutputError(f"{what}: {'; '.join(different[:3])}: {mend}")


def _differences(before: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            inside = f"{place}.{key}" if place else key
            yield from _differences(before.get(key), now.get(key), inside)
    elif _is_named(before) and _is_named(now):
        found = list(_differences(_by_name(before), _by_name(now), place))
        if not found and before != now:
            found = [f"{place} are in another order"]
        yield from found
    elif before != now:
        yield f"{place} was {_short(before)} and is now {_short(now)}"


def _is_named(value: Any) -> bool:
    """Whether a value is a list of mappings with names, such as a recipe's sources."""
    return isinstance(value, list) and all(isinstance(v, dict) and "name" in v for v in value)


def _by_name(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {part["name"]: part for part in parts}


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
