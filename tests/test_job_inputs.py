"""Whole jobs over bad input: good documents are kept, the rest is counted, nothing hangs."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests import jobs
from tests.jobs import build, recipe_of, source_of
from transforms import tokenize
from transforms.errors import CorpusError, SourceError
from transforms.readers.synthetic import document

MALFORMED = Path(__file__).parent / "data" / "malformed"
ENTRIES = {
    entry["file"]: entry
    for entry in json.loads((MALFORMED / "MANIFEST.json").read_text())
    # The archive is for the line parser; the 1.5 MB line is made below rather than shipped.
    if not entry["file"].endswith((".tar.gz", "very_long_line.jsonl"))
}
COLUMNS = {"parquet/o_nested_text.parquet": "doc.text"}
READABLE = [
    name
    for name, entry in ENTRIES.items()
    if entry["valid_docs"] is not None and "one clear error" not in entry.get("expect", "")
]
WRONG_COLUMN = [n for n, e in ENTRIES.items() if "one clear error" in e.get("expect", "")]
DAMAGED = [n for n, e in ENTRIES.items() if "on_bad_file" in e.get("expect", "")]


def name_of(file: str) -> str:
    return file.replace("/", "-").replace(".", "-")


def source(file: str, weight: float = 1.0, **changes):
    column = COLUMNS.get(file, "text")
    return source_of(name_of(file), MALFORMED / file, weight, text_column=column, **changes)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    sources = [source(file, 1 / len(READABLE)) for file in READABLE]
    recipe = recipe_of(sources, dedup={"scope": "source"})
    return build(tmp_path_factory.mktemp("malformed"), recipe)


@pytest.mark.parametrize("file", READABLE)
def test_good_documents_are_kept_and_bad_rows_counted(corpus, file):
    account = corpus.ledger(name_of(file))
    malformed = sum(n for outcome, n in account.items() if outcome.startswith("malformed:"))
    bad = malformed + account.get("empty", 0)
    entry = ENTRIES[file]
    assert account["read"] - bad == int(entry["valid_docs"])
    expected = entry.get("bad_lines", entry.get("bad_rows"))
    if expected is not None:
        assert bad == expected


def test_bad_rows_are_sampled_with_reason_file_and_row(corpus):
    rows = jobs.read_rows(corpus.folder / "rejects" / f"{name_of('jsonl/field_types.jsonl')}.jsonl")
    reasons = {row["reason"] for row in rows}
    assert {"malformed:null_text", "malformed:missing_text", "malformed:text_not_a_string"} <= (
        reasons
    )
    assert all(row["file"].endswith("field_types.jsonl") for row in rows)
    null = next(row for row in rows if row["reason"] == "malformed:null_text")
    assert (null["row"], null["text"]) == (2, '{"id": "null", "text": null}')


def test_garbage_after_a_gzip_member_is_recorded(corpus):
    notes = {Path(note["file"]).name: note["kind"] for note in corpus.manifest["damaged_files"]}
    assert "trailing_garbage.jsonl.gz" in notes


@pytest.mark.parametrize("file", WRONG_COLUMN)
def test_a_wrong_column_is_one_line_before_anything_is_written(tmp_path, file):
    recipe = recipe_of([source_of("web", MALFORMED / file)])
    with pytest.raises(SourceError, match=r"^[^\n]*column[^\n]*$"):
        build(tmp_path, recipe)
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("file", DAMAGED)
def test_a_damaged_file_fails_the_job_by_name(tmp_path, file):
    with pytest.raises(CorpusError, match=Path(file).name) as caught:
        build(tmp_path, recipe_of([source_of("web", MALFORMED / file)]))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "corpus" / "_SUCCESS").exists()


@pytest.mark.parametrize("file", DAMAGED)
def test_a_damaged_file_can_be_passed_over_and_is_recorded(tmp_path, file):
    good = jobs.write_rows(tmp_path / "good.jsonl", [{"text": "one good document"}])
    recipe = recipe_of(
        [source_of("web", [good, MALFORMED / file])], on_bad_file="skip", dedup={"scope": "source"}
    )
    corpus = build(tmp_path, recipe)
    assert [Path(note["file"]).name for note in corpus.manifest["damaged_files"]] == [
        Path(file).name
    ]
    assert corpus.ledger()["read"] >= 1


def test_rows_before_the_damage_are_kept(tmp_path):
    rows = [{"text": f"document number {k} says {k * 7919}"} for k in range(3000)]
    whole = jobs.write_rows(tmp_path / "whole.jsonl.gz", rows).read_bytes()
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    corpus = build(
        tmp_path, recipe_of([source_of("web", tmp_path / "cut.jsonl.gz")], on_bad_file="skip")
    )
    kept = corpus.ledger()["read"] - corpus.ledger().get("malformed:invalid_json", 0)
    assert 1000 < kept < 2000


def test_a_file_that_changes_between_the_reads_is_an_error(tmp_path, monkeypatch):
    rows = [{"text": document("web", "web", k)} for k in range(50)]
    path = jobs.write_rows(tmp_path / "web.jsonl", rows)
    original = tokenize.tokenize_piece

    def changed(*arguments):
        path.write_bytes(path.read_bytes().replace(b"e", b"a"))
        return original(*arguments)

    monkeypatch.setattr(tokenize, "tokenize_piece", changed)
    with pytest.raises(CorpusError, match=r"web\.jsonl changed while the job ran"):
        build(tmp_path, recipe_of([source_of("web", path)]))


def test_a_text_over_the_limit_is_rejected_and_the_job_lives(tmp_path):
    rows = [{"text": "small"}, {"text": "x" * 5000}, {"text": "y" * 999}]
    path = jobs.write_rows(tmp_path / "web.jsonl", rows)
    corpus = build(tmp_path, recipe_of([source_of("web", path)], max_doc_bytes=1000))
    assert corpus.ledger()["malformed:too_large"] == 1
    assert corpus.ledger()["read"] == 3


def test_a_very_long_line_is_a_document_like_others(tmp_path):
    rows = [{"text": "first"}, {"text": "word " * 300_000}, {"text": "last"}]
    path = jobs.write_rows(tmp_path / "web.jsonl", rows)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    corpus = build(tmp_path, recipe_of([source_of("web", path)]))
    assert corpus.ledger()["read"] == corpus.ledger()["train"] + corpus.ledger().get("val", 0) == 3


def test_a_hub_dataset_is_read_once_and_landed(tmp_path, monkeypatch):
    """Several shards, a config, another column name, read through `datasets` itself."""
    texts = [document("web", "web", k) for k in range(300)]
    repo = tmp_path / "repo"
    for k in range(3):
        table = pa.table({"body": texts[k::3], "key": [f"{k}-{n}" for n in range(100)]})
        path = repo / "fine" / f"part-{k}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, row_group_size=20)
    (repo / "coarse").mkdir()
    pq.write_table(pa.table({"other": ["x"]}), repo / "coarse" / "part.parquet")
    configs = [{"config_name": name, "data_files": f"{name}/*"} for name in ("coarse", "fine")]
    (repo / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': configs})}---\n")
    source = {
        **source_of("web", "", text_column="body", id_column="key"),
        "files": None,
        # Relative to the recipe, as all paths.
        "huggingface": {"repo": "../repo", "config": "fine"},
    }
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    from_hub = build(tmp_path / "hub", recipe_of([source]))

    rows = [{"body": text, "key": f"{n % 3}-{n // 3}"} for n, text in enumerate(texts)]
    path = jobs.write_rows(tmp_path / "web.jsonl", rows)
    local = source_of("web", path, text_column="body", id_column="key")
    assert build(tmp_path / "files", recipe_of([local])).hashes() == from_hub.hashes()
    assert not (from_hub.folder / "_work").exists()

    source["text_column"] = "text"
    with pytest.raises(SourceError, match=r"'text'.*body, key"):
        build(tmp_path / "wrong", recipe_of([source]))


def test_parquet_and_large_compressed_files_give_the_same_bytes(tmp_path, monkeypatch):
    rows = [{"text": document("web", "web", k)} for k in range(400)]
    plain = jobs.write_rows(tmp_path / "web.jsonl", rows)
    packed = jobs.write_rows(tmp_path / "web.jsonl.gz", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "web.parquet", row_group_size=37)
    reference = build(tmp_path / "plain", recipe_of([source_of("web", plain)]))
    parquet = recipe_of([source_of("web", tmp_path / "web.parquet")])
    pieces = build(tmp_path / "parquet", parquet, "--piece_bytes=5000")
    monkeypatch.setattr("transforms.land.LARGE_COMPRESSED_BYTES", 1000)
    monkeypatch.setattr("transforms.readers.landed.LANDED_BYTES", 20_000)
    landed = build(tmp_path / "landed", recipe_of([source_of("web", packed)]))
    assert pieces.hashes() == reference.hashes()
    assert landed.hashes() == reference.hashes()
