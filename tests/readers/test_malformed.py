"""Every malformed file gives what the manifest beside it says."""

import json
from pathlib import Path

import pytest

from tests.readers.reading import MALFORMED, files, read_pieces, read_source
from transforms.errors import DamagedFileError, SourceError
from transforms.readers import planning

ENTRIES = {
    entry["file"]: entry
    for entry in json.loads((MALFORMED / "MANIFEST.json").read_bytes())
    if not entry["file"].endswith(".tar.gz")
}


@pytest.fixture
def malformed(tmp_path: Path):
    """The path of a malformed file by its name in the manifest."""

    def path_of(name: str) -> Path:
        if name != "jsonl/very_long_line.jsonl":
            return MALFORMED / name
        lines = (MALFORMED / "jsonl/no_trailing_newline.jsonl").read_bytes().split(b"\n")
        lines[1] = b'{"id": "long", "text": "' + b"word " * 300_000 + b'"}'
        made = tmp_path / "very_long_line.jsonl"
        made.write_bytes(b"\n".join(lines) + b"\n")
        return made

    return path_of


def expecting(*words: str) -> list[str]:
    return [n for n, entry in ENTRIES.items() if entry.get("expect", "").startswith(words)]


READABLE = [
    name
    for name, entry in ENTRIES.items()
    if entry["valid_docs"] is not None and not entry.get("expect", "").startswith("text is ")
]
TRUNCATED = expecting("fails naming", "damaged or not parquet")


@pytest.mark.parametrize("name", READABLE)
def test_good_and_bad_rows_are_counted(name: str, malformed) -> None:
    entry = ENTRIES[name]
    column = "doc.text" if "nested" in name else "text"
    outcome = read_source(files(malformed(name), text_column=column))
    blank = sum(not text.strip() for text in outcome.texts)
    assert len(outcome.texts) - blank == int(entry["valid_docs"])
    bad = entry.get("bad_rows", entry.get("bad_lines"))
    if bad is not None:
        assert len(outcome.bad) + blank == bad


@pytest.mark.parametrize("name", TRUNCATED)
def test_a_damaged_file_fails_with_its_name(name: str, malformed) -> None:
    with pytest.raises(DamagedFileError, match=Path(name).name):
        read_source(files(malformed(name)))


@pytest.mark.parametrize("name", TRUNCATED)
def test_a_damaged_file_may_be_skipped_and_is_recorded(name: str, malformed) -> None:
    outcome = read_source(files(malformed(name), on_bad_file="skip"))
    assert [note.path for note in outcome.notes] == [str(malformed(name))]
    assert not outcome.bad
    # The other compressed file ends inside its only block: no row of it can be had.
    if name == "jsonl/truncated.jsonl.gz":
        assert outcome.texts


@pytest.mark.parametrize("name", expecting("no column text"))
def test_a_missing_column_names_those_there_are(name: str, malformed) -> None:
    import pyarrow.parquet as pq

    with pytest.raises(SourceError, match="no column 'text'") as caught:
        planning.plan(0, files(malformed(name)), 0)
    for column in pq.read_schema(malformed(name)).names:
        assert column in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("parquet/i_int_text.parquet", "int64"), ("parquet/j_list_text.parquet", "list<")],
)
def test_a_column_that_is_not_text_names_its_type(name: str, kind: str, malformed) -> None:
    with pytest.raises(SourceError, match=f"'text' is {kind}"):
        planning.plan(0, files(malformed(name)), 0)


def test_struct_is_no_text_column(malformed) -> None:
    with pytest.raises(SourceError, match="id, doc"):
        planning.plan(0, files(malformed("parquet/o_nested_text.parquet")), 0)


def test_garbage_after_gzip_is_recorded(malformed) -> None:
    outcome = read_source(files(malformed("jsonl/trailing_garbage.jsonl.gz")))
    assert len(outcome.texts) == 3
    assert [note.kind for note in outcome.notes] == ["trailing_garbage"]


def test_a_json_array_gets_a_hint(malformed) -> None:
    plan = planning.plan(0, files(malformed("jsonl/pretty_printed_array.json")), 0)
    assert "JSON array" in plan.warnings[0]
    assert read_pieces(plan.pieces, plan.spec).texts == []


def test_reasons(malformed) -> None:
    fields = read_source(files(malformed("jsonl/field_types.jsonl"), id_column="id"))
    assert fields.reasons() == [
        "missing_text",
        "null_text",
        *["text_not_a_string"] * 5,
        "missing_text",
        "missing_text",
    ]
    assert fields.ids == ["ok0", "empty", "ws", "7", None, "extra", "ok1"]
    for name, reasons in {
        "non_object_lines": {"not_an_object"},
        "latin1": {"invalid_utf8"},
        "half_utf8_tail": {"invalid_json"},
        "broken_lines": {"invalid_json"},
        "deep_nesting": {"invalid_json"},
    }.items():
        assert set(read_source(files(malformed(f"jsonl/{name}.jsonl"))).reasons()) == reasons
