import hashlib
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import orjson
import pytest
import yaml
from tokenizers import Tokenizer, models

from beam_pipeline.cli import main
from beam_pipeline.verify import problems
from tests import jobs
from tests.jobs import DEMO, build, recipe_of, source_of
from transforms.readers.synthetic import document


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    rows = [{"id": str(k), "text": document("web", "web", k)} for k in range(80)]
    return jobs.write_rows(tmp_path_factory.mktemp("in") / "web.jsonl", rows)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, documents):
    recipe = recipe_of([source_of("web", documents, id_column="id")], tokens_per_shard=10_000)
    return build(tmp_path_factory.mktemp("finished"), recipe)


@pytest.fixture
def copy(finished, tmp_path):
    """A corpus that a test may spoil."""
    shutil.copytree(finished.folder, tmp_path / "copy")
    return jobs.Corpus(tmp_path / "copy")


def run(capsys, *argv):
    code = main([str(argument) for argument in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def tokenizer_of(path, entries, **special):
    tokenizer = Tokenizer(models.WordLevel({str(k): k for k in range(entries)}, unk_token="0"))
    tokenizer.add_special_tokens([name for name in special.values() if name])
    path.write_text(tokenizer.to_str())
    return path


def large_tokenizer(tmp_path):
    path = tokenizer_of(tmp_path / "large.json", 65_534, bos="<s>", eos="</s>", pad="<pad>")
    return {"file": str(path), "dtype": "uint16"}


MISTAKES = {
    "unknown key": ({"train_tokns": 5}, {}, r"train_tokns: unknown key"),
    "weights": ({}, {"weight": 0.5}, r"weights of the sources must add up to 1"),
    "no file": ({}, {"files": "nowhere/*.jsonl"}, r"source 'web': .*nowhere/\*\.jsonl matches no"),
    "column": ({}, {"text_column": "body"}, r"source 'web': .*'body'.*columns.*id, text"),
    "threshold": (
        {},
        {"filter": {"min_word": 3}},
        r"sources\[web\]\.filter: .*min_word\b.*min_words",
    ),
    "eos": (
        {"tokenizer": {"file": str(DEMO / "tokenizer.json"), "eos": "<end>"}},
        {},
        r"has no token '<end>' for eos, but it has .*'</s>'",
    ),
    "tokenizer": ({"tokenizer": {"file": "nowhere.json"}}, {}, r"nowhere\.json"),
    "vocabulary": (
        {"tokenizer": large_tokenizer},
        {},
        r"vocabulary of 65537 does not fit uint16",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_before_any_data_is_read(
    capsys, tmp_path, documents, mistake, monkeypatch
):
    changes, of_source, message = MISTAKES[mistake]
    changes = {k: v(tmp_path) if callable(v) else v for k, v in changes.items()}
    recipe = recipe_of([{**source_of("web", documents), **of_source}], **changes)
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    monkeypatch.setattr("beam_pipeline.run.run", lambda *_: pytest.fail("the job was started"))
    code, out, err = run(capsys, "build", path, "--output", tmp_path / "out")
    assert code == 2
    assert out == ""
    assert re.fullmatch(rf"corpusbeam: error: [^\n]*{message}[^\n]*\n", err), err
    assert not (tmp_path / "out").exists()


def test_an_unknown_option_is_one_line(capsys, tmp_path):
    code, _, err = run(capsys, "build", "synthetic", "--output", tmp_path / "o", "--wokers=2")
    assert code == 2
    assert re.fullmatch(r"corpusbeam: error: unknown option --wokers: [^\n]*\n", err)


@pytest.mark.parametrize("recipe", [("--recipe", "mine.yaml"), ("--recipe=mine.yaml",)])
@pytest.mark.parametrize("command", ["build", "traces", "plan", "train-tokenizer"])
def test_a_recipe_given_as_an_option_is_one_line(capsys, command, recipe):
    code, out, err = run(capsys, command, *recipe, "--output", "out")
    assert (code, out) == (2, "")
    said = f"the recipe goes without --recipe: corpusbeam {command} mine.yaml ..."
    assert err == f"corpusbeam: error: {said}\n"


@pytest.mark.parametrize("command", ["build", "traces"])
@pytest.mark.parametrize(
    ("terminal", "options", "sign"),
    [(True, (), "Starting ...\r"), (True, ("--quiet",), ""), (False, (), "")],
)
def test_a_terminal_shows_a_start_that_the_next_line_covers(
    capsys, monkeypatch, command, terminal, options, sign
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    code, _, err = run(capsys, command, "nothing", "--output", "out", *options)
    assert code == 2
    assert err.startswith(f"{sign}corpusbeam: error: no recipe nothing")


def test_a_value_that_an_option_cannot_take_is_one_line(capsys, tmp_path):
    for option in ("--piece_bytes=many", "--tokenizer_backend=fast", "--num_workers=x"):
        code, _, err = run(capsys, "build", "synthetic", "--output", tmp_path / "o", option)
        assert code == 2
        name, _, value = option.partition("=")
        assert re.fullmatch(rf"corpusbeam: error: argument {name}: [^\n]*'{value}'[^\n]*\n", err)


def test_an_unknown_recipe_names_those_there_are(capsys, tmp_path):
    code, _, err = run(capsys, "build", "nothing", "--output", tmp_path / "o")
    assert code == 2
    assert "demo, demo-traces, glaive, stack100m, synthetic" in err


def test_an_output_that_holds_another_corpus_is_refused_by_what_differs(
    capsys, tmp_path, documents
):
    sources = [source_of("web", documents), source_of("none", documents, 0.0)]
    recipe = recipe_of(sources)
    corpus = build(tmp_path, recipe)
    hashes = corpus.hashes()
    path = tmp_path / "recipe.yaml"
    for changes, words in (
        ({"seed": 2}, "recipe.seed was 1337 and is now 2"),
        ({"sources": sources[::-1]}, "recipe.sources are in another order"),
        ({"sources": sources[:1]}, "recipe.sources.none was {"),
    ):
        path.write_text(yaml.safe_dump({**recipe, **changes}))
        code, _, err = run(capsys, "build", path, "--output", corpus.folder)
        assert code == 2
        assert f"{words}" in err.partition(" holds another corpus: ")[2]
    assert jobs.Corpus(corpus.folder).hashes() == hashes
    assert (corpus.folder / "_SUCCESS").exists()
    # The same corpus may be built again in its place.
    assert build(tmp_path, recipe).hashes() == hashes


def test_verify_finds_nothing_wrong_with_a_finished_corpus(capsys, finished):
    code, out, _ = run(capsys, "verify", finished.folder)
    assert code == 0
    assert out.startswith("ok")


def shard(corpus, split="train"):
    return corpus.folder / split / "shard_00000.tokens.bin"


def rewrite(corpus, change):
    """Changes the ids of a shard and lets the manifests say that this is right."""
    path = shard(corpus)
    flat = np.fromfile(path, "<u2")
    change(flat)
    path.write_bytes(flat.tobytes())
    old = corpus.split("train")["shards"][0]["sha256"]
    new = hashlib.sha256(flat.tobytes()).hexdigest()
    for manifest in corpus.folder.rglob("manifest.json"):
        manifest.write_bytes(manifest.read_bytes().replace(old.encode(), new.encode()))


def flip(corpus):
    raw = bytearray(shard(corpus).read_bytes())
    raw[100] ^= 1
    shard(corpus).write_bytes(raw)


def change_manifest(place, change):
    def spoil(corpus):
        path = corpus.folder / place
        manifest = orjson.loads(path.read_bytes())
        change(manifest)
        path.write_bytes(orjson.dumps(manifest))

    return spoil


def move_document_to_val(corpus):
    """Lists a train shard's documents in val too."""
    for kind in ("tokens.bin", "meta.bin", "docs.parquet"):
        (corpus.folder / "val" / f"shard_00000.{kind}").write_bytes(
            (corpus.folder / "train" / f"shard_00000.{kind}").read_bytes()
        )
    train, val = corpus.split("train"), corpus.split("val")
    val["shards"] = train["shards"][:1]
    (corpus.folder / "val" / "manifest.json").write_bytes(orjson.dumps(val))


def set_id(place, value):
    return lambda corpus: rewrite(corpus, lambda flat: flat.__setitem__(place, value))


SPOILED = {
    "flipped bit": (flip, r"sha256 is not that of the manifest"),
    "cut short": (lambda c: shard(c).write_bytes(shard(c).read_bytes()[:-2]), r"bytes, the man"),
    "missing": (lambda c: shard(c).unlink(), r"shard_00000\.tokens\.bin is missing"),
    "id out of range": (set_id(5, 259), r"id 259 is outside of 259 entries"),
    "bos in a text": (set_id(5, 256), r"document 0 of"),
    "no eos": (set_id(63, 7), r"document 0 of|is not enclosed"),
    "ledger": (
        change_manifest("manifest.json", lambda m: m["ledger"]["web"]["read"].update(documents=9)),
        r"ledger: web: read 9 documents",
    ),
    "documents": (
        change_manifest(
            "manifest.json",
            lambda m: [
                m["ledger"][s]["train"].update(documents=m["ledger"][s]["train"]["documents"] - 1)
                or m["ledger"][s]["read"].update(documents=m["ledger"][s]["read"]["documents"] - 1)
                for s in ("web", "total")
            ],
        ),
        r"train: the ledger has \d+ documents, the shards list \d+",
    ),
    "totals": (
        change_manifest("train/manifest.json", lambda m: m.update(n_tokens=1)),
        r"n_tokens is 1, its shards add up to",
    ),
    "both splits": (move_document_to_val, r"documents are in both splits"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_verify_finds_what_is_wrong(capsys, copy, how):
    spoil, message = SPOILED[how]
    spoil(copy)
    code, out, _ = run(capsys, "verify", copy.folder)
    assert code == 1
    assert re.search(message, out), out


def test_verify_refuses_what_is_not_finished(capsys, copy):
    (copy.folder / "_SUCCESS").unlink()
    code, _, err = run(capsys, "verify", copy.folder)
    assert code == 2
    assert "no _SUCCESS" in err


def test_show_prints_the_documents_of_a_window_with_their_source(capsys, finished):
    code, out, _ = run(capsys, "show", finished.folder, "--window", 0)
    assert code == 0
    first = finished.documents("train")[0]
    assert f"web {first['id']} ({first['n_ids']} ids" in out
    text = next(
        row["text"]
        for row in (orjson.loads(line) for line in _input(finished).splitlines())
        if row["id"] == first["id"]
    )
    assert text[:50] in out.replace("\n", " ")


def _input(corpus):
    recipe = corpus.manifest["recipe"]
    return Path(recipe["sources"][0]["files"][0]).read_bytes()


def test_show_says_which_windows_there_are(capsys, finished):
    last = finished.split("train")["n_sequences"] - 1
    code, _, err = run(capsys, "show", finished.folder, "--window", last + 1)
    assert code == 2
    assert f"windows 0 to {last}, not {last + 1}" in err


def test_train_tokenizer_writes_a_tokenizer_of_the_size(capsys, tmp_path, documents):
    path = tmp_path / "recipe.yaml"
    recipe = recipe_of([source_of("web", documents)])
    # The tokenizer that the recipe names is the one to be made.
    recipe["tokenizer"] = {"file": "tokenizer.json"}
    path.write_text(yaml.safe_dump(recipe))
    output = tmp_path / "tokenizer.json"
    code, _, _ = run(capsys, "train-tokenizer", path, "--vocab-size", 300, "--output", output)
    assert code == 0
    assert Tokenizer.from_file(str(output)).get_vocab_size() <= 300
    code, _, _ = run(capsys, "build", path, "--output", tmp_path / "corpus", "--quiet")
    assert code == 0


@pytest.mark.parametrize("size", [-5, 0, 258])
def test_a_vocabulary_that_cannot_hold_bytes_is_one_line(capsys, tmp_path, size):
    output = tmp_path / "t.json"
    argv = ("train-tokenizer", "synthetic", "--vocab-size", size, "--output", output)
    code, _, err = run(capsys, *argv)
    assert code == 2
    assert re.fullmatch(
        r"corpusbeam: error: a vocabulary of -?\d+ is too small: [^\n]* 259[^\n]*\n", err
    )
    assert not output.exists()


def test_help_comes_without_beam(tmp_path):
    program = (
        "import sys; from beam_pipeline.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit('apache_beam' in sys.modules or 'numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"corpusbeam {version('corpusbeam')}\n"


def test_the_module_runs_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "beam_pipeline", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "build a corpus" in done.stdout


def test_a_given_work_dir_is_used_and_nothing_else_in_it_is_touched(tmp_path, documents):
    work_dir = tmp_path / "scratch"
    other = work_dir / "mine.txt"
    other.parent.mkdir()
    other.write_text("precious")
    corpus = build(tmp_path, recipe_of([source_of("web", documents)]), f"--work_dir={work_dir}")
    assert [path.name for path in work_dir.iterdir()] == ["mine.txt"]
    assert not (corpus.folder / "_work").exists()


def test_a_mistake_leaves_a_finished_corpus_finished(capsys, tmp_path, documents):
    recipe = recipe_of([source_of("web", documents)])
    corpus = build(tmp_path, recipe)
    argv = ("build", tmp_path / "recipe.yaml", "--output", corpus.folder, "--quiet")
    for option, message in (
        ("--runner=NoSuchRunner", r"no such runner"),
        ("--piece_bytes=0", r"--piece_bytes must be at least 1"),
        ("--piece_bytes=-5", r"--piece_bytes must be at least 1"),
        ("--resume", r"nothing to resume"),
    ):
        code, _, err = run(capsys, *argv, option)
        assert code == 2
        assert re.search(message, err), err
        assert (corpus.folder / "_SUCCESS").exists()
    assert list(problems(str(corpus.folder))) == []


def test_folders_that_no_run_has_left_are_not_removed(capsys, tmp_path):
    mine = tmp_path / "out" / "train" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("years of work")
    code, _, err = run(capsys, "build", "synthetic", "--output", tmp_path / "out", "--quiet")
    assert code == 2
    assert re.fullmatch(r"corpusbeam: error: \S*/out/train holds files that no run [^\n]*\n", err)
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["train", "mine.txt"]


def test_an_output_below_a_file_is_one_line(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = run(capsys, "build", "synthetic", "--output", tmp_path / "file" / "o", "--quiet")
    assert code == 2
    assert re.fullmatch(r"corpusbeam: error: \S*/file/o/\S+ cannot be [^\n]*\n", err)


def test_a_folder_is_no_recipe(capsys, tmp_path):
    code, _, err = run(capsys, "build", tmp_path, "--output", tmp_path / "o", "--quiet")
    assert code == 2
    assert re.fullmatch(r"corpusbeam: error: \S+: this recipe cannot be read [^\n]*\n", err)


def test_the_output_may_not_be_a_file(capsys, tmp_path):
    (tmp_path / "taken").write_text("")
    code, _, err = run(capsys, "build", "synthetic", "--output", tmp_path / "taken")
    assert code == 2
    assert "taken is a file" in err
