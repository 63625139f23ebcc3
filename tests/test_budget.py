from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms import budget, pick_order, records
from transforms.budget import BudgetSettings, Cut, Share
from transforms.errors import CorpusError
from transforms.tokenize import TRAIN, VAL, group_key

SETTINGS = BudgetSettings(
    sources=("a", "b", "c"),
    weights=(0.5, 0.3, 0.2),
    seed=1,
    seq_len=32,
    train_tokens=1000,
    val_tokens=100,
    when_short="shortfall",
    max_epochs=4,
)
PLENTY = {0: 5000, 1: 5000, 2: 5000}


def share_out(available, **changes):
    return budget.share_out(replace(SETTINGS, **changes), TRAIN, available)


def test_with_plenty_everybody_gets_its_weight():
    for policy in ("shortfall", "redistribute", "repeat", "fail"):
        shares = share_out(PLENTY, when_short=policy)
        assert [shares[k].granted for k in range(3)] == [500, 300, 200]
        assert [shares[k].epochs for k in range(3)] == [0, 0, 0]
        assert [shares[k].rest for k in range(3)] == [500, 300, 200]


def test_shortfall_takes_what_there_is():
    assert share_out({0: 5000, 1: 100, 2: 0}) == {
        0: Share(500, 500, 0, 500),
        1: Share(300, 300, 1, 0),
        2: Share(200, 200, 0, 0),
    }


def test_redistribute_gives_the_rest_to_the_others_by_weight():
    shares = share_out({0: 5000, 1: 100, 2: 5000}, when_short="redistribute")
    assert [shares[k].granted for k in range(3)] == [643, 100, 257]
    assert shares[1] == Share(300, 100, 1, 0)


def test_redistribute_goes_on_when_a_second_source_runs_dry():
    shares = share_out({0: 5000, 1: 100, 2: 210}, when_short="redistribute")
    assert [shares[k].granted for k in range(3)] == [690, 100, 210]


def test_repeat_adds_whole_epochs_and_then_a_part():
    assert share_out({0: 5000, 1: 125, 2: 30}, when_short="repeat") == {
        0: Share(500, 500, 0, 500),
        1: Share(300, 300, 2, 50),
        2: Share(200, 200, 4, 0),
    }


def test_fail_names_the_source_and_what_it_has():
    with pytest.raises(CorpusError, match=r"b has 125 tokens of the 300"):
        share_out({0: 5000, 1: 125, 2: 5000}, when_short="fail")


def test_validation_is_never_repeated_and_never_fails():
    for policy in ("repeat", "fail", "redistribute"):
        settings = replace(SETTINGS, when_short=policy)
        shares = budget.share_out(settings, VAL, {0: 10, 1: 500, 2: 0})
        assert shares[0] == Share(50, 50, 1, 0)
        assert shares[1] == Share(30, 30, 0, 30)


@given(
    available=st.lists(st.integers(0, 3000), min_size=3, max_size=3),
    tokens=st.integers(0, 4000),
)
def test_redistribute_spends_all_there_is_up_to_the_budget(available, tokens):
    settings = replace(SETTINGS, when_short="redistribute", train_tokens=tokens)
    shares = budget.share_out(settings, TRAIN, dict(enumerate(available)))
    can_spend = sum(min(shares[k].granted, available[k]) for k in range(3))
    # Rounding each target separately may miss the whole by a token a source.
    assert abs(can_spend - min(tokens, sum(available))) <= 2


def documents(count, seed=0):
    generator = np.random.default_rng(seed)
    found = np.zeros(count, records.DOCUMENT)
    found["text_hi"], found["text_lo"] = generator.integers(0, 1 << 63, (2, count))
    found["ids"] = generator.integers(1, 300, count)
    return found


def take_in_order(found, key, epoch, rest):
    """The obvious way: sort everything, take until the sum reaches the target."""
    picks = budget.pick_keys(found, SETTINGS, key, epoch)
    cost = budget.costs(found, SETTINGS.seq_len)
    taken, total = set(), 0
    for k in np.lexsort([picks[:, 1], picks[:, 0]]).tolist():
        if total >= rest:
            break
        taken.add(k)
        total += int(cost[k])
    return taken


@given(
    count=st.integers(1, 200),
    share=st.floats(0.001, 0.999),
    pieces=st.integers(1, 5),
    epoch=st.integers(0, 2),
)
def test_the_histogram_finds_the_cut_that_sorting_finds(count, share, pieces, epoch):
    key = group_key(TRAIN, 1)
    found = documents(count, seed=count)
    cost = budget.costs(found, SETTINGS.seq_len)
    rest = max(1, int(cost.sum() * share))
    histograms = []
    for part in np.array_split(found, pieces):
        picks = budget.pick_keys(part, SETTINGS, key, epoch)
        histograms.append(pick_order.histogram(picks, budget.costs(part, SETTINGS.seq_len)))
    cut_range, before = pick_order.range_of_cut(pick_order.add_histograms(histograms), rest)
    picks = budget.pick_keys(found, SETTINGS, key, epoch)
    inside = (picks[:, 0] >> np.uint64(48)) == np.uint64(cut_range)
    last = pick_order.last_taken(picks[inside], cost[inside], rest - before)
    chosen, used = budget.choose(found, SETTINGS, key, Cut(epoch, *last, True))
    expected = take_in_order(found, key, epoch, rest)
    assert set(np.flatnonzero(pick_order.taken(picks, *last))) == expected
    assert len(chosen) == epoch * count + len(expected)
    assert used.all() if epoch else used.sum() == len(expected)


def test_adding_histograms_in_any_grouping_is_the_same():
    key = group_key(TRAIN, 0)
    parts = []
    for seed in range(4):
        found = documents(50, seed)
        picks = budget.pick_keys(found, SETTINGS, key, 0)
        parts.append(pick_order.histogram(picks, budget.costs(found, SETTINGS.seq_len)))
    at_once = pick_order.add_histograms(parts)
    by_pairs = pick_order.add_histograms(
        [pick_order.add_histograms(parts[2:]), pick_order.add_histograms(parts[:2])]
    )
    assert at_once == by_pairs


def test_epochs_of_a_document_lie_in_different_places():
    found = documents(20)
    chosen, _ = budget.choose(found, SETTINGS, group_key(TRAIN, 0), Cut(3, 0, 0, False))
    assert len(np.unique(chosen["shuffle_hi"])) == 60
