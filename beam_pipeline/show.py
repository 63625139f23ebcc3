"""`corpusbeam show`: what a finished output holds, for people to look at."""

from typing import NamedTuple

from rich.console import Console

from beam_pipeline.finished import read_manifest
from beam_pipeline.traces_manifest import is_traces
from transforms.errors import OutputError
from transforms.tokenize import SPLITS


class Asked(NamedTuple):
    """What to show: one of these, or else the first window.

    Attributes:
      window: a window, by its number in the split.
      document: an id or how a digest begins.
      search: a text.
      rejects: rejected rows.
      cluster: a near-duplicate cluster by rank or digest; "" for a table of them.
    """

    window: int | None = None
    document: str | None = None
    search: str | None = None
    rejects: bool = False
    cluster: str | None = None


class Within(NamedTuple):
    """Where to look, and how much to print.

    Attributes:
      split: "train", or "val" or "validation", which are the same; None for all, or for the first
        where there can be only one.
      layout: of traces; None for the first of the recipe.
      source, reason: of rejected rows.
      most: entries of a list.
    """

    split: str | None = None
    layout: str | None = None
    source: str | None = None
    reason: str | None = None
    most: int = 10


def show(folder: str, asked: Asked, within: Within) -> int:
    """Prints what is asked for.

    Args:
      folder: of something finished.

    Raises:
      OutputError: there is nothing finished, or it has nothing like that.
    """
    console = Console()
    traces = is_traces(read_manifest(folder))
    if not asked.rejects and (within.source or within.reason):
        raise OutputError("--source and --reason are of rejected rows: add --rejects")
    if asked.rejects:
        from beam_pipeline.show_rejects import show_rejects

        show_rejects(folder, within.source, within.reason, within.most, console)
    elif asked.document is None and asked.search is None and asked.cluster is None:
        from beam_pipeline.show_window import show_window

        show_window(folder, within.split or "train", asked.window or 0, within.layout, console)
    elif traces:
        raise OutputError(
            f"{folder} holds traces: --document, --search and --cluster are for a corpus; look at "
            "traces with --window and --layout"
        )
    else:
        _show_of_corpus(folder, asked, within, console)
    return 0


def _show_of_corpus(folder: str, asked: Asked, within: Within, console: Console) -> None:
    if within.layout is not None:
        raise OutputError(f"{folder} holds a corpus, which has no layouts: leave out --layout")
    splits = SPLITS if within.split is None else (SPLITS[within.split != "train"],)
    if asked.cluster is not None:
        from beam_pipeline.show_clusters import show_cluster, show_clusters

        if asked.cluster:
            show_cluster(folder, asked.cluster, within.most, console)
        else:
            show_clusters(folder, within.most, console)
        return
    from beam_pipeline.show_documents import search, show_document

    if asked.document is not None:
        show_document(folder, splits, asked.document, console)
    else:
        search(folder, splits, asked.search or "", within.most, console)
