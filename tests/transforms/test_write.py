import hashlib
from dataclasses import asdict

import apache_beam as beam
import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.reference.packing import pack as pack_plainly
from tests.transforms.eager import MODES, REPLAYED, are, run
from tests.transforms.steps import cut, files_in
from transforms import records, storage
from transforms.errors import InternalError
from transforms.kernels.packing import packed_cost
from transforms.names import save_names
from transforms.shards import ShardInfo
from transforms.tokenize import TRAIN, VAL, group_key
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import TokenizerSpec
from transforms.work import WorkFolder
from transforms.write import WriteSettings, WriteShards

SEQ_LEN = 16
PIECES = 3


@pytest.fixture
def settings(tmp_path):
    tokenizer, _ = prepare(TokenizerSpec("bytes"))
    return WriteSettings(
        sources=("web", "books"),
        named=(True, False),
        seq_len=SEQ_LEN,
        tokens_per_shard=1000,
        tokenizer=tokenizer,
        work=WorkFolder(str(tmp_path / "work")),
        output=str(tmp_path / "corpus"),
    )


@pytest.fixture
def chosen(settings):
    """Documents of both splits and sources, whose ids lie in the work files of three pieces."""
    generator = np.random.default_rng(2)
    found = np.zeros(120, records.CHOSEN)
    found["shuffle_hi"], found["shuffle_lo"] = generator.integers(0, 1 << 64, (2, 120), np.uint64)
    found["digest_hi"] = np.arange(120)
    found["ids"] = generator.integers(1, 60, 120)
    found["cluster"] = generator.integers(1, 9, 120)
    for piece in range(PIECES):
        mine = np.flatnonzero(np.arange(120) % PIECES == piece)
        found["piece"][mine] = piece
        # A piece is of one source.
        found["source"][mine] = piece % 2
        found["place"][mine] = np.arange(len(mine))
        found["offset"][mine] = np.r_[0, np.cumsum(found["ids"][mine])[:-1]]
        ids = np.concatenate([ids_of(found[k]) for k in mine.tolist()])
        storage.write_whole(settings.work.tokens(piece), ids.tobytes())
        names = [f"name{k}" for k in mine.tolist()]
        save_names(settings.work.names(piece), names)
    return {TRAIN: found[:100], VAL: found[100:]}


def ids_of(row):
    return (np.arange(int(row["ids"])) + int(row["digest_hi"])).astype("<u2") % 256


def spent_by(chosen):
    """What the budget says of them."""
    spent = {}
    for split, found in chosen.items():
        for place in (0, 1):
            of_source = found[found["source"] == place]
            cost = packed_cost(of_source["ids"].astype(np.int64), SEQ_LEN)
            spent[group_key(split, place)] = len(of_source), int(cost.sum())
    return list(spent.items())


def write(settings, elements, spent, *options):
    def build(pipeline):
        inputs = {
            "chosen": pipeline | "C" >> beam.Create(elements),
            "spent": pipeline | "S" >> beam.Create(spent),
        }
        return {"shards": inputs | WriteShards(settings)}

    infos = run(build, *options)["shards"]
    return sorted(infos, key=lambda info: (info.split, info.file))


def packed(chosen):
    return [(split, found.tobytes()) for split, found in chosen.items()]


@MODES
def test_shards_hold_the_documents_in_shuffle_order(settings, chosen, options):
    infos = write(settings, packed(chosen), spent_by(chosen), *options)
    assert are(infos, ShardInfo)
    for split, name in ((TRAIN, "train"), (VAL, "val")):
        of_split = [info for info in infos if info.split == name]
        assert [info.file for info in of_split] == [
            f"shard_{k:05d}.tokens.bin" for k in range(len(of_split))
        ]
        waiting = sorted(chosen[split], key=lambda row: (row["shuffle_hi"], row["shuffle_lo"]))
        for info in of_split:
            here, waiting = waiting[: info.documents], waiting[info.documents :]
            raw = storage.read_bytes(f"{settings.output}/{name}/{info.file}")
            windows = np.frombuffer(raw, "<u2").reshape(-1, SEQ_LEN)
            ids = [ids_of(row).tolist() for row in here]
            expected = pack_plainly(ids, SEQ_LEN, 256, 257, 258)
            assert windows.tolist() == [list(window) for window in expected]
            assert info.sequences == len(windows)
            assert info.sha256 == hashlib.sha256(raw).hexdigest()
            docs = pq.read_table(f"{settings.output}/{name}/{info.docs_file}").to_pylist()
            assert [row["id"] for row in docs] == [
                f"name{row['digest_hi']}" if row["source"] == 0 else None for row in here
            ]
            assert [row["cluster_size"] for row in docs] == [row["cluster"] for row in here]
        assert waiting == []
    assert len([info for info in infos if info.split == "train"]) == 4


def test_elements_and_their_order_do_not_matter(settings, chosen):
    parts = [
        (split, part)
        for split, found in chosen.items()
        for part in cut(found.tobytes(), records.CHOSEN, 9)
    ]
    one = write(settings, packed(chosen), spent_by(chosen)), files_in(settings.output)
    several = write(settings, parts[::-1], spent_by(chosen)[::-1])
    assert (several, files_in(settings.output)) == one


def test_writing_again_leaves_the_same_files_and_no_others(settings, chosen):
    infos = write(settings, packed(chosen), spent_by(chosen))
    first = files_in(settings.output)
    assert len(first) == 3 * len(infos)
    assert write(settings, packed(chosen), spent_by(chosen), REPLAYED) == infos
    assert files_in(settings.output) == first


def test_ranges_that_no_document_fell_in_leave_no_gap_in_the_numbers(settings, chosen):
    few = {TRAIN: chosen[TRAIN][[0, 1]].copy()}
    few[TRAIN]["shuffle_hi"] = 1 << 61, 7 << 61
    spent = [(group_key(TRAIN, 0), (2, 8 * settings.tokens_per_shard))]
    infos = write(settings, packed(few), spent)
    assert [info.file for info in infos] == ["shard_00000.tokens.bin", "shard_00001.tokens.bin"]
    assert [asdict(info)["documents"] for info in infos] == [1, 1]


def test_an_id_outside_of_the_vocabulary_is_never_written(settings, chosen):
    ids = np.full(10_000, 259, "<u2")
    storage.write_whole(settings.work.tokens(1), ids.tobytes())
    with pytest.raises(InternalError, match="259 is outside the vocabulary of 259"):
        write(settings, packed(chosen), spent_by(chosen))


@MODES
def test_nothing_chosen_writes_nothing(settings, options):
    assert write(settings, [], [], *options) == []
    assert files_in(settings.output) == {}
