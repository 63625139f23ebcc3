"""Recipes in files: finding them, reading them, and telling what is wrong with them in one line."""

from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from beam_pipeline.recipe import JobRecipe
from transforms import storage
from transforms.errors import RecipeError


class _UniqueKeyLoader(yaml.SafeLoader):
    """A key given twice is a mistake that plain YAML loading hides."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def shipped() -> dict[str, Path]:
    """The recipes that go by name, name to file."""
    folder = Path(str(resources.files("beam_pipeline") / "recipes"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"), key=lambda path: path.stem)}


def find(name_or_path: str) -> str:
    """The path of a recipe given by a shipped name or by its own path.

    Raises:
      RecipeError: there is no such file and no such name.
      CloudError: there is not even its bucket.
    """
    if not storage.is_remote(name_or_path):
        by_name = shipped()
        if name_or_path in by_name and not Path(name_or_path).is_file():
            return str(by_name[name_or_path])
    if not storage.exists(name_or_path):
        storage.check_bucket(name_or_path)
        raise RecipeError(
            f"no recipe {name_or_path}: give the path of a YAML file, or one of the shipped "
            f"recipes: {', '.join(shipped())}"
        )
    return name_or_path


AnyRecipe = TypeVar("AnyRecipe", bound=JobRecipe)

# What pydantic says of these is for those who know Python and the models here.
_IN_WORDS = {
    "dict_type": "Input should be a mapping of keys to values",
    "int_from_float": "Input should be a whole number",
    "int_parsing": "Input should be a whole number",
    "model_type": "Input should be a mapping",
    "tuple_type": "Input should be a list",
}

# A key that recipes of one job must have and those of others do not know.
_TELLING_KEYS = {"sources": "build", "source": "traces"}


def parse(text: bytes, place: str, kind: type[AnyRecipe]) -> AnyRecipe:
    """Reads a recipe.

    Args:
      text: YAML.
      place: what messages call it.
      kind: the recipe of which job it should be.

    Raises:
      RecipeError: one line that names the place of the first mistake.
    """
    try:
        raw = yaml.load(text, _UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{place}:{mark.line + 1}" if mark else place
        raise RecipeError(f"{where}: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{place}: not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(raw, dict):
        raise RecipeError(f"{place}: a recipe is a mapping of keys to values")
    commands = {command for key, command in _TELLING_KEYS.items() if key in raw}
    if commands and kind.COMMAND not in commands:
        raise RecipeError(
            f"{place}: this is a recipe for corpusbeam {commands.pop()}, not for corpusbeam "
            f"{kind.COMMAND}"
        )
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise RecipeError(f"{place}: {_first_mistake(error, raw, kind)}") from error
    except RecipeError as error:
        raise RecipeError(f"{place}: {error}") from error


def load(path: str, kind: type[AnyRecipe]) -> AnyRecipe:
    """Reads the recipe in a file; see `parse`.

    Raises:
      RecipeError: also where the file cannot be read.
    """
    try:
        text = storage.read_bytes(path)
    except OSError as error:
        raise RecipeError(
            f"{path}: this recipe cannot be read ({error.strerror or error}): give a YAML file"
        ) from error
    return parse(text, path, kind)


def beside(recipe_path: str, path: str) -> str:
    """A path written in a recipe: relative ones start at the recipe's folder."""
    return storage.relative_to(storage.parent(recipe_path), path)


def _first_mistake(error: ValidationError, raw: dict[str, Any], kind: type[JobRecipe]) -> str:
    """The most telling mistake of a validation, as one line."""
    mistakes = error.errors(include_url=False)
    # The tokenizer is a word or a mapping, and pydantic reports a failure for each branch.
    branches = [m for m in mistakes if "literal['bytes']" not in m["loc"]] or mistakes
    first = next((m for m in branches if m["type"] == "extra_forbidden"), branches[0])
    place = ""
    for part in first["loc"]:
        if isinstance(part, int):
            name = _source_name(raw, part) if place == "sources" else None
            place += f"[{name or part}]"
        elif "TokenizerRecipe" not in part and not part.startswith("literal["):
            place += f".{part}" if place else str(part)
    if first["type"] == "extra_forbidden":
        known = _keys_at(first["loc"][:-1], kind)
        hint = f"; known keys: {', '.join(known)}" if known else ""
        return f"{place}: unknown key{hint}"
    if first["type"] == "missing":
        return f"{place}: this key is missing"
    message = _IN_WORDS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    if first["type"] == "model_type":
        message += f" with the keys {', '.join(_keys_at(first['loc'], kind))}"
        message += ", or the word bytes" if branches != mistakes else ""
    got = first.get("input")
    if first["type"] != "value_error" and isinstance(got, (str, int, float, bool)):
        message += f", got {got!r}"
    return f"{place}: {message}" if place else message


def _source_name(raw: dict[str, Any], index: int) -> str | None:
    try:
        return str(raw["sources"][index]["name"])
    except (KeyError, IndexError, TypeError):
        return None


def _keys_at(loc: tuple[int | str, ...], kind: type[JobRecipe]) -> list[str]:
    names = [part for part in loc if part in kind.PARTS]
    return list((kind.PARTS[str(names[-1])] if names else kind).model_fields)
