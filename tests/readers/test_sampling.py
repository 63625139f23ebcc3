import gzip

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transforms.documents import Piece
from transforms.readers import planning, sampling
from transforms.sources import FilesInput, HubInput, SourceSpec, SyntheticInput


def texts_of(count):
    generator = np.random.default_rng(5)
    return [f"{k:06d} " + "word " * int(generator.integers(5, 80)) for k in range(count)]


def as_jsonl(path, texts):
    path.write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in texts))


def as_gzip(path, texts):
    path.write_bytes(
        gzip.compress(b"".join(orjson.dumps({"text": text}) + b"\n" for text in texts))
    )


def as_parquet(path, texts):
    pq.write_table(pa.table({"text": texts}), path, row_group_size=50)


FORMATS = {"jsonl": as_jsonl, "gzip": as_gzip, "parquet": as_parquet}


def planned(folder, write, texts, files=3):
    folder.mkdir()
    for number, some in enumerate(np.array_split(np.array(texts, object), files)):
        write(folder / f"part-{number}", some.tolist())
    spec = SourceSpec("web", "web", FilesInput((f"{folder}/*",)))
    return planning.plan(0, spec, 0, 64 << 10)


def sampled_texts(found):
    return [
        text for part in found.parts for batch in part.batches for text in batch.texts.strings()
    ]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_small_source_is_read_whole(tmp_path, kind):
    texts = texts_of(300)
    found = sampling.sample(planned(tmp_path / "in", FORMATS[kind], texts), 1)
    assert found.whole()
    assert sorted(sampled_texts(found)) == texts


@pytest.mark.parametrize("kind", FORMATS)
def test_a_part_of_a_large_source_tells_of_the_whole(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(sampling, "PART_BYTES", 4 << 10)
    texts = texts_of(3000)
    plan = planned(tmp_path / "in", FORMATS[kind], texts)
    found = sampling.sample(plan, 1)
    read = sampled_texts(found)
    assert not found.whole()
    assert len(read) < 1000
    assert len(set(read)) == len(read)
    # Rows of every file, and of its end as well as of its start.
    places = [int(text[:6]) // 500 for text in read]
    assert set(places) == set(range(6))
    units = sum(part.units for part in found.parts)
    assert len(read) * found.total / units == pytest.approx(3000, rel=0.2)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_seed_alone_decides(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(sampling, "PART_BYTES", 4 << 10)
    plan = planned(tmp_path / "in", FORMATS[kind], texts_of(3000))
    first, again, other = (sampled_texts(sampling.sample(plan, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_generated_documents_are_counted(monkeypatch):
    monkeypatch.setattr(planning, "SYNTHETIC_PIECE_DOCUMENTS", 20)
    plan = planning.plan(0, SourceSpec("web", "web", SyntheticInput(1000)), 0)
    found = sampling.sample(plan, 1)
    assert len(found.parts) == sampling.PARTS
    assert found.total == 1000
    assert all(part.units == 20 == len(part.batches[0].rows) for part in found.parts)


def test_the_size_of_a_hub_dataset_is_not_known():
    # What its pieces are does not matter here, only that they are a hub's.
    pieces = [Piece(k, 0, "synthetic", "a shard", 10 * k, 10 * k + 10) for k in range(20)]
    spec = SourceSpec("web", "web", HubInput("some/dataset"))
    found = sampling.sample(planning.Plan(pieces, spec, 20, 20, [], [], []), 1)
    assert found.total is None
    assert not found.whole()
    assert len(sampled_texts(found)) == 10 * sampling.HUB_SHARDS


def test_no_rows_are_no_parts(tmp_path):
    (tmp_path / "empty.jsonl").write_bytes(b"")
    spec = SourceSpec("web", "web", FilesInput((f"{tmp_path}/*",)))
    found = sampling.sample(planning.plan(0, spec, 0), 1)
    assert found.parts == []
    assert found.whole()
