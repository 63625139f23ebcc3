"""Several columns of a row, as one JSON object in place of a text."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.readers.reading import files, read_pieces, read_source
from transforms import readers
from transforms.errors import SourceError
from transforms.readers import planning
from transforms.readers.landed import land_rows

COLUMNS = ("prompt", "code", "score")
ROWS = [
    {"code": ["a", "b"], "prompt": "één", "score": 1, "other": "x"},
    {"prompt": None, "code": [], "score": 0.5},
    {"prompt": "no score", "code": ["c"]},
]
OBJECTS = [
    '{"prompt":"één","code":["a","b"],"score":1}',
    '{"prompt":null,"code":[],"score":0.5}',
    '{"prompt":"no score","code":["c"],"score":null}',
]


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_rows_are_objects_of_just_the_columns_in_their_order(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(*ROWS))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines(*ROWS)))
    outcome = read_source(files(tmp_path / "*", columns=COLUMNS))
    assert outcome.texts == OBJECTS * 2
    assert outcome.bad == []


def test_parquet_gives_the_same(tmp_path):
    rows = [{name: row.get(name) for name in (*COLUMNS, "other")} for row in ROWS]
    for row in rows:
        row["score"] = None if row["score"] is None else float(row["score"])
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=2)
    outcome = read_source(files(tmp_path / "a.parquet", columns=COLUMNS), piece_bytes=1)
    assert [json.loads(text) for text in outcome.texts] == [json.loads(text) for text in OBJECTS]
    assert [list(json.loads(text)) for text in outcome.texts] == [list(COLUMNS)] * 3


def test_dotted_names_reach_into_objects(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines({"m": {"text": "in"}}, {"m.text": "flat"}, {"m": 3}))
    outcome = read_source(files(tmp_path / "a.jsonl", columns=("m.text",)))
    assert outcome.texts == ['{"m.text":"in"}', '{"m.text":"flat"}', '{"m.text":null}']


def test_bad_rows_have_their_reasons(tmp_path):
    long = {"prompt": "x" * 200, "code": "y" * 200}
    (tmp_path / "a.jsonl").write_bytes(
        lines({"prompt": "good", "code": 1, "score": 2})
        + b'{"prompt": "a\n'
        + b"[1, 2]\n"
        + b'{"prompt": "\xff"}\n'
        + b'{"prompt": "a", "code": ["\\ud800"]}\n'
        + b'{"prompt": "kept", "code": 1, "other": "\\ud800"}\n'
        + lines(long)
    )
    outcome = read_source(files(tmp_path / "a.jsonl", columns=COLUMNS, max_doc_bytes=300))
    assert outcome.reasons() == [
        "invalid_json",
        "not_an_object",
        "invalid_utf8",
        "lone_surrogate",
        "too_large",
    ]
    assert outcome.texts == [
        '{"prompt":"good","code":1,"score":2}',
        '{"prompt":"kept","code":1,"score":null}',
    ]


def test_text_that_is_not_utf8_is_found_in_its_row_also_in_lists(tmp_path):
    table = pa.table(
        {
            "prompt": pa.array([b"fine", b"\xff", b"too"], pa.binary()),
            "code": pa.array([[b"ok"], [b"ok"], [b"a", b"\xfe"]], pa.list_(pa.binary())),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    outcome = read_source(files(tmp_path / "a.parquet", columns=("prompt", "code")))
    assert outcome.texts == ['{"prompt":"fine","code":["ok"]}']
    assert outcome.bad == [(1, "invalid_utf8"), (2, "invalid_utf8")]


def test_landing_carries_them(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(*ROWS) + b"[]\n")
    plan = planning.plan(0, files(tmp_path / "a.jsonl", columns=COLUMNS), 0)
    (piece,) = plan.pieces
    landed = list(land_rows(readers.read(piece, plan.spec), piece, str(tmp_path / "work")))
    outcome = read_pieces(landed, plan.spec)
    assert outcome.texts == OBJECTS
    assert outcome.bad == [(3, "not_an_object")]


def test_a_column_that_no_first_row_has_is_an_error_that_names_those_there_are(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(*ROWS))
    with pytest.raises(SourceError, match="no column 'answer'; the columns are: code, prompt, sc"):
        read_source(files(tmp_path / "a.jsonl", columns=("prompt", "answer")))
    pq.write_table(pa.table({"prompt": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match="no column 'answer'; the columns are: prompt"):
        read_source(files(tmp_path / "b.parquet", columns=("prompt", "answer")))


def test_a_column_that_is_empty_in_the_first_rows_is_an_error(tmp_path):
    rows = [{"prompt": f"p{k}", "code": [] if k < 8 else ["a"]} for k in range(10)]
    (tmp_path / "a.jsonl").write_bytes(lines(*rows))
    with pytest.raises(SourceError, match="column 'code' is empty in the first 8 rows"):
        read_source(files(tmp_path / "a.jsonl", columns=("prompt", "code")))
    zeros = [{"prompt": f"p{k}", "code": 0} for k in range(10)]
    (tmp_path / "b.jsonl").write_bytes(lines(*zeros))
    assert len(read_source(files(tmp_path / "b.jsonl", columns=("prompt", "code"))).texts) == 10


def test_a_column_that_json_has_no_words_for_is_an_error(tmp_path):
    table = pa.table({"prompt": ["a"], "when": pa.array([0], pa.timestamp("s"))})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"column 'when' is timestamp\[ms\]: name a column"):
        read_source(files(tmp_path / "a.parquet", columns=("prompt", "when")))
