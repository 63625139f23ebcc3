"""Statistics for people: histograms over fixed edges, which add up the same in any order.

They travel as entries of the ledger do, so that no further shuffle is needed: a name in place of
an outcome, and counts in place of (documents, bytes).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from transforms import ledger

PREFIX = "statistic:"

CHARACTERS = "characters"
TOKENS = "tokens"
COPIES = "copies"
CLUSTER_TEXTS = "cluster_texts"

# Of the traces job, of the examples of both splits.
PROBLEM_TOKENS = "problem_tokens"
THOUGHT_TOKENS = "thought_tokens"
ANSWER_TOKENS = "answer_tokens"
THOUGHTS = "thoughts"

# Half octaves: 0, 1, 2, 3, 4, 6, 8, 12, 16, 23, ...
_SIZES = tuple(sorted({0, 1, *(int(np.ceil(2 ** (k / 2))) for k in range(62))}))
_SHARES = tuple(k / 50 for k in range(50))
_WORD_LENGTHS = tuple(k / 4 for k in range(80))

Counts = tuple[int, ...]
Statistics = dict[str, dict[str, Counts]]
"""Counts by source, then by name."""


class Spending(NamedTuple):
    """What encoding made of the documents of a source: sums."""

    tokens: int
    bytes: int


SPENDING = "spending"


def edges(name: str) -> tuple[float, ...]:
    """Lower edges of the bins of a statistic, ascending from 0; the last bin has no upper one.

    Args:
      name: shares (`..._fraction`) have bins of 0.02, the mean word length of 0.25, all else half
        octaves.
    """
    if name.endswith("_fraction"):
        return _SHARES
    return _WORD_LENGTHS if name == "mean_word_length" else _SIZES


def histogram(name: str, values: np.ndarray) -> Counts:
    """Counts values, none of them negative, by bin.

    Args:
      name: of the statistic.
      values: integers or floats [n].
    """
    bins = edges(name)
    places = np.searchsorted(bins, values, side="right") - 1
    return tuple(np.bincount(places, minlength=len(bins)).tolist())


def entry(source: str, name: str, counts: Counts) -> ledger.Entry:
    """A statistic of a source, or of a part of it, as it travels."""
    return (source, PREFIX + name), tuple(counts)


def apart(entries: Iterable[ledger.Entry]) -> tuple[list[ledger.Entry], Statistics]:
    """The entries of the account, and the statistics that travelled with them."""
    account: list[ledger.Entry] = []
    found: Statistics = {}
    for (source, name), counts in entries:
        if name.startswith(PREFIX):
            found.setdefault(source, {})[name.removeprefix(PREFIX)] = counts
        else:
            account.append(((source, name), counts))
    return account, found
