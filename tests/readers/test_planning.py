import gzip
import os

import orjson
import pytest

from tests.readers.reading import files, read_pieces
from transforms.errors import DamagedFileError, SourceError
from transforms.readers import planning
from transforms.readers.planning import MAX_PIECE_BYTES, PIECE_BYTES, PIECES


def write(path, *rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def test_files_are_sorted_and_counted_once(tmp_path) -> None:
    for name in ("b", "a", "sub/c"):
        write(tmp_path / f"{name}.jsonl", {"text": name})
    spec = files(tmp_path / "**/*.jsonl", tmp_path / "b.jsonl")
    plan = planning.plan(4, spec, 10)
    assert [path for path, _ in plan.inputs] == sorted(
        str(tmp_path / f"{name}.jsonl") for name in ("a", "b", "sub/c")
    )
    assert [size for _, size in plan.inputs] == [13, 13, 17]
    assert sorted(read_pieces(plan.pieces, spec).texts) == ["a", "b", "sub/c"]
    assert {piece.source for piece in plan.pieces} == {4}
    assert len({piece.number for piece in plan.pieces}) == 3
    assert plan.pieces == planning.plan(4, spec, 10).pieces


def test_a_name_with_brackets_is_taken_as_it_stands(tmp_path) -> None:
    write(tmp_path / "a[1].jsonl", {"text": "x"})
    assert len(planning.plan(0, files(tmp_path / "a[1].jsonl"), 0).inputs) == 1


def test_no_match_is_an_error(tmp_path) -> None:
    with pytest.raises(SourceError, match=r"nope\*\.jsonl matches no file"):
        planning.plan(0, files(tmp_path / "nope*.jsonl"), 0)
    with pytest.raises(SourceError, match="is a folder"):
        planning.plan(0, files(tmp_path), 0)


def test_an_unreadable_format_fails_or_is_skipped(tmp_path) -> None:
    write(tmp_path / "a.jsonl", {"text": "x"})
    (tmp_path / "b.jsonl").write_bytes(b"BZh9")
    with pytest.raises(DamagedFileError, match=r"b\.jsonl.*bzip2"):
        planning.plan(0, files(tmp_path / "*"), 0)
    plan = planning.plan(0, files(tmp_path / "*", on_bad_file="skip"), 0)
    assert [os.path.basename(note.path) for note in plan.skipped] == ["b.jsonl"]
    assert len(plan.pieces) == 1


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_missing_column_names_the_keys(pack, tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(pack(b'not json\n{"content": "x", "id": 1}\n{"lang": "en"}\n'))
    with pytest.raises(SourceError, match="no column 'text'; the columns are: content, id, lang"):
        planning.plan(0, files(path), 0)
    assert planning.plan(0, files(path, text_column="content"), 0).pieces


@pytest.mark.parametrize("empty", ["", " \n\u3000", None])
def test_eight_empty_texts_are_suspicious(empty, tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, *[{"text": empty}] * 8, {"text": "x"})
    with pytest.raises(SourceError, match="wrong column"):
        planning.plan(0, files(path), 0)
    write(path, *[{"text": empty}] * 7, {"text": "x"})
    assert planning.plan(0, files(path), 0).pieces


def test_an_empty_file_is_a_warning(tmp_path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"")
    plan = planning.plan(0, files(tmp_path / "*"), 0)
    assert plan.pieces == []
    assert "0 bytes" in plan.warnings[0]


def test_read_fraction_goes_by_names_below_the_common_folder(tmp_path) -> None:
    for root in ("one", "elsewhere/two"):
        for k in range(50):
            write(tmp_path / root / f"part{k % 2}" / f"{k}.jsonl", {"text": f"{k}"})
    chosen = []
    for root in ("one", "elsewhere/two"):
        spec = files(tmp_path / root / "*/*.jsonl", read_fraction=0.3)
        plan = planning.plan(0, spec, 0)
        assert plan.total == 50
        assert plan.chosen == len(plan.inputs)
        chosen.append(read_pieces(plan.pieces, spec).texts)
    assert chosen[0] == chosen[1]
    assert 5 <= len(chosen[0]) <= 25


def test_read_fraction_takes_at_least_one_and_grows() -> None:
    names = [f"{k}.jsonl" for k in range(1000)]
    assert len(planning.choose(names, 1e-12)) == 1
    tenth, half = planning.choose(names, 0.1), planning.choose(names, 0.5)
    assert set(tenth) < set(half)
    assert 60 < len(tenth) < 140
    assert planning.choose(names, 1.0) == list(range(1000))


def test_a_large_input_makes_larger_pieces_and_not_more_of_them() -> None:
    assert planning.piece_bytes_for(0) == planning.piece_bytes_for(8 << 30) == PIECE_BYTES
    assert 90_000_000_000 / planning.piece_bytes_for(90_000_000_000) < PIECES + 1
    assert planning.piece_bytes_for(5 << 40) == MAX_PIECE_BYTES
