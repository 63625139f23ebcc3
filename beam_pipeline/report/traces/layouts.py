"""What the windows of each layout are filled with, and how many blocks thoughts take."""

from collections.abc import Sequence

from beam_pipeline.report import account, distributions
from beam_pipeline.report.account import Share, head
from beam_pipeline.report.charts import Part, bar, histogram
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count, percent, ratio, short
from beam_pipeline.report.traces.contents import TracesReport
from transforms.traces.geometry import ANSWER, PADDING, PROMPT, THOUGHT
from transforms.traces.split_examples import SPLITS, TRAIN
from transforms.traces.statistics import LayoutStatistics

_MOST_BINS = 40


def tokens(report: TracesReport) -> Html:
    """A bar for each layout: what its tokens are."""
    seq_len = report.manifest["seq_len"]
    return tag(
        "div",
        *(_tokens_of(folder, report.layouts[folder], seq_len) for folder in report.folders()),
        class_="overview",
    )


def _tokens_of(folder: str, found: LayoutStatistics, seq_len: int) -> Html:
    windows, whole = found.n_examples(), sum(found.tokens)
    thought = found.tokens[THOUGHT]
    of_thought = f" — {percent(ratio(found.fill, thought))} of the thoughts"
    parts = (
        Share("prompt", "prompt", found.tokens[PROMPT]),
        Share("thought", "thought", thought - found.fill),
        Share("fill", "fill", found.fill, of_thought),
        Share("answer", "answer", found.tokens[ANSWER]),
        Share("padding", "padding", found.tokens[PADDING]),
    )
    plural = "" if windows == 1 else "s"
    told = f"{count(windows)} window{plural} of {seq_len:,}, {count(whole)} tokens"
    return account.shares(folder, told, parts, whole)


def blocks(report: TracesReport) -> Html:
    """Blocks by size, and blocks of an example."""
    with_blocks = {
        folder: report.layouts[folder]
        for folder in report.folders()
        if report.layouts[folder].block_sizes
    }
    if not with_blocks:
        return tag("p", "Flat has no blocks.")
    rows = [row for folder, found in with_blocks.items() for row in _sizes(folder, found)]
    figures = [
        _of_examples(folder, found)
        for folder, found in with_blocks.items()
        if folder.startswith(SPLITS[TRAIN])
    ]
    return join(
        tag(
            "table",
            tag("caption", "Blocks by size; the bar is their share"),
            head("layout, size in tokens", "blocks", "share"),
            tag("tbody", *rows),
            class_="bars",
        ),
        tag("h3", "Blocks of an example"),
        tag("div", *figures, class_="panels"),
    )


def _sizes(folder: str, found: LayoutStatistics) -> list[Html]:
    total = sum(found.blocks)
    return [
        tag(
            "tr",
            tag("th", f"{folder}, {size:,}", bar([Part("thought", number)], total), scope="row"),
            tag("td", count(number)),
            tag("td", percent(ratio(number, total))),
        )
        for size, number in zip(found.block_sizes, found.blocks, strict=True)
    ]


def _of_examples(folder: str, found: LayoutStatistics) -> Html:
    counts, edges = _binned(found.examples)
    half, most = found.blocks_quantile(0.5), found.blocks_quantile(0.9)
    largest = len(found.examples) - 1
    summary = f"half have at most {half:,}, nine in ten at most {most:,}, one has {largest:,}"
    label = f"Histogram of the blocks of an example in {folder}: {summary}"
    return distributions.framed(
        folder,
        summary,
        histogram(counts, edges, (None, None), label, short),
        distributions.numbers_of(counts, edges, "examples", distributions.in_full),
    )


def _binned(examples: Sequence[int]) -> tuple[list[int], list[int]]:
    """Counts in at most `_MOST_BINS` bins of one width, and the lower edges of the bins."""
    width = -(-len(examples) // _MOST_BINS)
    edges = list(range(0, len(examples), width))
    return [sum(examples[edge : edge + width]) for edge in edges], edges
