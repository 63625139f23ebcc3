import tarfile

import orjson
import pytest

from tests.readers.reading import MALFORMED, files, read_source
from transforms.readers.jsonl import Row, judge, parse_lines

with tarfile.open(MALFORMED / "JSONTestSuite_test_parsing.tar.gz") as archive:
    SUITE = {
        member.name.rpartition("/")[2]: archive.extractfile(member).read()
        for member in archive
        if member.name.endswith(".json")
    }


@pytest.mark.parametrize("name", sorted(SUITE))
def test_json_test_suite(name: str) -> None:
    verdict = judge(SUITE[name], "text")
    if name.startswith("y_"):
        assert verdict in ("not_an_object", "missing_text")
    elif name.startswith("n_"):
        blank = not SUITE[name].strip()
        assert verdict is None if blank else verdict in ("invalid_json", "invalid_utf8")
    batch = parse_lines([SUITE[name]], 0, files("unused"))
    assert not len(batch.texts)


def test_the_suite_is_there() -> None:
    assert sum(name.startswith("y_") for name in SUITE) > 90
    assert sum(name.startswith("n_") for name in SUITE) > 180


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (rb'{"text": "a\ud800"}', "lone_surrogate"),
        (rb'{"text": "\udc00\ud800"}', "lone_surrogate"),
        (b'{"text": "\xed\xa0\x80"}', "lone_surrogate"),
        (rb'{"text": "\ud83d\ude00"}', Row("😀".encode(), None)),
        (rb'{"text": "\\ud800"}', Row(rb"\ud800", None)),
        (rb'{"text": "fine", "other": "\ud800"}', Row(b"fine", None)),
        (rb'{"text": "fine", "other": "\ud800", "nan": NaN}', "invalid_json"),
        (b'{"text": "\xff"}', "invalid_utf8"),
        (b'{"text": "fine"}\r', Row(b"fine", None)),
        (b" \t\r", None),
        (b'"text"', "not_an_object"),
    ],
)
def test_verdicts(line: bytes, verdict: Row | str | None) -> None:
    assert judge(line, "text") == verdict


def test_dotted_column_and_literal_key(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"doc": {"text": "deep"}}, {"doc.text": "flat", "doc": {"text": "no"}}, {"doc": "x"}]
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    outcome = read_source(files(path, text_column="doc.text"))
    assert outcome.texts == ["deep", "flat"]
    assert outcome.bad == [(2, "missing_text")]


def test_ids_are_strings_or_none(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    ids = ["a", 5, 2**60, None, True, 1.5, ["x"]]
    lines = [orjson.dumps({"text": "t", "id": value}) for value in ids] + [b'{"text": "t"}']
    path.write_bytes(b"\n".join(lines))
    outcome = read_source(files(path, id_column="id"))
    assert outcome.ids == ["a", "5", str(2**60), None, None, None, None, None]


def test_only_newline_ends_a_line(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    text = "one\u2028two\u0085three\x0bfour\rfive"
    path.write_bytes(b'{"text": "one\xe2\x80\xa8two\xc2\x85three\\u000bfour\\rfive"}\n')
    assert read_source(files(path)).texts == [text]


def test_a_text_over_the_limit_is_too_large(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(orjson.dumps({"text": "é" * n}) + b"\n" for n in (5, 6, 5)))
    outcome = read_source(files(path, max_doc_bytes=10))
    assert outcome.texts == ["é" * 5] * 2
    assert outcome.bad == [(1, "too_large")]


def test_a_line_over_the_limit_is_dropped_as_it_streams(tmp_path) -> None:
    import tracemalloc

    path = tmp_path / "a.jsonl"
    good = b'{"text": "good"}\n'
    with path.open("wb") as file:
        file.write(good + b'{"text": "')
        for _ in range(40):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n' + good)
    spec = files(path, max_doc_bytes=1000)
    tracemalloc.start()
    whole = read_source(spec, piece_bytes=1 << 40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 << 20
    assert whole.texts == ["good", "good"]
    assert whole.bad == [(1, "too_large")]
    assert read_source(spec, piece_bytes=3 << 20) == whole
