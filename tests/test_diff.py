import shutil

import orjson
import pytest

from beam_pipeline import document_sets
from beam_pipeline.cli import main
from beam_pipeline.diff import differences
from tests import jobs, traces_jobs
from tests.jobs import build, recipe_of, source_of
from transforms.readers.synthetic import document

# Without the copies that a generated corpus has: each text is a document.
ROWS = [
    {"id": f"row{k}", "text": document("web", "web", k)}
    for k in range(120)
    if (k + 1) % 53 and (k + 1) % 97
]


def corpus_of(folder, rows, **changes):
    path = jobs.write_rows(folder / "in" / "web.jsonl", rows)
    return build(folder, recipe_of([source_of("web", path, id_column="id")], **changes))


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return corpus_of(tmp_path_factory.mktemp("before"), ROWS[:100])


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    """Ten documents less, ten more, and more of them held out."""
    holdout = {"per_mille": 300, "max_tokens": 1_000_000}
    return corpus_of(tmp_path_factory.mktemp("after"), ROWS[10:110], holdout=holdout)


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return traces_jobs.build_rows(tmp_path_factory.mktemp("traces"), traces_jobs.trace_rows(30))


def run(capsys, *argv):
    code = main([str(argument) for argument in argv])
    captured = capsys.readouterr()
    return code, " ".join(captured.out.split()), captured.err


def test_a_corpus_is_the_same_as_its_copy(capsys, before, tmp_path):
    shutil.copytree(before.folder, tmp_path / "copy")
    code, out, _ = run(capsys, "diff", before.folder, tmp_path / "copy")
    assert code == 0
    assert out.endswith("nothing differs; 100 documents")


@pytest.mark.parametrize("held", [document_sets.HELD, 20])
def test_documents_gained_lost_and_moved_are_those(before, after, held, monkeypatch):
    """Also where the digests are looked at in several parts."""
    monkeypatch.setattr(document_sets, "HELD", held)
    found = differences(str(before.folder), str(after.folder)).documents[""]
    assert (found.common, found.lost, found.gained) == (90, {"web": 10}, {"web": 10})
    splits = [
        {d["id"]: split for split in ("train", "val") for d in corpus.documents(split)}
        for corpus in (before, after)
    ]
    moved = {k for k in splits[0].keys() & splits[1].keys() if splits[0][k] != splits[1][k]}
    assert moved
    assert found.moved == {"web": len(moved)}
    assert {one.name for one in found.lost_examples} <= {row["id"] for row in ROWS[:10]}
    assert {one.name for one in found.gained_examples} <= {row["id"] for row in ROWS[100:110]}
    assert {one.name for one in found.moved_examples} <= moved
    for one in found.moved_examples:
        assert one.splits == (splits[0][one.name], splits[1][one.name])


def test_recipe_ledger_and_sizes_are_compared_key_by_key(capsys, before, after):
    found = differences(str(before.folder), str(after.folder))
    places = {change.place: (change.before, change.after) for change in found.recipe}
    assert places["holdout.per_mille"] == (100, 300)
    assert places.keys() == {"holdout.per_mille", "sources.web.files"}
    told = {change.place: (change.before, change.after) for change in found.ledger}
    assert told["web.val"] == (before.ledger()["val"], after.ledger()["val"])
    code, out, _ = run(capsys, "diff", before.folder, after.folder)
    assert code == 1
    for words in ("the shards differ", "holdout.per_mille 100 300", "90 are in both", "lost, for"):
        assert words in out


def test_files_of_a_recipe_are_shown_from_here_unless_that_hides_how_they_differ(
    capsys, before, tmp_path, monkeypatch
):
    monkeypatch.chdir(before.folder)
    monkeypatch.setenv("COLUMNS", "300")
    shutil.copytree(before.folder, tmp_path / "copy")
    path = tmp_path / "copy" / "manifest.json"
    manifest = orjson.loads(path.read_bytes())
    [source] = manifest["recipe"]["sources"]
    [file] = source["files"]
    for other, first in (("web2.jsonl", "../in/web.jsonl"), ("../in/web.jsonl", file)):
        source["files"] = [other]
        path.write_bytes(orjson.dumps(manifest))
        _, out, _ = run(capsys, "diff", before.folder, tmp_path / "copy")
        assert f'sources.web.files ["{first}"] ["{other}"]' in out


def test_json_says_all_of_it(capsys, before, after):
    code = main(["diff", str(before.folder), str(after.folder), "--json"])
    found = orjson.loads(capsys.readouterr().out)
    assert code == 1
    assert found["same_bytes"] is False
    assert found["documents"][""]["lost"] == {"web": 10}
    assert len(found["documents"][""]["lost_examples"]) == document_sets.EXAMPLES


def test_a_name_alone_is_a_difference_but_the_bytes_are_the_same(capsys, before, tmp_path):
    shutil.copytree(before.folder, tmp_path / "copy")
    path = tmp_path / "copy" / "manifest.json"
    manifest = orjson.loads(path.read_bytes())
    manifest["recipe"]["name"] = "other"
    path.write_bytes(orjson.dumps(manifest))
    code, out, _ = run(capsys, "diff", before.folder, tmp_path / "copy")
    assert code == 1
    assert "the shards are the same, byte for byte" in out


def test_traces_are_compared_by_layout(capsys, traces, tmp_path):
    assert run(capsys, "diff", traces.folder, traces.folder)[0] == 0
    fewer = traces_jobs.build_rows(tmp_path, traces_jobs.trace_rows(30)[5:])
    found = differences(str(traces.folder), str(fewer.folder)).documents
    assert found.keys() == {"flat", "slotted", "adaptive"}
    assert all(sum(one.lost.values()) for one in found.values())


def test_a_corpus_and_traces_cannot_be_compared(capsys, before, traces):
    code, _, err = run(capsys, "diff", before.folder, traces.folder)
    assert code == 2
    assert "cannot be compared" in err


def test_what_is_not_finished_cannot_be_compared(capsys, before, tmp_path):
    code, _, err = run(capsys, "diff", before.folder, tmp_path)
    assert code == 2
    assert "no _SUCCESS" in err
