import math
from collections import Counter

import numpy as np
import pytest

from beam_pipeline.estimate import JobShape, Range, estimate, ratio
from beam_pipeline.sample_job import PartResult, SourceResult
from transforms.budget import BudgetSettings


def test_what_was_read_whole_is_exact():
    assert ratio([3, 5], [1.5, 2.5], 4) == Range(8, 8, 8)


def test_one_part_does_not_tell_how_far_off_it_is():
    assert ratio([10], [1], 4) == Range(0, 40, math.inf)


def test_nothing_is_nothing():
    assert ratio([], [], 0) == Range(0, 0, 0)


def test_the_range_holds_the_truth_nineteen_times_of_twenty():
    generator = np.random.default_rng(3)
    units = generator.uniform(0.5, 2, 400)
    values = units * generator.normal(10, 2, 400)
    hits = 0
    for _ in range(300):
        chosen = generator.choice(400, 16, replace=False)
        found = ratio(values[chosen], units[chosen], units.sum())
        hits += found.low <= values.sum() <= found.high
    # With 16 parts the normal distribution is a little too sure of itself.
    assert 0.88 <= hits / 300 <= 0.99


def budget(**changes):
    values = {
        "sources": ("web", "code"),
        "weights": (0.6, 0.4),
        "seed": 1,
        "seq_len": 64,
        "train_tokens": 1000,
        "val_tokens": 100,
        "when_short": "shortfall",
        "max_epochs": 4,
    }
    return BudgetSettings(**(values | changes))


def source(tokens, total=1.0):
    """Of documents of one token each."""
    part = PartResult(1.0, 1000, Counter({"read": tokens}), [tokens, 10], [tokens, 10])
    return SourceResult([part], total, total == 1.0)


def estimated(settings, *sources):
    shape = JobShape(settings, 400, [0.0] * len(sources), 2, 128, 2)
    return estimate(sources, shape)


def test_a_budget_that_can_be_met_is_met():
    found = estimated(budget(), source(900), source(900))
    assert found.met == "yes"
    # The documents that cross the targets are in.
    assert [one.expected for one in found.sources] == [600.5, 400.5]
    assert found.train_shards == 3
    assert [one.epochs for one in found.sources] == [600.5 / 900, 400.5 / 900]


def test_a_source_that_is_short_is_named_with_what_it_has():
    found = estimated(budget(), source(900), source(300))
    assert found.met == "no"
    assert [one.met for one in found.sources] == ["yes", "no"]
    assert [one.expected for one in found.sources] == [600.5, 300]


@pytest.mark.parametrize(
    ("policy", "tokens", "met"),
    [
        ("shortfall", 900.5, "no"),
        ("fail", 900.5, "no"),
        ("redistribute", 1000.5, "no"),
        ("repeat", 1001, "yes"),
    ],
)
def test_policies_for_a_short_source(policy, tokens, met):
    found = estimated(budget(when_short=policy), source(900), source(300))
    assert found.train_tokens == tokens
    assert found.met == met


def test_a_share_that_near_duplicates_may_take_is_in_doubt():
    assert estimated(budget(), source(900), source(410)).met == "perhaps"


def test_a_source_of_unknown_size_leaves_the_rest_unknown():
    found = estimated(budget(), source(900), source(300, total=None))
    assert found.met == "unknown"
    assert found.sources[1].documents is None
    assert found.resources.seconds is None
    assert found.resources.memory_mb is None
    # It is taken to give its share.
    assert found.sources[1].expected == 400


def test_a_source_of_weight_0_has_no_budget_to_meet():
    found = estimated(budget(weights=(1.0, 0.0)), source(1100), source(0))
    assert found.met == "yes"
    assert found.sources[1].expected == 0


def test_more_text_takes_more_of_everything():
    small, large = (
        estimated(budget(), source(900, total), source(900, total)).resources
        for total in (1_000.0, 20_000_000.0)
    )
    assert large.seconds.expected >= small.seconds.expected
    assert large.memory_mb > small.memory_mb
    assert large.work_mb > small.work_mb
    assert large.dataflow_usd.expected > small.dataflow_usd.expected
