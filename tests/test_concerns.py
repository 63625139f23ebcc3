import pytest

from beam_pipeline.concerns import concerns
from beam_pipeline.recipe import Warn
from transforms import ledger, statistics
from transforms.specimens import Member, Specimen


def amounts(**outcomes):
    return {name: {"documents": n, "bytes": n} for name, n in outcomes.items()}


def source(name, target=1.0, realized=1.0, target_tokens=100, available_tokens=100):
    return {
        "name": name,
        "target_weight": target,
        "realized_weight": realized,
        "target_tokens": target_tokens,
        "available_tokens": available_tokens,
        "realized_tokens": target_tokens,
    }


RECIPE = {
    "train_tokens": 100,
    "when_short": "shortfall",
    "holdout": {"per_mille": 1, "max_tokens": 10_000_000},
}


def manifest(**changes):
    """Of a corpus that nobody need worry about."""
    found = {
        "tokenizer": {"name": "gpt2"},
        "recipe": RECIPE,
        "splits": {"val": {"n_document_tokens": 100_000}},
        "sources": [source("web")],
        "ledger": {"web": amounts(read=100, train=100)},
    }
    return {**found, **changes}


def found(manifest, told=None, clusters=(), **warn):
    return [(c.kind, c.source) for c in concerns(manifest, told or {}, clusters, Warn(**warn))]


def test_a_sound_corpus_has_no_warnings():
    assert found(manifest()) == []


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ({"filtered:a": 30, "filtered:b": 20}, []),
        ({"filtered:a": 30, "filtered:b": 21}, [("step_loss", "web")]),
        ({"malformed:not_json": 51}, [("step_loss", "web")]),
        ({ledger.EXACT_DUPLICATE: 51}, [("step_loss", "web")]),
        ({ledger.NEAR_DUPLICATE: 51}, [("step_loss", "web")]),
        # Of the 50 that came to it, 26 are lost.
        ({"filtered:a": 50, ledger.EXACT_DUPLICATE: 26}, [("step_loss", "web")]),
        # Enough was taken: nothing is lost.
        ({ledger.OVER_BUDGET: 99}, []),
    ],
)
def test_a_source_that_loses_much_to_one_step(outcomes, expected):
    assert found(manifest(ledger={"web": amounts(read=100, **outcomes)})) == expected


def test_a_loss_names_its_step_and_its_first_reason():
    account = amounts(read=1000, **{"filtered:too_few_words": 500, "filtered:not_math": 100})
    (concern,) = concerns(manifest(ledger={"web": account}), {}, (), Warn())
    assert concern.value == 0.6
    assert concern.limit == 0.5
    assert concern.message == (
        "web loses 60.0% of its documents to the quality filter (600 of the 1,000 that came to "
        "it), most as too few words (500)"
    )


@pytest.mark.parametrize(
    ("target", "realized", "expected"),
    [(0.5, 0.45, []), (0.5, 0.44, [("off_target", "web")]), (0.5, 0.56, [("off_target", "web")])],
)
def test_a_share_off_its_target(target, realized, expected):
    sources = [source("web", target, realized)]
    assert found(manifest(sources=sources), off_target=0.11) == expected


def test_a_source_that_takes_no_tokens_has_no_target_to_miss():
    sources = [source("web", 0, 0, 0), source("other")]
    account = amounts(read=100, train=100)
    assert found(manifest(sources=sources, ledger={"web": account, "other": account})) == []


@pytest.mark.parametrize(("asked", "expected"), [(125, []), (126, [("short", None)])])
def test_a_budget_that_is_not_met(asked, expected):
    changed = manifest(recipe={**RECIPE, "train_tokens": asked})
    assert found(changed, short=0.2) == expected
    (concern,) = concerns(changed, {}, (), Warn(short=0))
    assert concern.message == (
        f"train has 100 of the {asked} tokens of train_tokens: read more, ask for less, or change "
        "when_short (shortfall)"
    )


@pytest.mark.parametrize(("texts", "expected"), [(100, []), (101, [("cluster_texts", "web")])])
def test_a_cluster_of_many_texts(texts, expected):
    cluster = Specimen("00", texts, 5000, (Member(0, 0, 0, 128),))
    assert found(manifest(), clusters=[cluster]) == expected


@pytest.mark.parametrize(
    ("tokens", "name", "expected"),
    [(50, "gpt2", []), (51, "gpt2", [("tokens_per_byte", "web")]), (100, "bytes", [])],
)
def test_a_source_that_the_vocabulary_does_not_suit(tokens, name, expected):
    told = {"web": {statistics.SPENDING: (tokens, 100)}}
    assert found(manifest(tokenizer={"name": name}), told) == expected


@pytest.mark.parametrize(
    ("tokens", "per_mille", "max_tokens", "expected"),
    [
        (99_999, 1, 10_000_000, [("val_tokens", None)]),
        (100_000, 1, 10_000_000, []),
        (0, 0, 10_000_000, []),
        # It was meant to be small.
        (9_000, 1, 10_000, []),
        (4_000, 1, 10_000, [("val_tokens", None)]),
    ],
)
def test_a_small_val_split(tokens, per_mille, max_tokens, expected):
    changed = manifest(
        recipe={**RECIPE, "holdout": {"per_mille": per_mille, "max_tokens": max_tokens}},
        splits={"val": {"n_document_tokens": tokens}},
    )
    assert found(changed) == expected
