from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.readers.reading import MALFORMED, files, read_source
from transforms.errors import DamagedFileError, SourceError
from transforms.readers import planning

TEXTS = ["first", None, "", "naïve 日本", "last"]
KINDS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}


def write(path: Path, texts: pa.Array, **options) -> Path:
    table = pa.table({"id": pa.array(range(len(texts))), "text": texts, "other": texts})
    pq.write_table(table, path, **options)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_text_column(kind: str, tmp_path) -> None:
    values = pa.array(TEXTS)
    texts = values.dictionary_encode() if kind == "dictionary" else values.cast(KINDS[kind])
    outcome = read_source(files(write(tmp_path / "a.parquet", texts), id_column="id"))
    assert outcome.texts == ["first", "", "naïve 日本", "last"]
    assert outcome.bad == [(1, "null_text")]
    assert outcome.ids == ["0", "2", "3", "4"]


@pytest.mark.parametrize("kind", ["binary", "string"])
def test_bytes_that_are_not_utf8(kind: str, tmp_path) -> None:
    raw = pa.array([b"good", b"\xff\xfe", b"\xed\xa0\x80", "é".encode()[:1], b"end"], pa.binary())
    texts = pa.Array.from_buffers(KINDS[kind], len(raw), raw.buffers())
    outcome = read_source(files(write(tmp_path / "a.parquet", texts)))
    assert outcome.texts == ["good", "end"]
    assert outcome.bad == [(1, "invalid_utf8"), (2, "lone_surrogate"), (3, "invalid_utf8")]


def test_a_text_over_the_limit_is_too_large(tmp_path) -> None:
    path = write(tmp_path / "a.parquet", pa.array(["x" * 10, "x" * 11, "x"]))
    outcome = read_source(files(path, max_doc_bytes=10))
    assert outcome.texts == ["x" * 10, "x"]
    assert outcome.bad == [(1, "too_large")]


def test_rows_do_not_depend_on_the_size_of_pieces() -> None:
    spec = files(MALFORMED / "parquet/n_many_row_groups.parquet", id_column="id")
    whole = read_source(spec)
    assert len(whole.texts) == 500
    counts = set()
    for piece_bytes in (1, 2000, 10_000, 1 << 30):
        assert read_source(spec, piece_bytes) == whole
        counts.add(len(planning.plan(0, spec, 0, piece_bytes).pieces))
    assert max(counts) == 50
    assert min(counts) == 1
    assert len(counts) == 4


def test_only_the_needed_columns_are_read(tmp_path) -> None:
    path = write(tmp_path / "a.parquet", pa.array(["text"] * 3), compression="none")
    whole = pq.read_metadata(path).row_group(0)
    other = whole.column(2)
    raw = bytearray(path.read_bytes())
    start = other.dictionary_page_offset or other.data_page_offset
    raw[start : start + other.total_compressed_size] = bytes(other.total_compressed_size)
    path.write_bytes(raw)
    assert read_source(files(path)).texts == ["text"] * 3


def test_nested_column_with_null_parents(tmp_path) -> None:
    docs = pa.array([{"text": "a", "lang": "en"}, None, {"text": None, "lang": "en"}])
    pq.write_table(pa.table({"doc": docs, "id": [1, 2, 3]}), tmp_path / "a.parquet")
    outcome = read_source(files(tmp_path / "a.parquet", text_column="doc.text", id_column="id"))
    assert outcome.texts == ["a"]
    assert outcome.reasons() == ["null_text"] * 2


def test_a_literal_dotted_column_wins(tmp_path) -> None:
    table = pa.table({"doc": [{"text": "deep"}], "doc.text": ["flat"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_source(files(tmp_path / "a.parquet", text_column="doc.text")).texts == ["flat"]


@pytest.mark.parametrize("column", ["id", "nope"])
def test_a_bad_id_column_is_an_error(column: str, tmp_path) -> None:
    pq.write_table(pa.table({"text": ["a"], "id": [1.5]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=column):
        planning.plan(0, files(tmp_path / "a.parquet", id_column=column), 0)


def test_a_damaged_page_fails_or_keeps_the_rows_before(tmp_path) -> None:
    path = write(
        tmp_path / "a.parquet",
        pa.array([f"text number {k}" for k in range(30)]),
        row_group_size=10,
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    damaged = pq.read_metadata(path).row_group(1).column(1)
    raw = bytearray(path.read_bytes())
    raw[damaged.data_page_offset + damaged.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(DamagedFileError, match=r"a\.parquet"):
        read_source(files(path))
    outcome = read_source(files(path, on_bad_file="skip"))
    assert outcome.texts == [f"text number {k}" for k in range(10)]
    assert [note.kind for note in outcome.notes] == ["damaged"]
