import shutil

import pytest

from beam_pipeline.cli import main
from beam_pipeline.show_clusters import side_by_side
from tests import jobs, traces_jobs
from tests.jobs import build, recipe_of, source_of
from transforms import storage
from transforms.readers.synthetic import document

# The 53rd and the 106th document are near duplicates of the one before.
ROWS = [{"id": f"row{k}", "text": document("web", "web", k)} for k in range(120)]
FEW = {"id": "few", "text": "Too few words here."}
NEEDLE = "a Needle in the haystack"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    rows = [*ROWS, FEW]
    rows[3] = {"id": "row3", "text": f"{ROWS[3]['text'][:300]} {NEEDLE} {ROWS[3]['text'][300:]}"}
    plain = jobs.write_rows(folder / "in" / "web.jsonl", rows)
    recipe = recipe_of([source_of("web", plain, id_column="id", filter={})])
    return build(folder, recipe)


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return traces_jobs.build_rows(tmp_path_factory.mktemp("traces"), traces_jobs.trace_rows(30))


def run(capsys, *argv):
    code = main([str(argument) for argument in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def shown(capsys, *argv):
    code, out, _ = run(capsys, "show", *argv)
    assert code == 0
    return " ".join(out.split())


def test_a_document_is_found_by_its_id_and_by_its_digest(capsys, built):
    listed = next(d for d in built.documents("train") if d["n_ids"] > 500)
    text = next(row["text"] for row in ROWS if row["id"] == listed["id"])
    for key in (listed["id"], listed["digest"].hex()[:8]):
        out = shown(capsys, built.folder, "--document", key)
        assert text in out
        assert f"train window {listed['window']}" in out


def test_a_document_is_looked_for_in_the_split_that_is_named(capsys, built):
    held_out = built.documents("val")[0]["id"]
    assert held_out in shown(capsys, built.folder, "--document", held_out)
    code, _, err = run(capsys, "show", built.folder, "--document", held_out, "--split", "train")
    assert code == 2
    assert f"train list no document {held_out!r}" in err


def test_search_finds_a_text_in_any_case_with_what_is_around_it(capsys, built):
    out = shown(capsys, built.folder, "--search", NEEDLE.upper())
    assert "web row3, digest" in out
    assert f"{ROWS[3]['text'][280:300]} {NEEDLE} {ROWS[3]['text'][300:320]}" in out
    assert out.endswith(f"1 documents hold '{NEEDLE.upper()}'")
    assert "no document holds 'nowhere'" in shown(capsys, built.folder, "--search", "nowhere")


def test_search_stops_at_the_first_so_many(capsys, built):
    out = shown(capsys, built.folder, "--search", "river", "--first", "2")
    assert out.count("digest") == 2


def test_rejects_are_shown_with_reason_and_place(capsys, built, monkeypatch):
    monkeypatch.chdir(built.folder)
    out = shown(capsys, built.folder, "--rejects", "--reason", "too_few_words")
    assert out.startswith("web: filtered, too few words, 1 of 1 row 120 of ../")
    assert out.endswith(FEW["text"])
    assert (
        shown(capsys, built.folder, "--rejects", "--source", "web", "--reason", "filtered") == out
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rejects", "--reason", "ugly"), "for 'ugly': it has filtered:too_few_words"),
        (("--rejects", "--source", "books"), "of source 'books': it has web"),
        (("--reason", "filtered"), "add --rejects"),
        (("--cluster", "9"), "has clusters 1 to 2, not 9"),
        (("--cluster", "abcdef0"), "no cluster begins with 'abcdef0'"),
        (("--document", "row-1"), "list no document 'row-1'"),
        (("--search", "x", "--layout", "flat"), "leave out --layout"),
    ],
)
def test_what_is_not_there_is_one_line(capsys, built, options, message):
    code, out, err = run(capsys, "show", built.folder, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_clusters_are_listed_and_set_side_by_side(capsys, built):
    table = shown(capsys, built.folder, "--cluster")
    assert "Near-duplicate clusters: 2;" in table
    dropped = built.ledger()["near_duplicate"]
    assert dropped == 2
    out = shown(capsys, built.folder, "--cluster", "1")
    assert out.startswith("cluster ")
    assert out.split()[1].rstrip(":") in table
    assert "dropped" in out
    assert "[-" in out
    assert "{+" in out


@pytest.mark.parametrize("layout", ["landed", "synthetic"])
def test_texts_of_a_cluster_are_read_again_from_any_input(capsys, tmp_path, layout, monkeypatch):
    # Long enough for a second landed piece, whose rows count on from the first.
    monkeypatch.setattr("transforms.readers.landed.LANDED_BYTES", 1 << 10)
    monkeypatch.setattr("transforms.land.LARGE_COMPRESSED_BYTES", 0)
    name = "web.jsonl.gz" if layout == "landed" else "web.jsonl"
    path = jobs.write_rows(tmp_path / "in" / name, [{"text": row["text"]} for row in ROWS])
    source = source_of("web", path)
    if layout == "synthetic":
        del source["files"]
        source["synthetic"] = {"documents": 120}
    corpus = build(tmp_path, recipe_of([source]), "--piece_bytes=4000")
    out = shown(capsys, corpus.folder, "--cluster", "1")
    assert "cannot be shown" not in out
    assert "{+" in out


def test_an_input_that_changed_or_is_gone_is_said_in_one_line(capsys, tmp_path):
    path = jobs.write_rows(tmp_path / "in" / "web.jsonl", ROWS)
    corpus = build(tmp_path, recipe_of([source_of("web", path)]))
    # One row more at the start: the others stand elsewhere.
    jobs.write_rows(path, [FEW, *ROWS])
    out = shown(capsys, corpus.folder, "--cluster", "1")
    assert "the texts cannot be shown: row" in out
    assert "is not what it was when the corpus was built" in out
    path.unlink()
    assert "cannot be read again" in shown(capsys, corpus.folder, "--cluster", "1")


def test_a_corpus_without_near_duplicates_says_so(capsys, built, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(built.folder, folder)
    shutil.rmtree(folder / "duplicates")
    shutil.rmtree(folder / "rejects")
    code, _, err = run(capsys, "show", folder, "--cluster")
    assert code == 2
    assert "built by an older corpusbeam" in err
    code, _, err = run(capsys, "show", folder, "--rejects")
    assert code == 2
    assert "no rejected rows on record" in err


def test_traces_have_rejects_and_windows_only(capsys, traces):
    assert "no region" in shown(capsys, traces.folder, "--rejects")
    code, _, err = run(capsys, "show", traces.folder, "--search", "x")
    assert code == 2
    assert "holds traces: --document, --search and --cluster are for a corpus" in err


def cells(table):
    return [[str(cell) for cell in column._cells] for column in table.columns]


def test_what_two_texts_share_is_cut_short_and_what_differs_is_marked():
    shared = " ".join(f"w{k}" for k in range(100))
    table = side_by_side(f"{shared} old end", f"{shared} new end", "a", "b", in_colour=False)
    left, right = cells(table)
    assert left[1] == right[1] == "… 76 words that both have …"
    assert left[2].endswith("w99 [-old-] end ")
    assert right[2].endswith("w99 {+new+} end ")


def test_words_that_are_not_compared_are_counted(monkeypatch):
    monkeypatch.setattr("beam_pipeline.show_clusters.WORDS", 20)
    table = side_by_side("same " * 25, "same " * 15, "a", "b", in_colour=False)
    left, right = cells(table)
    assert left[-1] == "5 more words, not compared"
    assert right[-1] == ""


def test_what_lies_on_gs_is_looked_at_like_what_is_here(capsys, built, bucket):
    there = f"{bucket}/corpus"
    for path in built.folder.rglob("*"):
        if path.is_file():
            name = path.relative_to(built.folder).as_posix()
            storage.write_whole(f"{there}/{name}", path.read_bytes())
    for options in (
        ("--cluster",),
        ("--cluster", "1"),
        ("--rejects",),
        ("--search", NEEDLE),
        ("--document", "row7"),
        ("--window", "3"),
    ):
        here = shown(capsys, built.folder, *options)
        assert shown(capsys, there, *options) == here
    assert run(capsys, "diff", built.folder, there)[0] == 0
