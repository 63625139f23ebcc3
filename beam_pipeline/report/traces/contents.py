"""What a report of traces tells, as plain data."""

from typing import Any, NamedTuple

from transforms.statistics import Counts
from transforms.traces.geometry import Layout
from transforms.traces.split_examples import SPLITS, TRAIN
from transforms.traces.statistics import LayoutStatistics


class Words(NamedTuple):
    """Text of a window.

    Attributes:
      is_special: it is the name of a special token, with how often it stands there.
    """

    text: str
    is_special: bool


class Stretch(NamedTuple):
    """A part of a window: the prompt, a block of a thought (of flat, a thought), or the answer.

    Attributes:
      region: of it.
      tokens: what is in it, its special tokens included.
      filler: tokens that fill it up: fill of a thought, else padding.
      words: in order.
    """

    region: str
    tokens: int
    filler: int
    words: tuple[Words, ...]


class TraceWindow(NamedTuple):
    """A window of train: what its stretches hold makes all of it.

    Attributes:
      number: in its folder.
    """

    number: int
    stretches: tuple[Stretch, ...]


class TracesReport(NamedTuple):
    """All that a page shows.

    Attributes:
      manifest: of the whole.
      lengths: histograms of the examples of both splits, by name.
      layouts: what windows are filled with, by folder.
      windows: some of train, by layout.
      rejects: some rows that gave no example, by ledger outcome.
    """

    manifest: dict[str, Any]
    lengths: dict[str, Counts]
    layouts: dict[str, LayoutStatistics]
    windows: dict[Layout, tuple[TraceWindow, ...]]
    rejects: dict[str, tuple[str, ...]]

    def folders(self) -> list[str]:
        """The folders of shards, those of train first."""
        return sorted(self.layouts, key=lambda folder: not folder.startswith(SPLITS[TRAIN]))
