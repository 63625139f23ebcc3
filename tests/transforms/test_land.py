import numpy as np
import pytest

from tests import jobs
from tests.transforms.eager import MODES, are, graph, run
from tests.transforms.steps import files_in, texts_of
from transforms import readers
from transforms.documents import Piece, RowBatch, piece_number
from transforms.land import LandPieces, write_pieces
from transforms.sources import FilesInput, SourceSpec
from transforms.work import WorkFolder


@pytest.fixture
def spec(tmp_path):
    return SourceSpec("web", "web", FilesInput((f"{tmp_path}/*.jsonl*",)))


@pytest.fixture
def small_landings(monkeypatch):
    monkeypatch.setattr("transforms.readers.landed.LANDED_BYTES", 4000)


def land(spec, folder, pieces, *options):
    work = WorkFolder(str(folder / "work"))
    write_pieces(work.pieces(), pieces)

    def build(pipeline):
        return {"pieces": pipeline | LandPieces((spec,), work)}

    return sorted(run(build, *options)["pieces"], key=lambda piece: piece.number)


def texts_in(pieces, spec):
    batches = [batch for piece in pieces for batch in readers.read(piece, spec)]
    return [
        text for batch in batches if isinstance(batch, RowBatch) for text in batch.texts.strings()
    ]


def test_what_can_be_read_twice_is_left_where_it_is(spec, tmp_path):
    pieces = [
        Piece(piece_number(k), 0, "jsonl", f"{tmp_path}/{k}.jsonl", 5 * k, 7) for k in range(9)
    ]
    assert land(spec, tmp_path, pieces) == pieces
    assert list(files_in(tmp_path / "work")) == ["pieces.jsonl"]


@pytest.mark.usefixtures("small_landings")
@MODES
def test_a_large_compressed_file_becomes_pieces_with_the_same_rows(spec, tmp_path, options):
    texts = texts_of(60)
    path = jobs.write_rows(tmp_path / "web.jsonl.gz", [{"text": text} for text in texts])
    planned = [Piece(piece_number(3), 0, "compressed_jsonl", str(path), land=True)]
    pieces = land(spec, tmp_path, planned, *options)
    assert are(pieces, Piece)
    assert {piece.kind for piece in pieces} == {"landed"}
    assert [piece.number for piece in pieces] == [piece_number(3, k) for k in range(len(pieces))]
    assert {piece.name() for piece in pieces} == {str(path)}
    assert sum(piece.size for piece in pieces) == sum(len(text.encode()) for text in texts)
    assert texts_in(pieces, spec) == texts


@pytest.mark.usefixtures("small_landings")
def test_landed_pieces_are_as_large_as_asked(spec, tmp_path):
    generator = np.random.default_rng(0)
    rows = [{"text": generator.bytes(100_000).hex()} for _ in range(30)]
    path = jobs.write_rows(tmp_path / "web.jsonl.gz", rows)
    work = WorkFolder(str(tmp_path))
    piece = Piece(piece_number(0), 0, "compressed_jsonl", str(path), land=True)
    write_pieces(work.pieces(), [piece])

    def count(size):
        return len(run(lambda p: {"pieces": p | LandPieces((spec,), work, size)})["pieces"])

    assert count(0) > 3
    assert count(1 << 30) == 1


@pytest.mark.usefixtures("small_landings")
def test_landing_again_leaves_the_same_files(spec, tmp_path):
    path = jobs.write_rows(tmp_path / "web.jsonl.gz", [{"text": text} for text in texts_of(60)])
    planned = [Piece(piece_number(0), 0, "compressed_jsonl", str(path), land=True)]
    first = land(spec, tmp_path, planned), files_in(tmp_path / "work")
    again = land(spec, tmp_path, planned, "--direct_runner_bundle_repeat=2")
    assert (again, files_in(tmp_path / "work")) == first


def test_no_pieces_are_no_error(spec, tmp_path):
    assert land(spec, tmp_path, []) == []


def test_the_list_of_pieces_is_dealt_out(spec, tmp_path):
    """A `Create` is one bundle: without a reshuffle one worker would read everything."""
    step = LandPieces((spec,), WorkFolder(str(tmp_path)))
    transforms = graph(lambda pipeline: pipeline | step).transforms.values()
    urns = {t.unique_name.rpartition("/")[2]: t.spec.urn for t in transforms}
    reshuffles = [name for name, urn in urns.items() if "reshuffle" in urn]
    assert sorted(reshuffles) == ["SpreadPieces", "SpreadPlanned"]
