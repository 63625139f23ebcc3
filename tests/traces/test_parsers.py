import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors import read_vectors
from transforms.errors import RecipeError
from transforms.traces.example import Example, Malformed
from transforms.traces.parsers import NOTES, PARSERS, REASONS, ParserSpec, parse
from transforms.traces.segment import squeeze

GLAIVE = ParserSpec()
FENCE_BEFORE = ("text_before_region", "tag_in_code_fence")
FENCED = "<think>a\n```xml\nx</think>\n```\nb"


def glaive(response, prompt="p", drop=()):
    return parse(ParserSpec(drop=drop), {"prompt": prompt, "response": response})


def columns(name, reasoning, answer="b"):
    return parse(ParserSpec(name), {"prompt": "p", "reasoning": reasoning, "answer": answer})


def example(thoughts=("a",), answer="b", notes=(), problem="p"):
    return Example(problem, thoughts, answer, notes)


@pytest.mark.parametrize("case", read_vectors("parse_glaive.jsonl"))
def test_vectors(case):
    found = parse(GLAIVE, case["row"])
    if case["example"] is None:
        assert isinstance(found, Malformed)
    else:
        assert found.problem == case["example"]["problem"]
        assert list(found.thoughts) == case["example"]["steps"]
        assert found.answer == case["example"]["answer"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"response": "<think>a</think>b"}, "no_prompt"),
        ({"prompt": None, "response": "<think>a</think>b"}, "no_prompt"),
        ({"prompt": " \n", "response": "<think>a</think>b"}, "no_prompt"),
        ({"prompt": "p"}, "no_response"),
        ({"prompt": "p", "response": ""}, "no_response"),
        ({"prompt": "p", "response": "a b"}, "no_region"),
        ({"prompt": "p", "response": "<THINK>a</THINK>b"}, "no_region"),
        ({"prompt": "p", "response": "a</think>b"}, "never_opened"),
        ({"prompt": "p", "response": "<think>a"}, "never_closed"),
        ({"prompt": "p", "response": "a</think>b<think>c"}, "never_closed"),
        ({"prompt": "p", "response": "<think></think>b"}, "empty_region"),
        ({"prompt": "p", "response": "<think>\n\u00a0\n</think>b"}, "empty_region"),
        ({"prompt": "p", "response": "<think>a</think> \n"}, "no_answer"),
        ({"prompt": ["p"], "response": "<think>a</think>b"}, "not_text"),
        ({"prompt": True, "response": "<think>a</think>b"}, "not_text"),
        ({"prompt": "p", "response": ["<think>a</think>b"]}, "not_text"),
        ({"prompt": "p", "response": {"text": "<think>a</think>b"}}, "not_text"),
        ({"prompt": "p\ud800", "response": "<think>a</think>b"}, "lone_surrogate"),
    ],
)
def test_glaive_drops(row, reason):
    assert parse(GLAIVE, row) == Malformed(reason)


@pytest.mark.parametrize(
    ("response", "found"),
    [
        ("<think>a</think>b", example()),
        ("pre\n<think>a</think>b", example(notes=("text_before_region",))),
        (
            "<think>a</think>b <think>c</think> d",
            example(answer="b <think>c</think> d", notes=("several_regions", "stray_closing_tag")),
        ),
        ("<think>a<think>c</think>b", example(("a<think>c",), notes=("several_regions",))),
        ("<think>a</think>b</think>c", example(answer="b</think>c", notes=("stray_closing_tag",))),
        (FENCED, example(("a ```xml x",), "``` b", ("tag_in_code_fence",))),
        (
            "~~~\n<think>a</think>\n~~~",
            example(answer="~~~", notes=FENCE_BEFORE),
        ),
        ("```\n<think>a\n```\n</think>b", example(("a ```",), notes=FENCE_BEFORE)),
        ("<think>a\n```\nx\n```\n</think>b", example(("a ``` x ```",))),
        ("<think>a `</think>` b", example(("a `",), "` b")),
    ],
)
def test_glaive_keeps_with_notes(response, found):
    assert glaive(response) == found


@pytest.mark.parametrize("number", [0, 5, -1.5])
def test_a_number_is_its_text(number):
    assert glaive("<think>a</think>b", prompt=number).problem == str(number)
    found = columns("untagged_columns", "a", number)
    assert found == example(answer=str(number))


def test_notes_can_drop():
    response = "pre <think>a</think>b <think>c"
    assert glaive(response).notes == ("text_before_region", "several_regions")
    assert glaive(response, drop=("several_regions",)) == Malformed("several_regions")
    assert glaive(response, drop=("stray_closing_tag",)) == glaive(response)
    assert glaive("<think>a</think>", drop=NOTES) == Malformed("no_answer")


@pytest.mark.parametrize(
    ("responses", "found"),
    [
        (["<think>a</think>b"], example()),
        ([], Malformed("no_response")),
        ([None], Malformed("no_response")),
        ([""], Malformed("no_response")),
        (None, Malformed("no_response")),
        (["<think>a</think>b", "<think>c</think>d"], Malformed("several_responses")),
        ([["<think>a</think>b"]], Malformed("not_text")),
        ("<think>a</think>b", Malformed("not_text")),
        (["<think>a"], Malformed("never_closed")),
    ],
)
def test_response_list(responses, found):
    assert parse(ParserSpec("response_list"), {"prompt": "p", "response": responses}) == found


@pytest.mark.parametrize(
    ("response", "found"),
    [
        ("a</think>b", example()),
        ("\n<think>\na</think>\n\nb", example()),
        ("a <think> c</think>b", example(("a <think> c",), notes=("several_regions",))),
        ("a</think>b</think>", example(answer="b</think>", notes=("stray_closing_tag",))),
        ("a\n```\n</think>b", example(("a ```",), notes=("tag_in_code_fence",))),
        ("a", Malformed("never_closed")),
        ("<think>a", Malformed("never_closed")),
        ("<think></think>b", Malformed("empty_region")),
        ("</think>b", Malformed("empty_region")),
        ("a</think>", Malformed("no_answer")),
        (" ", Malformed("no_response")),
    ],
)
def test_closing_tag(response, found):
    assert parse(ParserSpec("closing_tag"), {"prompt": "p", "response": response}) == found


@pytest.mark.parametrize(
    ("reasoning", "found"),
    [
        ("<think>a</think>", example()),
        ("<think>a</think>\n", example()),
        ("<think>a</think> c", example(notes=("text_after_region",))),
        ("c <think>a</think>", example(notes=("text_before_region",))),
        ("a", Malformed("no_region")),
        (None, Malformed("no_region")),
        ("<think>a", Malformed("never_closed")),
        ("<think> </think>", Malformed("empty_region")),
    ],
)
def test_tagged_columns(reasoning, found):
    assert columns("tagged_columns", reasoning) == found


@pytest.mark.parametrize(
    ("reasoning", "found"),
    [
        ("a", example()),
        ("a\n\nc", example(("a", "c"))),
        ("a <think> c", example(("a <think> c",), notes=("unexpected_tag",))),
        ("a</think>", example(("a</think>",), notes=("unexpected_tag",))),
        (" ", Malformed("no_region")),
        (None, Malformed("no_region")),
    ],
)
def test_untagged_columns(reasoning, found):
    assert columns("untagged_columns", reasoning) == found


@pytest.mark.parametrize("name", ["tagged_columns", "untagged_columns"])
@pytest.mark.parametrize(
    ("answer", "reason"), [(None, "no_answer"), ("", "no_answer"), ({}, "not_text")]
)
def test_columns_without_an_answer(name, answer, reason):
    assert columns(name, "<think>a</think>", answer) == Malformed(reason)


PIECES = st.sampled_from(["<think>", "</think>", "a", "b", " ", "\n\n", "```\n", "\n~~~", "\u00a0"])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_glaive_is_its_regular_expression(response):
    match = re.search(r"<think>(.*?)</think>\s*", response, re.DOTALL)
    think, answer = (match[1], response[match.end() :]) if match else ("", "")
    found = glaive(response)
    if think.strip() and answer.strip():
        assert " ".join(found.thoughts) == squeeze(think)
        assert found.answer == squeeze(answer)
    else:
        assert isinstance(found, Malformed)


VALUES = st.none() | st.booleans() | st.floats() | st.lists(PIECES, max_size=6).map("".join)


@given(st.sampled_from(PARSERS), VALUES | st.lists(VALUES, max_size=2), VALUES, VALUES)
def test_every_row_is_an_example_or_has_a_reason(name, response, reasoning, answer):
    row = {"prompt": "p", "response": response, "reasoning": reasoning, "answer": answer}
    found = parse(ParserSpec(name), row)
    if isinstance(found, Malformed):
        assert found.reason in REASONS
    else:
        assert all(text and squeeze(text) == text for text in found.texts())
        assert set(found.notes) <= set(NOTES)
        assert Example.from_json(found.to_json()).texts() == found.texts()


def test_time_is_linear_where_regions_are_never_closed():
    start = time.process_time()
    assert glaive("<think>" * 1_000_000) == Malformed("never_closed")
    assert time.process_time() - start < 1


def test_columns_by_other_names():
    spec = ParserSpec("tagged_columns", (("prompt", "question"), ("reasoning", "cot")))
    assert spec.column_of() == {"prompt": "question", "reasoning": "cot", "answer": "answer"}
    row = {"question": "p", "cot": "<think>a</think>", "answer": "b", "prompt": "not this"}
    assert parse(spec, row) == example()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("glaiv",), "parser: no parser 'glaiv': choose glaive, response_list, closing_tag"),
        (("glaive", (("answer", "x"),)), "no field 'answer': its fields are prompt, response"),
        (("glaive", (("prompt", "x"), ("prompt", "y"))), "a field has two columns"),
        (("glaive", (), ("no_answer",)), "drop: nothing is kept as 'no_answer': choose among"),
    ],
)
def test_specs_that_make_no_sense(arguments, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        ParserSpec(*arguments)
