"""The report of traces, written beside their manifests, which tell its checksum and warnings."""

from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.manifest import MANIFEST
from beam_pipeline.report import gather
from beam_pipeline.report.publish import publish
from beam_pipeline.report.traces.contents import TracesReport
from beam_pipeline.report.traces.gather import windows
from beam_pipeline.report.traces.page import render
from beam_pipeline.trace_concerns import trace_concerns
from beam_pipeline.traces_manifest import TracesFacts, layout_statistics
from transforms.shards import ShardInfo
from transforms.statistics import Counts
from transforms.tokenizers.encoders import load_encoder
from transforms.tokenizers.spec import PreparedTokenizer
from transforms.traces.split_examples import SPLITS, TRAIN


def add_report(
    manifests: Mapping[str, dict[str, Any]],
    facts: TracesFacts,
    tokenizer: PreparedTokenizer,
    shards: Sequence[ShardInfo],
    lengths: dict[str, Counts],
    written: Sequence[str],
    output: str,
) -> str:
    """Writes the report, and adds `warnings` and `report` to the manifest of the whole.

    Args:
      manifests: by path below the output.
      shards: of all folders, all written.
      lengths: histograms of the examples, by name.
      written: paths of the files beside the shards, that with rejected rows among them.

    Returns:
      the path of the report.
    """
    whole = manifests[MANIFEST]
    whole["warnings"] = [concern._asdict() for concern in trace_concerns(whole, facts.warn)]
    encoder, source = load_encoder(tokenizer), facts.source.name
    of_train = {layout: f"{SPLITS[TRAIN]}/{layout}" for layout in facts.layouts}
    report = TracesReport(
        manifest=whole,
        lengths=lengths,
        layouts={
            folder: layout_statistics(info for info in shards if info.split == folder)
            for folder in facts.folders()
        },
        windows={
            layout: windows(output, folder, manifests[f"{folder}/{MANIFEST}"], encoder)
            for layout, folder in of_train.items()
        },
        rejects=gather.rejects(written, [source]).get(source, {}),
    )
    return publish(render(report), whole, output)
