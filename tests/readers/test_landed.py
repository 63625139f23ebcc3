from pathlib import Path

import orjson
import pytest

from tests.readers.reading import MALFORMED, files, read_pieces
from transforms import readers
from transforms.errors import DamagedFileError
from transforms.readers import planning
from transforms.readers.landed import LANDED_BYTES, land_rows


def planned(path: Path, **options):
    plan = planning.plan(0, files(path, **options), 3, piece_bytes=1 << 40)
    assert len(plan.pieces) == 1
    return plan.pieces[0], plan.spec


@pytest.mark.parametrize("id_column", [None, "id"])
def test_landed_rows_are_the_rows(id_column: str | None, tmp_path) -> None:
    for name in ("field_types.jsonl", "latin1.jsonl", "trailing_garbage.jsonl.gz"):
        piece, spec = planned(MALFORMED / "jsonl" / name, id_column=id_column)
        landed = list(land_rows(readers.read(piece, spec), piece, str(tmp_path)))
        direct, again = read_pieces([piece], spec), read_pieces(landed, spec)
        assert direct == again
        assert [piece.name() for piece in landed] == [str(MALFORMED / "jsonl" / name)]


def test_samples_of_bad_rows_are_kept(tmp_path) -> None:
    piece, spec = planned(MALFORMED / "jsonl/latin1.jsonl")
    (landed,) = land_rows(readers.read(piece, spec), piece, str(tmp_path))
    bad = [[row for batch in readers.read(p, spec) for row in batch.bad] for p in (piece, landed)]
    assert bad[0] == bad[1]
    assert bad[0][0].sample


def test_pieces_are_small_numbered_apart_and_the_same_each_time(tmp_path) -> None:
    path = tmp_path / "big.jsonl"
    lines = [orjson.dumps({"text": f"{k} " + "x" * 100_000}) for k in range(300)]
    lines[150] = b"broken"
    path.write_bytes(b"\n".join(lines))
    piece, spec = planned(path)
    landed = list(land_rows(readers.read(piece, spec), piece, str(tmp_path / "a")))
    assert len({piece.number for piece in landed}) == len(landed) >= 4
    sizes = [sum(len(batch.texts.data) for batch in readers.read(piece, spec)) for piece in landed]
    assert max(sizes) <= LANDED_BYTES
    assert read_pieces(landed, spec) == read_pieces([piece], spec)
    rows = [sum(len(b.rows) + len(b.bad) for b in readers.read(p, spec)) for p in landed]
    assert [p.rows_before for p in landed] == [sum(rows[:k]) for k in range(len(rows))]
    again = list(land_rows(readers.read(piece, spec), piece, str(tmp_path / "b")))
    for first, second in zip(landed, again, strict=True):
        assert Path(first.path).read_bytes() == Path(second.path).read_bytes()
        assert Path(first.path).name == Path(second.path).name


def test_damage_is_raised_or_kept_with_the_rows(tmp_path) -> None:
    piece, spec = planned(MALFORMED / "jsonl/truncated.jsonl.gz", on_bad_file="skip")
    landed = list(land_rows(readers.read(piece, spec), piece, str(tmp_path)))
    outcome = read_pieces(landed, spec)
    assert outcome.texts
    assert outcome == read_pieces([piece], spec)
    assert outcome.notes[0].kind == "damaged"
    with pytest.raises(DamagedFileError, match=r"truncated\.jsonl\.gz"):
        list(land_rows(readers.read(piece, files(piece.path)), piece, str(tmp_path)))
