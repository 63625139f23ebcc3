import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms import ledger, statistics

SIZES = st.lists(st.integers(0, 1 << 40), max_size=30)
SHARES = st.lists(st.floats(0, 1), max_size=30)


@given(SIZES, SIZES)
def test_histograms_of_parts_add_up_to_that_of_the_whole(some, others):
    whole, *parts = (
        statistics.histogram("words", np.array(values, np.int64))
        for values in (some + others, some, others)
    )
    assert ledger.add(parts) == whole
    assert sum(whole) == len(some) + len(others)


@given(SHARES)
def test_a_value_is_in_the_bin_whose_edges_hold_it(values):
    edges = [*statistics.edges("digit_fraction"), float("inf")]
    counts = statistics.histogram("digit_fraction", np.array(values, float))
    for k, count in enumerate(counts):
        assert count == sum(edges[k] <= value < edges[k + 1] for value in values)


@pytest.mark.parametrize("name", ["words", "letter_fraction", "mean_word_length"])
def test_edges_begin_at_0_and_ascend(name):
    edges = np.array(statistics.edges(name))
    assert edges[0] == 0
    assert (np.diff(edges) > 0).all()


def test_the_thresholds_of_prose_cut_no_bar():
    assert {0.6, 0.2, 0.3} <= set(statistics.edges("letter_fraction"))
    assert {3.0, 10.0} <= set(statistics.edges("mean_word_length"))


def test_statistics_travel_with_the_account_and_part_again():
    account = [ledger.entry("web", ledger.READ, 3, 10)]
    told = [
        statistics.entry("web", "words", (1, 2)),
        statistics.entry("books", "words", (0, 1)),
    ]
    assert statistics.apart([told[0], *account, told[1]]) == (
        account,
        {"web": {"words": (1, 2)}, "books": {"words": (0, 1)}},
    )
