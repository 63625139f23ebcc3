"""What of the docs is made from the code is as the code is now."""

import re
from pathlib import Path

import pytest

from beam_pipeline.cli import _parser
from beam_pipeline.job_options import add_job_options
from beam_pipeline.recipe import JobRecipe, Recipe, StrictModel
from beam_pipeline.traces_recipe import TracesRecipe
from tests.docs.markdown import ROOT
from tools import near_dedup_curve, recipe_reference
from transforms.kernels.minhash import candidate_probability


def models(of=StrictModel):
    for model in of.__subclasses__():
        yield model
        yield from models(model)


def test_the_tables_of_recipes_are_not_stale():
    page = recipe_reference.PAGE.read_text(encoding="utf-8")
    assert recipe_reference.filled(page) == page, "run python tools/recipe_reference.py"


@pytest.mark.parametrize("model", [m for m in models() if m is not JobRecipe])
def test_every_key_is_told_of(model):
    told = recipe_reference.descriptions(model)
    assert [name for name in model.model_fields if not told.get(name)] == []


@pytest.mark.parametrize("job", [Recipe, TracesRecipe])
def test_the_tables_have_every_key(job):
    table = recipe_reference.tables()[job.COMMAND]
    for model in (job, *job.PARTS.values()):
        for name in model.model_fields:
            assert f"| `{name}` |" in table


def test_the_probabilities_of_near_duplicates_are_those_told():
    text = (ROOT / "docs" / "near-dedup.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (0\.\d+) \| ([\d.]+)% \| ([\d.]+)% \|$", text, re.M)
    assert len(rows) == 8
    for similarity, band, edge in rows:
        jaccard = float(similarity)
        assert f"{candidate_probability(jaccard, 16, 8):.1%}" == f"{band}%"
        assert f"{near_dedup_curve.edge_probability(jaccard, 128, 16, 0.8):.1%}" == f"{edge}%"


def test_the_probability_of_an_edge_is_that_of_drawn_signatures():
    import numpy as np

    drawn = np.random.default_rng(1).random((40_000, 128)) < 0.82
    edge = (drawn.sum(1) >= 103) & drawn.reshape(-1, 16, 8).all(2).any(1)
    expected = near_dedup_curve.edge_probability(0.82, 128, 16, 0.8)
    assert abs(edge.mean() - expected) < 0.015  # six standard errors


@pytest.mark.parametrize("command", ["build", "traces"])
def test_the_options_are_in_the_help_and_in_the_docs(command, capsys):
    import argparse

    of_job = argparse.ArgumentParser(add_help=False)
    add_job_options(of_job)
    with pytest.raises(SystemExit):
        _parser().parse_args([command, "--help"])
    help_text = capsys.readouterr().out
    told = Path(ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    options = [action.option_strings[0] for action in of_job._actions]
    for option in (*options, "--output", "--quiet", "--verbose"):
        assert option in help_text
        assert f"| `{option}" in told
