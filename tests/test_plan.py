import orjson
import pytest
import yaml

from beam_pipeline.cli import main
from tests import jobs
from tests.jobs import build, recipe_of, source_of
from transforms.readers.synthetic import document


def rows_of(name, count):
    return [{"text": document(name, "web", k)} for k in range(count)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Documents with exact copies, some with too few words."""
    folder = tmp_path_factory.mktemp("in")
    for name in ("web", "books"):
        rows = [row for k, row in enumerate(rows_of(name, 200), start=1) if k % 53]
        jobs.write_rows(folder / f"{name}.jsonl", [*rows, *[{"text": "short"}] * 20, {"text": ""}])
    return folder


def recipe_for(inputs, folder, **changes):
    sources = [
        source_of(name, inputs / f"{name}.jsonl", weight, filter={})
        for name, weight in (("web", 0.8), ("books", 0.2))
    ]
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe_of(sources, **changes)))
    return path


def run(capsys, *argv):
    code = main([str(argument) for argument in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def planned(capsys, path):
    code, out, _ = run(capsys, "plan", path, "--json")
    assert code == 0
    return orjson.loads(out)


def test_a_source_that_was_read_whole_is_what_the_build_finds(capsys, inputs, tmp_path):
    # Generated texts use few words; a plan does not know of near duplicates.
    dedup = {"threshold": 1.0}
    path = recipe_for(inputs, tmp_path, train_tokens=100_000, dedup=dedup)
    recipe = yaml.safe_load(path.read_text())
    found = planned(capsys, path)
    corpus = build(tmp_path / "job", recipe)
    for source, built in zip(found["sources"], corpus.manifest["sources"], strict=True):
        assert source["whole"]
        ledger = corpus.ledger(source["name"])
        assert source["documents"]["expected"] == ledger["read"]
        counts = {o: round(share * ledger["read"]) for o, share in source["shares"].items()}
        assert counts == {
            o: n for o, n in ledger.items() if o.startswith(("filtered", "empty", "exact"))
        }
        assert source["train_tokens"]["expected"] == built["available_tokens"]
    splits = corpus.manifest["splits"]
    assert found["train_shards"] == splits["train"]["n_shards"]
    assert found["train_tokens"] == pytest.approx(splits["train"]["n_document_tokens"], rel=0.02)


def test_it_says_which_source_is_short_by_how_much_and_exits_with_0(capsys, inputs, tmp_path):
    path = recipe_for(inputs, tmp_path, train_tokens=400_000)
    source = planned(capsys, path)["sources"][0]
    assert source["met"] == "no"
    code, out, _ = run(capsys, "plan", path)
    out = " ".join(out.split())
    assert code == 0
    lacks = (320_000 - source["train_tokens"]["expected"]) / 320_000
    assert "of the 320,000 tokens that its weight asks for: " in out
    assert f"short ({lacks:.0%})" in out
    assert "the budget of 400,000 tokens cannot be met" in out
    assert "when_short is shortfall: train will have" in out


def test_a_build_that_would_stop_is_told(capsys, inputs, tmp_path):
    path = recipe_for(inputs, tmp_path, train_tokens=400_000, when_short="fail")
    code, out, _ = run(capsys, "plan", path)
    assert code == 0
    assert "when_short is fail: the build would stop" in " ".join(out.split())


def test_a_recipe_that_build_refuses_is_refused_in_one_line(capsys, inputs, tmp_path):
    path = recipe_for(tmp_path / "nowhere", tmp_path)
    code, out, err = run(capsys, "plan", path)
    assert (code, out) == (2, "")
    assert "nowhere/web.jsonl matches no file" in err
    assert err.count("\n") == 1


def test_planning_leaves_nothing_behind(capsys, inputs, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    path = recipe_for(inputs, tmp_path)
    before = sorted(inputs.iterdir())
    planned(capsys, path)
    assert sorted(inputs.iterdir()) == before
    assert list((tmp_path / "scratch").iterdir()) == []
