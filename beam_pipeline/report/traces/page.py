"""The page of traces as a whole."""

from typing import Any

from beam_pipeline.report import distributions, frame, passages
from beam_pipeline.report.account import head
from beam_pipeline.report.frame import Section
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count
from beam_pipeline.report.traces import layouts, rows, windows
from beam_pipeline.report.traces.contents import TracesReport
from transforms import statistics
from transforms.traces.split_examples import SPLITS

_LENGTHS = {
    statistics.PROBLEM_TOKENS: "examples",
    statistics.THOUGHT_TOKENS: "thoughts",
    statistics.ANSWER_TOKENS: "examples",
    statistics.THOUGHTS: "examples",
}


def render(report: TracesReport) -> bytes:
    """The report as HTML in UTF-8; equal reports give equal bytes."""
    manifest = report.manifest
    total = manifest["ledger"]["total"]
    tiles = (
        ("rows read", count(total["read"]["documents"])),
        *((f"examples in {split}", count(total[split]["documents"])) for split in SPLITS),
        (f"windows of {manifest['seq_len']:,}", count(manifest["n_sequences"])),
        ("shards", count(manifest["n_shards"])),
    )
    sections = (
        Section("rows", "What became of every row", rows.overview(report)),
        Section("steps", "Step by step", rows.steps(report)),
        Section("tokens", "What the tokens of windows are", layouts.tokens(report)),
        Section("blocks", "Blocks of the thoughts", layouts.blocks(report)),
        Section("lengths", "Lengths of the examples of both splits", _lengths(report)),
        Section("windows", "Some windows of train", windows.windows(report)),
        Section("rejected", "Rows that gave no example", _rejected(report)),
        Section("geometry", "Geometry and special tokens", _geometry(manifest)),
        Section("made", "How it was made", frame.made(manifest, {})),
    )
    return frame.page(manifest["recipe"]["name"], tiles, manifest["warnings"], sections)


def _lengths(report: TracesReport) -> Html:
    figures = (
        distributions.figure(name, report.lengths[name], unit=unit)
        for name, unit in _LENGTHS.items()
    )
    return tag("div", *figures, class_="panels")


def _rejected(report: TracesReport) -> Html:
    if not report.rejects:
        return tag("p", "Every row gave an example.")
    return passages.rejected(report.rejects, report.manifest["ledger"]["total"])


def _geometry(manifest: dict[str, Any]) -> Html:
    geometry = manifest["geometry"]
    measures = {
        "seq_len": f"{geometry['seq_len']:,} tokens in a window",
        "block": f"{geometry['block']:,} tokens, of which prompt, slots and answer are multiples",
        "max_slots": f"{geometry['max_slots']:,} slots at most in slotted",
    }
    if geometry["sizes"]:
        measures["sizes"] = f"{', '.join(map(str, geometry['sizes']))} tokens: blocks of adaptive"
    tokens = [
        tag(
            "tr",
            tag("th", f"size {role}" if role.isdigit() else role.replace("_", " "), scope="row"),
            tag("td", tag("b", manifest["tokenizer"][role], class_="special")),
            tag("td", str(id_)),
        )
        for role, id_ in manifest["special_token_ids"].items()
    ]
    return join(
        frame.facts(measures),
        tag("h3", "Special tokens"),
        tag("table", head("role", "name", "id"), tag("tbody", *tokens)),
    )
