"""The page of a corpus as a whole."""

from typing import Any

from beam_pipeline.report import distributions, duplicates, flow, frame, passages
from beam_pipeline.report.contents import Report
from beam_pipeline.report.frame import Section
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count


def render(report: Report) -> bytes:
    """The report as HTML in UTF-8; equal reports give equal bytes."""
    manifest = report.manifest
    splits, total = manifest["splits"], manifest["ledger"]["total"]
    tiles = (
        ("documents read", count(total["read"]["documents"])),
        ("tokens in train", count(splits["train"]["n_document_tokens"])),
        ("tokens in val", count(splits["val"]["n_document_tokens"])),
        (f"windows of {manifest['seq_len']:,}", count(manifest["n_sequences"])),
        ("shards", count(manifest["n_shards"])),
    )
    sections = (
        Section("documents", "What became of every document", flow.overview(report)),
        Section("steps", "Step by step", flow.steps(report)),
        Section("mix", "Mix of the train split", flow.mix(report)),
        Section("tokens", "Tokens per byte", flow.tokens_per_byte(report)),
        Section("lengths", "Length of documents", distributions.lengths(report)),
        Section("filters", "What the filters measured", distributions.filters(report)),
        Section("duplicates", "Duplicates", duplicates.section(report)),
        Section("windows", "Some windows of train", passages.windows(report)),
        Section("rejected", "Rejected documents", passages.rejects(report)),
        Section("made", "How it was made", _made(manifest)),
    )
    return frame.page(manifest["recipe"]["name"], tiles, manifest["warnings"], sections)


def _made(manifest: dict[str, Any]) -> Html:
    return join(
        tag("p", "Hub sources were replaced by generated documents.")
        if manifest["offline_synthetic"]
        else None,
        frame.made(manifest, {"filter hash": manifest["filter_config_hash"]}),
    )
