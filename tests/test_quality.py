import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import text as reference
from tests.shared import SHARED, needs_shared
from transforms.documents import TextBatch
from transforms.errors import RecipeError
from transforms.kernels.measures import MEASURES, measure
from transforms.quality import DOMAINS, filter_config_hash, judge, rules_for

VECTORS = Path(__file__).parent / "vectors" / "filters.jsonl.gz"


def records(*rows: dict[str, int]) -> np.ndarray:
    measures = np.zeros(len(rows), MEASURES)
    for record, row in zip(measures, rows, strict=True):
        for name, value in row.items():
            record[name] = value
    return measures


def kept(texts: list[str], domain: str) -> list[bool]:
    return (judge(measure(TextBatch.from_strings(texts)), rules_for(domain, {})) == 0).tolist()


@pytest.mark.parametrize("domain", DOMAINS)
def test_vectors(domain):
    with gzip.open(VECTORS) as file:
        rows = [json.loads(line) for line in file]
    expected = [row["keep_nonblank"][domain] for row in rows]
    texts = [row["text"] for row in rows]
    assert kept(texts, domain) == expected
    assert [reference.keep(text, domain) for text in texts] == expected
    assert set(expected) == {True, False}


def test_vector_statistics():
    with gzip.open(VECTORS) as file:
        rows = [json.loads(line) for line in file]
    for m, row in zip(
        measure(TextBatch.from_strings([r["text"] for r in rows])), rows, strict=True
    ):
        characters, words = max(m["characters"], 1), max(m["words"], 1)
        assert row["stats"] | {"dup_line_frac": None} == {
            "n_words": words,
            "alpha_frac": m["letters"] / characters,
            "digit_frac": m["digits"] / characters,
            "mean_word_len": m["word_characters"] / words,
            "dup_line_frac": None,
            "dup_line_frac_nonblank": 1 - m["distinct_lines"] / m["lines"] if m["lines"] else 0.0,
        }


@needs_shared
@pytest.mark.parametrize("source", DOMAINS)
def test_real_texts(source):
    column = "content" if source == "code" else "text"
    with gzip.open(SHARED / "data" / "bench" / f"{source}.jsonl.gz") as file:
        texts = [json.loads(line)[column] for line in file][::4]
    for domain in DOMAINS:
        assert kept(texts, domain) == [reference.keep(text, domain) for text in texts]


@given(
    st.lists(
        st.builds(
            lambda words, blank: blank.join(words),
            st.lists(st.sampled_from(["word", "a", "7", "=", "\\frac", "é", "0123"]), max_size=120),
            st.sampled_from([" ", "\n", "\n\n", "\u2028"]),
        ),
        max_size=5,
    )
)
def test_any_texts_near_the_thresholds(texts):
    for domain in DOMAINS:
        assert kept(texts, domain) == [reference.keep(text, domain) for text in texts]


PROSE = {
    "characters": 1000,
    "words": 100,
    "word_characters": 500,
    "letters": 800,
    "lines": 10,
    "distinct_lines": 10,
}
CODE = {"characters": 1000, "head_characters": 1000, "head_top": 100}
MATH = {"characters": 1000, "words": 100, "digits": 100, "markers": 5}


@pytest.mark.parametrize(
    ("domain", "good", "at_threshold", "beyond", "reason"),
    [
        ("web", PROSE, {"words": 50, "word_characters": 250}, {"words": 49}, "too_few_words"),
        (
            "web",
            PROSE,
            {"words": 100_000, "word_characters": 500_000},
            {"words": 100_001},
            "too_many_words",
        ),
        ("web", PROSE, {"word_characters": 300}, {"word_characters": 299}, "mean_word_too_short"),
        ("web", PROSE, {"word_characters": 1000}, {"word_characters": 1001}, "mean_word_too_long"),
        ("web", PROSE, {"letters": 600}, {"letters": 599}, "too_few_letters"),
        ("web", PROSE, {"digits": 200}, {"digits": 201}, "too_many_digits"),
        ("web", PROSE, {"distinct_lines": 8}, {"distinct_lines": 6}, "duplicate_lines"),
        ("synthetic", PROSE, {"digits": 200}, {"digits": 201}, "too_many_digits"),
        ("code", CODE, {"characters": 20}, {"characters": 19}, "too_short"),
        ("code", CODE, {"characters": 200_000}, {"characters": 200_001}, "too_long"),
        ("code", CODE, {"head_top": 300}, {"head_top": 301}, "repeated_character"),
        ("math", MATH, {"words": 20}, {"words": 19}, "too_few_words"),
        ("math", MATH, {"digits": 30, "markers": 0}, {"digits": 29, "markers": 2}, "not_math"),
        ("math", MATH, {"digits": 0, "markers": 3}, {"digits": 0, "markers": 2}, "not_math"),
    ],
)
def test_each_reason(domain, good, at_threshold, beyond, reason):
    rules = rules_for(domain, {})
    verdicts = judge(records(good, good | at_threshold, good | at_threshold | beyond), rules)
    assert verdicts.dtype == np.int8
    assert verdicts.tolist() == [0, 0, 1 + rules.REASONS.index(reason)]


def test_three_duplicates_in_ten_lines_are_too_many():
    """1 - 7/10 is 0.30000000000000004 in floating point, and the vectors were made so."""
    assert judge(records(PROSE | {"distinct_lines": 7}), rules_for("web", {})).tolist() == [7]
    assert 1 - 7 / 10 > 0.30


def test_first_reason_that_applies_is_given():
    rules = rules_for("web", {})
    everything_wrong = {"characters": 100, "words": 1, "word_characters": 99, "digits": 99}
    assert judge(records(everything_wrong), rules).tolist() == [1]
    assert rules.REASONS[0] == "too_few_words"


def test_no_texts():
    assert judge(records(), rules_for("code", {})).tolist() == []


def test_override_changes_the_verdict_and_nothing_else():
    strict = rules_for("web", {"min_words": 101})
    assert judge(records(PROSE), strict).tolist() == [1]
    assert rules_for("web", {"min_words": 50}) == rules_for("web", {})


@pytest.mark.parametrize(
    ("domain", "overrides", "message"),
    [
        ("unknown", {}, "'unknown'.* web, synthetic, code, math"),
        ("math", {"min_word": 5}, "'min_word'.* min_words, min_digit_fraction, min_markers"),
        ("code", {"min_words": 5}, "'min_words'.* min_characters"),
        ("web", {"min_words": -1}, "min_words is -1"),
        ("web", {"min_words": 1.5}, "whole number"),
        ("web", {"min_words": True}, "min_words is True"),
        ("web", {"min_words": "5"}, "min_words is '5'"),
        ("web", {"max_words": float("inf")}, "max_words is inf"),
        ("web", {"max_words": 10**400}, "max_words is 1000"),
        ("web", {"max_mean_word_length": float("nan")}, "max_mean_word_length is nan"),
        ("web", {"max_digit_fraction": 20}, "from 0 to 1"),
        ("web", {"min_words": 200_000}, r"min_words \(200000\) is above max_words \(100000\)"),
    ],
)
def test_mistaken_thresholds(domain, overrides, message):
    with pytest.raises(RecipeError, match=message) as error:
        rules_for(domain, overrides)
    assert "\n" not in str(error.value)


def test_rules_travel_to_workers():
    for domain in DOMAINS:
        rules = rules_for(domain, {})
        assert pickle.loads(pickle.dumps(rules)) == rules


def test_config_hash_is_stable():
    """A change here changes every manifest: raise RULES_VERSION if a rule changed its meaning."""
    rules = {"a": rules_for("web", {}), "b": rules_for("code", {})}
    assert filter_config_hash(rules) == "80c4d8235494def3"
    assert filter_config_hash(dict(reversed(rules.items()))) == filter_config_hash(rules)
    whole_as_float = {**rules, "a": rules_for("web", {"max_words": 1e5, "max_digit_fraction": 0.2})}
    assert filter_config_hash(whole_as_float) == filter_config_hash(rules)


def test_config_hash_differs_with_rules_and_version(monkeypatch):
    configs = [
        {"a": rules_for("web", {})},
        {"a": rules_for("code", {})},
        {"b": rules_for("web", {})},
        {"a": rules_for("web", {"min_words": 51})},
    ]
    hashes = {filter_config_hash(config) for config in configs}
    monkeypatch.setattr("transforms.quality.RULES_VERSION", 2)
    assert len(hashes | {filter_config_hash(configs[0])}) == 5
