"""The report of a corpus, written beside its manifests, which tell its checksum and warnings."""

from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.concerns import concerns
from beam_pipeline.manifest import MANIFEST, CorpusFacts
from beam_pipeline.report import gather
from beam_pipeline.report.contents import Report
from beam_pipeline.report.page import render
from beam_pipeline.report.publish import publish
from transforms import specimens
from transforms.statistics import Statistics
from transforms.tokenize import SPLITS, TRAIN
from transforms.tokenizers.encoders import load_encoder
from transforms.work import WorkFolder


def add_report(
    manifests: Mapping[str, dict[str, Any]],
    facts: CorpusFacts,
    found: Statistics,
    rejects: Sequence[str],
    output: str,
    work: WorkFolder,
) -> str:
    """Writes the report, and adds `warnings` and `report` to the manifest of the whole.

    Args:
      manifests: by path below the output; all shards are written.
      found: histograms and more of the sources.
      rejects: paths of the files with rejected rows.

    Returns:
      the path of the report.
    """
    whole = manifests[MANIFEST]
    recipe = facts.recipe
    names = [source["name"] for source in recipe["sources"]]
    weights = [source["weight"] for source in recipe["sources"]]
    clusters, copied = specimens.from_statistics(found)
    warnings = concerns(whole, found, clusters, facts.warn)
    whole["warnings"] = [warning._asdict() for warning in warnings]
    permutations = recipe["dedup"]["permutations"]
    report = Report(
        manifest=whole,
        statistics=found,
        bounds=tuple(rules.bounds() for rules in facts.rules),
        clusters=gather.shown(clusters, names, weights, permutations, work),
        copied=gather.shown(copied, names, weights, permutations, work),
        windows=gather.windows(
            output, manifests[f"{SPLITS[TRAIN]}/{MANIFEST}"], load_encoder(facts.tokenizer)
        ),
        rejects=gather.rejects(rejects, names),
    )
    return publish(render(report), whole, output)
