"""The corpus job with datatrove: filter, four stages of MinHash, tokenizer, merger.

    python -m benchmarks.datatrove_peer RECIPE OUTPUT --workers 2

It runs in an environment of its own (`datatrove-requirements.txt`), on the recipes of
`make_inputs`, and prints what it kept as a line of JSON.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from datatrove.data import Document
from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.filters import LambdaFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer, DocumentTokenizerMerger
from datatrove.pipeline.writers import JsonlWriter

from benchmarks import plain_filters

CONFIG = MinhashConfig(n_grams=5, num_buckets=16, hashes_per_bucket=8)


def adapter(sources: dict[str, dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """How rows become documents: the file's folder is the name of the source."""

    def adapt(_: JsonlReader, row: dict[str, Any], path: str, place: int) -> dict[str, Any]:
        source = sources[path.split("/")[0]]
        return {
            "text": row[source["text_column"]],
            "id": f"{path}/{place}",
            "metadata": {"domain": source["domain"]},
        }

    return adapt


def keep(document: Document) -> bool:
    """Whether a document passes the filter of its domain."""
    return bool(document.text.strip()) and plain_filters.keep(
        document.text, document.metadata["domain"]
    )


def build(recipe_path: Path, output: Path, workers: int) -> dict[str, int]:
    """Builds the corpus.

    Returns:
      documents and tokens in the merged files.
    """
    recipe = yaml.safe_load(recipe_path.read_text())
    tokenizer = recipe["tokenizer"]
    sources = {source["name"]: source for source in recipe["sources"]}
    files = len(list(recipe_path.parent.glob("*/*.jsonl*")))
    folder = str(output)

    def run(tasks: int, name: str, *steps: Any) -> None:
        LocalPipelineExecutor(
            list(steps), tasks=tasks, workers=workers, logging_dir=f"{folder}/logs/{name}"
        ).run()

    run(
        files,
        "signatures",
        JsonlReader(str(recipe_path.parent), glob_pattern="*/*.jsonl*", adapter=adapter(sources)),
        LambdaFilter(keep),
        # Plain files, as compressing them would only cost time.
        JsonlWriter(f"{folder}/filtered", compression=None),
        MinhashDedupSignature(f"{folder}/signatures", config=CONFIG),
    )
    run(
        CONFIG.num_buckets,
        "buckets",
        MinhashDedupBuckets(f"{folder}/signatures", f"{folder}/buckets", config=CONFIG),
    )
    run(
        1,
        "clusters",
        MinhashDedupCluster(f"{folder}/buckets", f"{folder}/clusters", config=CONFIG),
    )
    run(
        files,
        "tokens",
        JsonlReader(f"{folder}/filtered"),
        MinhashDedupFilter(f"{folder}/clusters"),
        DocumentTokenizer(
            f"{folder}/tokens",
            tokenizer["file"],
            eos_token=tokenizer["eos"],
            seed=recipe["seed"],
        ),
    )
    run(
        1,
        "merge",
        DocumentTokenizerMerger(
            f"{folder}/tokens",
            f"{folder}/merged",
            save_filename="corpus",
            max_tokens_per_file=recipe["tokens_per_shard"],
            seed=recipe["seed"],
            progress=False,
        ),
    )
    ends = [np.fromfile(path, np.uint64) for path in (output / "merged").glob("*.ds.index")]
    return {
        "documents": sum(map(len, ends)),
        "tokens": sum(int(of_file[-1]) for of_file in ends),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(json.dumps(build(arguments.recipe, arguments.output, arguments.workers)))


if __name__ == "__main__":
    main()
