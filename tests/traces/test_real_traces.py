"""Every file of real traces, with the parser that fits it and the bytes of its texts as ids."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest

from tests.shared import SHARED, needs_shared
from transforms.documents import TextBatch
from transforms.traces.example import Example
from transforms.traces.geometry import LAYOUTS, Geometry
from transforms.traces.layouts import KEPT, ExampleIds, encode
from transforms.traces.parsers import ParserSpec, parse
from transforms.traces.readback import texts
from transforms.traces.special_tokens import SpecialTokens

GEOMETRY = Geometry(seq_len=16384, max_slots=256)
SPECIAL = SpecialTokens(*range(256, 265), sizes=(265, 266))

FITTING = {
    "financial_cot": ParserSpec("tagged_columns", (("prompt", "question"), ("reasoning", "cot"))),
    "math500_traces": ParserSpec(
        "closing_tag", (("prompt", "problem"), ("response", "full_response"))
    ),
    "reasoning_gym_rl_traces": ParserSpec(
        "glaive", (("prompt", "question"), ("response", "full_model_response"))
    ),
    "rg_math_eval_traces": ParserSpec(
        "response_list", (("prompt", "question"), ("response", "code"))
    ),
}
COUNTS = {
    "financial_cot": {"kept": 1106},
    "math500_traces": {"kept": 69, "never_closed": 1},
    "reasoning_gym_rl_traces": {
        "kept": 1240,
        "no_region": 150,
        "never_closed": 99,
        "no_answer": 2,
        "text_before_region": 24,
        "several_regions": 199,
        "stray_closing_tag": 199,
        "tag_in_code_fence": 2,
    },
    "rg_math_eval_traces": {"kept": 750, "no_region": 2, "never_closed": 8},
}

pytestmark = needs_shared


def read_rows(name):
    raw = gzip.decompress((SHARED / "data" / "reasoning" / f"{name}.jsonl.gz").read_bytes())
    return [json.loads(line) for line in raw.split(b"\n") if line]


def parse_all(name, spec):
    return [parse(spec, row) for row in read_rows(name)]


@pytest.mark.parametrize("name", FITTING)
def test_counts_by_reason(name):
    counts = Counter()
    for found in parse_all(name, FITTING[name]):
        if isinstance(found, Example):
            counts.update(["kept", *found.notes])
        else:
            counts[found.reason] += 1
    assert dict(counts) == COUNTS[name]


def test_a_trace_is_the_same_from_its_own_column():
    spec = ParserSpec(
        "untagged_columns",
        (("prompt", "problem"), ("reasoning", "reasoning_trace"), ("answer", "answer_text")),
    )
    tagged = parse_all("math500_traces", FITTING["math500_traces"])
    untagged = parse_all("math500_traces", spec)
    assert [getattr(e, "thoughts", None) for e in tagged] == [
        getattr(e, "thoughts", None) for e in untagged
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FITTING)
def test_texts_are_read_back_whole(name, layout):
    examples = [e for e in parse_all(name, FITTING[name]) if isinstance(e, Example)]
    batch = TextBatch.from_strings(text for e in examples for text in e.texts())
    offsets = np.cumsum([0, *(len(e.texts()) for e in examples)], dtype=np.int64)
    ids = ExampleIds(batch.data.astype(np.uint16), batch.offsets, offsets)
    windows = encode(layout, ids, GEOMETRY, SPECIAL)
    kept = np.flatnonzero(windows.outcomes == KEPT)
    assert len(kept) > 0.45 * len(examples)
    for place, tokens, regions in zip(kept, windows.tokens, windows.regions, strict=True):
        problem, thoughts, answer = texts(tokens, regions, SPECIAL)
        decoded = [
            part.astype(np.uint8).tobytes().decode() for part in (problem, *thoughts, answer)
        ]
        assert tuple(decoded) == examples[place].texts()
