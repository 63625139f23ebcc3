import json

import numpy as np
import pytest

from transforms.statistics import ANSWER_TOKENS, PROBLEM_TOKENS, THOUGHT_TOKENS, THOUGHTS
from transforms.traces.encode_examples import LENGTH, lengths_by_part
from transforms.traces.statistics import LayoutStatistics


def counted(blocks_per_example, blocks=(0, 0)):
    regions = np.zeros((len(blocks_per_example), 8), np.uint8)
    regions[:, 2:6] = 2
    return LayoutStatistics.count(
        (64, 256), np.array(blocks), np.array(blocks_per_example, int), regions, 3
    )


def test_summary():
    summary = (counted([1, 3, 3], (4, 3)) + counted([10], (8, 2))).summary()
    assert summary == {
        "examples": 4,
        "tokens_by_region": {"padding": 16, "prompt": 0, "thought": 16, "answer": 0},
        "padding_fraction": 0.5,
        "fill_tokens": 6,
        "fill_fraction_of_thought": 0.375,
        "block_counts": {"64": 12, "256": 5},
        "block_fractions": {"64": 12 / 17, "256": 5 / 17},
        "blocks_per_example": {"p50": 3, "p90": 10, "max": 10},
    }
    assert json.loads(json.dumps(summary)) == summary


def test_of_nothing():
    assert LayoutStatistics() + counted([2]) == counted([2]) == counted([2]) + LayoutStatistics()
    assert LayoutStatistics().blocks_quantile(0.5) == 0
    summary = counted([]).summary()
    assert summary["block_fractions"] == {"64": 0.0, "256": 0.0}
    assert summary["blocks_per_example"] == {"p50": 0, "p90": 0, "max": 0}


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 100])
def test_quantiles_take_the_rank_of_the_specification(n):
    blocks = np.random.default_rng(n).integers(0, 30, n)
    found = counted(blocks)
    for fraction in (0.5, 0.9):
        assert found.blocks_quantile(fraction) == sorted(blocks)[min(n - 1, int(n * fraction))]


def test_lengths_are_told_apart_by_what_the_texts_are():
    lengths = np.array([3, 10, 20, 5, 4, 30, 6], LENGTH)
    found = lengths_by_part(lengths, np.array([4, 3], "<u4"))
    assert {name: values.tolist() for name, values in found.items()} == {
        PROBLEM_TOKENS: [3, 4],
        THOUGHT_TOKENS: [10, 20, 30],
        ANSWER_TOKENS: [5, 6],
        THOUGHTS: [2, 1],
    }
