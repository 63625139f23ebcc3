"""Writes the tables of docs/recipes.md: every key of a recipe, from the models that check it.

    python tools/recipe_reference.py

Descriptions are the `Attributes` of the models' docstrings, thresholds those of the filters. The
tables stand between comments that name them; the prose around them is left as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import docstring_parser
from docstring_parser import DocstringStyle
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from beam_pipeline.recipe import Recipe
from beam_pipeline.traces_recipe import TracesRecipe
from transforms.quality import DOMAINS, rules_for

PAGE = Path(__file__).resolve().parents[1] / "docs" / "recipes.md"

_SIMPLE = {str: "text", int: "whole number", float: "number", bool: "true or false"}
_BOUNDS = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}


def tables() -> dict[str, str]:
    """The generated tables, by name."""
    return {
        "build": "\n\n".join(_of_job(Recipe)),
        "traces": "\n\n".join(_of_job(TracesRecipe)),
        "filters": _table(("threshold", *DOMAINS), _thresholds()),
    }


def filled(page: str) -> str:
    """The page with its tables made anew.

    Raises:
      ValueError: the page has no place for a table.
    """
    for name, table in tables().items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        if begin not in page or end not in page:
            raise ValueError(f"{PAGE.name} has no place for the table {name!r}: {begin}{end}")
        head, rest = page.split(begin)
        page = f"{head}{begin}\n{table}\n\n{end}{rest.split(end)[1]}"
    return page


def _of_job(job: type[BaseModel]) -> Iterator[str]:
    """A table for the top level and one for each part, in the order in which they are met."""
    waiting: list[tuple[str, type[BaseModel]]] = [("", job)]
    seen = {job}
    while waiting:
        key, model = waiting.pop(0)
        if key:
            yield f"`{key}`: {_first_sentence(model)}"
        told = descriptions(model)
        rows = []
        for name, field in model.model_fields.items():
            rows.append((f"`{name}`", _type(field), _default(field), told[name]))
            for part in _parts(field.annotation):
                if part not in seen:
                    seen.add(part)
                    waiting.append((f"{key}.{name}" if key else name, part))
        yield _table(("key", "what", "default", "meaning"), rows)


def descriptions(model: type) -> dict[str, str]:
    """What the docstrings of a class and its bases say of its attributes, by name."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        parsed = docstring_parser.parse(owner.__doc__ or "", style=DocstringStyle.GOOGLE)
        for parameter in parsed.params:
            for name in parameter.arg_name.split(", "):
                found[name] = " ".join((parameter.description or "").split()).rstrip(".")
    return found


def _first_sentence(model: type) -> str:
    return docstring_parser.parse(model.__doc__ or "").short_description or ""


def _parts(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _parts(inner)


def _type(field: FieldInfo) -> str:
    bounds = " ".join(
        pattern.format(_number(limit))
        for rule in field.metadata
        for name, pattern in _BOUNDS.items()
        if (limit := getattr(rule, name, None)) is not None
    )
    return ", ".join(filter(None, (_named(field.annotation), bounds)))


def _named(annotation: Any) -> str:
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    inner = [each for each in get_args(annotation) if each not in (type(None), Ellipsis)]
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is Annotated:
        return _named(inner[0])
    if origin is tuple:
        return f"list of: {_named(inner[0])}"
    if origin is dict:
        return f"mapping of names to: {_named(inner[1])}"
    if inner:
        return " or ".join(map(_named, inner))
    return "mapping"


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return "required"
    if default is None or default in ({}, ()):
        return "none"
    if isinstance(default, BaseModel):
        return "its defaults"
    if isinstance(default, tuple):
        return "`[" + ", ".join(map(str, default)) + "]`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{_number(default)}`"


def _number(value: Any) -> str:
    if isinstance(value, int) and value >= 10_000:
        power = value.bit_length() - 1
        return f"2^{power}" if value == 1 << power else f"{value:_}"
    return str(value)


def _thresholds() -> Iterator[tuple[str, ...]]:
    by_domain = [rules_for(domain, {}) for domain in DOMAINS]
    names = dict.fromkeys(field.name for rules in by_domain for field in fields(rules))
    for name in names:
        values = (getattr(rules, name, None) for rules in by_domain)
        yield (f"`{name}`", *("" if value is None else _number(value) for value in values))


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(re.sub(r"\|", r"\\|", cell) for cell in line) + " |" for line in lines
    )


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
