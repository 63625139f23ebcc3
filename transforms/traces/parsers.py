"""Parsers: from a row of a reasoning data set to an example, or to the reason why there is none.

Parsers by name, and the fields of each; a recipe says which column holds which field:

    glaive            prompt, response                response holds <think>...</think> answer
    response_list     prompt, response                the same, as a list with one response in it
    closing_tag       prompt, response                <think> was in the prompt's template, so that
                                                      the response begins inside the region; one
                                                      that has the tag after all is fine too
    tagged_columns    prompt, reasoning, answer       reasoning holds <think>...</think>
    untagged_columns  prompt, reasoning, answer       reasoning is the region

The region is what lies between the first <think> and the first </think> after it; the answer is
what follows, or its own column. What is wrong with a row, and what becomes of it:

    no_prompt           prompt is absent, null or blank                          dropped
    no_response         response is absent, null, blank or an empty list         dropped
    several_responses   the list holds more than one response                    dropped
    no_region           no tag at all; reasoning is absent, null or blank        dropped
    never_opened        only a closing tag (closing_tag reads such rows)         dropped
    never_closed        no closing tag after the opening one                     dropped
    empty_region        nothing but white space between the tags                 dropped
    no_answer           nothing but white space after the region, or no answer   dropped
    not_text            a field is neither text nor a number                     dropped
    lone_surrogate      a field is not Unicode text                              dropped
    text_before_region  text before <think>: left out                            kept, counted
    text_after_region   tagged_columns: text after </think>: left out            kept, counted
    several_regions     another <think> further on: left as text                 kept, counted
    stray_closing_tag   another </think> further on: left as text                kept, counted
    unexpected_tag      untagged_columns: a tag in reasoning: left as text       kept, counted
    tag_in_code_fence   <think> or </think> of the region is in a fenced block   kept, counted

`drop` of a `ParserSpec` turns any of the latter into a reason to drop the row. Tags are lower case
and without attributes. A number is taken as its text, a truth value is not.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from transforms.errors import RecipeError
from transforms.traces.example import Example, Malformed
from transforms.traces.segment import segment, squeeze

NOTES = (
    "text_before_region",
    "text_after_region",
    "several_regions",
    "stray_closing_tag",
    "unexpected_tag",
    "tag_in_code_fence",
)
REASONS = (
    "no_prompt",
    "no_response",
    "several_responses",
    "no_region",
    "never_opened",
    "never_closed",
    "empty_region",
    "no_answer",
    "not_text",
    "lone_surrogate",
    *NOTES,
)

_OPEN, _CLOSE = "<think>", "</think>"
_ABSENT = {
    "prompt": "no_prompt",
    "response": "no_response",
    "reasoning": "no_region",
    "answer": "no_answer",
}

# A fence of CommonMark: three or more backticks or tildes, indented by at most three spaces.
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


@dataclass(frozen=True)
class ParserSpec:
    """A parser and where it finds its fields.

    Attributes:
      name: one of those in the module's table.
      columns: (field, column) of each field whose column has another name than the field.
      drop: those of `NOTES` for which a row is dropped.

    Raises:
      RecipeError: there is no such parser, field or note, or a field is named twice.
    """

    name: str = "glaive"
    columns: tuple[tuple[str, str], ...] = ()
    drop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in _SHAPES:
            raise RecipeError(f"parser: no parser {self.name!r}: choose {_listed(_SHAPES)}")
        fields = _SHAPES[self.name].fields
        for field, _ in self.columns:
            if field not in fields:
                raise RecipeError(
                    f"parser {self.name}: no field {field!r}: its fields are {_listed(fields)}"
                )
        if len(dict(self.columns)) < len(self.columns):
            raise RecipeError(f"parser {self.name}: a field has two columns: give it one")
        for note in self.drop:
            if note not in NOTES:
                raise RecipeError(
                    f"parser {self.name}: drop: nothing is kept as {note!r}: choose among "
                    f"{_listed(NOTES)}"
                )

    def column_of(self) -> dict[str, str]:
        """The column of each field: what a reader must read."""
        return {field: field for field in _SHAPES[self.name].fields} | dict(self.columns)


def parse(spec: ParserSpec, row: Mapping[str, Any]) -> Example | Malformed:
    """The example that a row holds.

    Args:
      row: by column, what JSON and Arrow can hold; absent is as good as None.
    """
    fields = _Fields(row, spec.column_of())
    try:
        problem = squeeze(fields.text("prompt"))
        parts = _SHAPES[spec.name].take(fields)
        thoughts = segment(parts.think)
        if not thoughts:
            raise _MalformedError("empty_region")
        answer = squeeze(parts.answer)
        if not answer:
            raise _MalformedError("no_answer")
        for note in parts.notes:
            if note in spec.drop:
                raise _MalformedError(note)
    except _MalformedError as error:
        return Malformed(error.reason)
    return Example(problem, thoughts, answer, parts.notes)


class _MalformedError(Exception):
    def __init__(self, reason: str):
        self.reason = reason


class _Parts(NamedTuple):
    think: str
    answer: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Fields:
    """The fields of a row, checked as they are read."""

    row: Mapping[str, Any]
    column_of: dict[str, str]

    def value(self, field: str) -> Any:
        value = self.row.get(self.column_of[field])
        if value is None:
            raise _MalformedError(_ABSENT[field])
        return value

    def text(self, field: str) -> str:
        return _text(self.value(field), _ABSENT[field])

    def only_text(self, field: str) -> str:
        """The text of a list that holds one."""
        values = self.value(field)
        if not isinstance(values, list):
            raise _MalformedError("not_text")
        if len(values) > 1:
            raise _MalformedError("several_responses")
        if not values or values[0] is None:
            raise _MalformedError(_ABSENT[field])
        return _text(values[0], _ABSENT[field])


def _text(value: Any, absent: str) -> str:
    """A value as text that is not blank."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _MalformedError("not_text")
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _MalformedError("lone_surrogate") from None
    if not text or text.isspace():
        raise _MalformedError(absent)
    return text


def _tagged_response(fields: _Fields) -> _Parts:
    return _cut(fields.text("response"))


def _response_list(fields: _Fields) -> _Parts:
    return _cut(fields.only_text("response"))


def _closing_tag(fields: _Fields) -> _Parts:
    response = fields.text("response").lstrip().removeprefix(_OPEN)
    close = response.find(_CLOSE)
    if close < 0:
        raise _MalformedError("never_closed")
    answer = response[close + len(_CLOSE) :]
    notes = _left_as_text(response, 0, close)
    if _in_fence(response, close):
        notes.append("tag_in_code_fence")
    return _Parts(response[:close], answer, tuple(notes))


def _tagged_columns(fields: _Fields) -> _Parts:
    think, after, notes = _cut(fields.text("reasoning"))
    if after and not after.isspace():
        notes += ("text_after_region",)
    return _Parts(think, fields.text("answer"), notes)


def _untagged_columns(fields: _Fields) -> _Parts:
    think = fields.text("reasoning")
    notes = ("unexpected_tag",) if _OPEN in think or _CLOSE in think else ()
    return _Parts(think, fields.text("answer"), notes)


def _cut(text: str) -> _Parts:
    """The parts of `before<think>think</think>answer`.

    As `<think>(.*?)</think>` finds them, but in linear time where the region is never closed.
    """
    opening = text.find(_OPEN)
    if opening < 0:
        raise _MalformedError("never_opened" if _CLOSE in text else "no_region")
    start = opening + len(_OPEN)
    close = text.find(_CLOSE, start)
    if close < 0:
        raise _MalformedError("never_closed")
    notes = []
    if text[:opening].strip():
        notes.append("text_before_region")
    notes += _left_as_text(text, start, close)
    if _in_fence(text, opening) or _in_fence(text, close):
        notes.append("tag_in_code_fence")
    return _Parts(text[start:close], text[close + len(_CLOSE) :], tuple(notes))


def _left_as_text(text: str, start: int, close: int) -> list[str]:
    """The notes on tags besides those of the region text[start:close]."""
    notes = []
    if text.find(_OPEN, start) >= 0:
        notes.append("several_regions")
    if text.find(_CLOSE, close + len(_CLOSE)) >= 0:
        notes.append("stray_closing_tag")
    return notes


def _in_fence(text: str, place: int) -> bool:
    """Whether a fenced block is open at a place: an odd number of fences come before it."""
    return sum(1 for _ in _FENCE.finditer(text, 0, place)) % 2 == 1


class _Shape(NamedTuple):
    fields: tuple[str, ...]
    take: Callable[[_Fields], _Parts]


_SHAPES = {
    "glaive": _Shape(("prompt", "response"), _tagged_response),
    "response_list": _Shape(("prompt", "response"), _response_list),
    "closing_tag": _Shape(("prompt", "response"), _closing_tag),
    "tagged_columns": _Shape(("prompt", "reasoning", "answer"), _tagged_columns),
    "untagged_columns": _Shape(("prompt", "reasoning", "answer"), _untagged_columns),
}
PARSERS = tuple(_SHAPES)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
