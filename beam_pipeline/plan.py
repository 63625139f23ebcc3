"""`corpusbeam plan`: what a recipe will give and take, from a sample, without running the job."""

import os
import tempfile
from dataclasses import asdict

import numpy as np
import orjson
from rich.console import Console

from beam_pipeline.estimate import JobShape, estimate
from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.launch import Launch, launch
from beam_pipeline.print_plan import print_plan
from beam_pipeline.sample_job import run_sample
from transforms.land import plan_work
from transforms.readers.planning import PIECE_BYTES


def plan(recipe_path: str, *, offline: bool, as_json: bool) -> int:
    """Estimates a corpus and its run, and prints it.

    Args:
      recipe_path: a recipe's file or the name of a shipped one.
      offline: replace hub sources by generated documents.

    Returns:
      0, also where the budget cannot be met.

    Raises:
      CorpusError: what `build` would refuse too.
    """
    # All that launch writes, and the sample, is gone afterwards.
    with tempfile.TemporaryDirectory(prefix="corpusbeam-plan-") as scratch:
        output = os.path.join(scratch, "corpus")
        asked = JobArguments(recipe_path, output, offline=offline, piece_bytes=PIECE_BYTES)
        launched = launch(asked)
        found = estimate(run_sample(launched), shape_of(launched))
    if as_json:
        print(orjson.dumps(asdict(found), option=orjson.OPT_INDENT_2).decode())
    else:
        print_plan(found, launched.facts.recipe, Console())
    return 0


def shape_of(launched: Launch) -> JobShape:
    """What an estimate needs to know of a job besides its sources."""
    return JobShape(
        budget=launched.budget,
        tokens_per_shard=launched.write.tokens_per_shard,
        landed=_landed(launched),
        width=np.dtype(launched.write.tokenizer.dtype).itemsize,
        permutations=launched.near.permutations,
        cores=os.cpu_count() or 1,
    )


def _landed(launched: Launch) -> list[float]:
    """Of each source, the share of its bytes that is landed."""
    sizes = dict(entry for planned in launched.plans for entry in planned.inputs)
    pieces = [piece for planned in launched.plans for piece in planned.pieces]
    landed = {piece.path for piece in plan_work(pieces, sizes) if piece.land}
    shares = []
    for planned in launched.plans:
        total = sum(size for _, size in planned.inputs)
        of_it = sum(size for path, size in planned.inputs if path in landed)
        shares.append(of_it / total if total else 0.0)
    return shares
