"""What a report tells, as plain data."""

from typing import Any, NamedTuple

from transforms.statistics import Statistics

Bounds = dict[str, tuple[float | None, float | None]]

MOST_SOURCES = 40
"""So many sources are shown one by one; a page of thousands would not open."""


class Excerpt(NamedTuple):
    """The first lines of a document of a cluster.

    Attributes:
      source: its name.
      text: None where the text was not read again.
      agree: share of its signature that is that of the document kept.
    """

    source: str
    text: str | None
    agree: float


class Shown(NamedTuple):
    """A cluster of near duplicates, or a text and its exact copies.

    Attributes:
      texts: how many different texts are in it.
      documents: how many there are with all exact copies.
      excerpts: of some of its texts; that of the preferred one comes first.
    """

    texts: int
    documents: int
    excerpts: tuple[Excerpt, ...]


class Passage(NamedTuple):
    """A document's part of a window.

    Attributes:
      source: its name.
      tokens: how many of the window's tokens are its own.
      starts, ends: its beginning, its end is in the window.
      text: its first characters.
      left_out: characters of the part that `text` lacks.
    """

    source: str
    tokens: int
    starts: bool
    ends: bool
    text: str
    left_out: int


class Window(NamedTuple):
    """A window of the train split.

    Attributes:
      number: in the split.
      passages: in order.
      padding: tokens after the last passage.
    """

    number: int
    passages: tuple[Passage, ...]
    padding: int


class Report(NamedTuple):
    """All that a page shows.

    Attributes:
      manifest: of the whole corpus.
      statistics: of its sources.
      bounds: of the filters' statistics, by place of the source.
      clusters, copied: the largest ones.
      windows: some of the train split.
      rejects: some texts that were rejected, by source and ledger outcome.
    """

    manifest: dict[str, Any]
    statistics: Statistics
    bounds: tuple[Bounds, ...]
    clusters: tuple[Shown, ...]
    copied: tuple[Shown, ...]
    windows: tuple[Window, ...]
    rejects: dict[str, dict[str, tuple[str, ...]]]

    def sources(self) -> list[dict[str, Any]]:
        """The manifest's entries of the sources that are shown one by one."""
        return self.manifest["sources"][:MOST_SOURCES]
