"""What a whole traces job keeps, leaves out, and says of it."""

import gzip
import hashlib

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer

from beam_pipeline.verify import problems
from tests import jobs
from tests.jobs import DEMO
from tests.shared import SHARED, needs_shared
from tests.traces_jobs import SMALL, build, build_rows, recipe_of, trace_rows
from transforms.tokenizers.train import train
from transforms.traces.example import Example
from transforms.traces.parsers import ParserSpec, parse
from transforms.traces.readback import texts
from transforms.traces.settle_tokenizer import training_text
from transforms.traces.special_tokens import SpecialTokens, special_names

REASONING = SHARED / "data" / "reasoning"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return build_rows(tmp_path_factory.mktemp("finished"), trace_rows())


def examples_of(rows, spec=None):
    """Parsed rows, by problem; one of each where they are alike."""
    parsed = (parse(spec or ParserSpec(), row) for row in rows)
    found = {}
    for example in parsed:
        if isinstance(example, Example):
            found.setdefault(example.problem, []).append(example)
    return found


def is_held_out(problem, fraction):
    return int.from_bytes(hashlib.sha256(problem.encode()).digest()[:4], "big") / 2**32 < fraction


def windows_of(traces, folder):
    """Texts of each window, decoded, as tuples of problem, thoughts and answer."""
    manifest = traces.layout(folder)
    special = SpecialTokens.from_roles(manifest["special_token_ids"])
    tokenizer = Tokenizer.from_file(str(traces.folder / "tokenizer.json"))
    found = []
    for shard in manifest["shards"]:
        path = traces.folder / folder / shard["file"]
        tokens = np.fromfile(path, manifest["dtype"]).reshape(-1, manifest["seq_len"])
        regions = np.fromfile(str(path).replace("tokens", "regions"), "u1").reshape(tokens.shape)
        for window in zip(tokens, regions, strict=True):
            read = texts(*window, special)
            parts = [read.problem, *read.thoughts, read.answer]
            found.append(tuple(tokenizer.decode(part.tolist()) for part in parts))
    return found


def test_every_row_is_accounted_for(finished):
    ledger = finished.ledger()
    assert ledger["read"] == len(trace_rows())
    assert {name: ledger[name] for name in ledger if name.startswith("malformed")} == {
        "malformed:no_region": 1,
        "malformed:never_closed": 1,
        "malformed:no_prompt": 1,
    }
    assert ledger["duplicate"] == 3
    assert ledger["train"] + ledger["validation"] == 122
    assert ledger["kept_with:text_before_region"] == ledger["kept_with:several_regions"] == 1
    assert list(problems(str(finished.folder))) == []
    rejects = jobs.read_rows(finished.folder / "rejects" / "traces.jsonl")
    assert sorted(row["reason"] for row in rejects) == sorted(
        name for name in ledger if name.startswith("malformed")
    )


@pytest.mark.parametrize("layout", ["flat", "slotted", "adaptive"])
def test_windows_hold_the_examples_of_their_split(finished, layout):
    expected = examples_of(trace_rows())
    seen = []
    for split in ("train", "validation"):
        folder = f"{split}/{layout}"
        windows = windows_of(finished, folder)
        for window in windows:
            assert is_held_out(window[0], 0.2) == (split == "validation")
            assert window in [example.texts() for example in expected[window[0]]]
        digests = [hashlib.sha256(window[0].encode()).digest() for window in windows]
        assert digests == finished.problems(folder)
        seen += digests
        encoding = finished.encoding(folder)
        dropped = sum(n for name, n in encoding.items() if name.startswith("dropped"))
        assert encoding["encoded"] == len(windows)
        assert encoding["read"] == len(windows) + dropped == finished.ledger()[split]
    assert len(seen) == len(set(seen))
    assert finished.encoding("train/slotted")["dropped:too_many_slots"] > 0
    assert finished.encoding("train/flat")["dropped:too_long"] == 1


def test_the_statistics_are_those_of_the_windows(finished):
    sizes = finished.layout("train/adaptive")["size_token_ids"]
    for split in ("train", "validation"):
        manifest = finished.layout(f"{split}/adaptive")
        tokens = np.concatenate(
            [
                np.fromfile(finished.folder / f"{split}/adaptive" / shard["file"], "<u2")
                for shard in manifest["shards"]
            ]
        )
        counts = {size: int((tokens == id_).sum()) for size, id_ in sizes.items()}
        assert manifest["statistics"]["block_counts"] == counts
        of_each = sorted(
            np.isin(tokens.reshape(-1, 256), list(sizes.values())).sum(axis=1).tolist()
        )
        n = len(of_each)
        assert manifest["statistics"]["blocks_per_example"] == {
            "p50": of_each[min(n - 1, int(n * 0.5))],
            "p90": of_each[min(n - 1, int(n * 0.9))],
            "max": of_each[-1],
        }


@pytest.mark.parametrize("layout", ["flat", "slotted", "adaptive"])
def test_the_reader_of_windows_reads_them(finished, layout):
    torch = pytest.importorskip("torch")
    from beam_pipeline.trace_dataset import TraceDataset

    manifest = finished.layout(f"train/{layout}")
    data = TraceDataset(finished.folder / "train" / layout, verify=True)
    assert len(data) == manifest["n_sequences"]
    counts = torch.stack([torch.bincount(item["regions"], minlength=4) for item in data]).sum(0)
    assert counts.tolist() == list(manifest["statistics"]["tokens_by_region"].values())
    slots = [int(item["slot_ids"].max()) + 1 for item in data]
    assert sum(slots) == sum(manifest["statistics"].get("block_counts", {}).values())


def test_validation_problems_are_those_of_the_split(finished):
    held_out = finished.held_out()
    assert len(held_out) == finished.ledger()["validation"]
    expected = examples_of(trace_rows())
    for row in held_out:
        assert is_held_out(row["problem"], 0.2)
        assert row["expected_answer"] in [example.answer for example in expected[row["problem"]]]


def test_a_limit_takes_the_first_in_pick_order_of_all(finished, tmp_path):
    fewer = build_rows(tmp_path, trace_rows(), limit=60)
    ledger = fewer.ledger()
    assert ledger["train"] + ledger["validation"] == 60
    assert ledger["over_limit"] == 122 - 60
    # Held-out problems come in pick order: a limit leaves the first of them.
    assert fewer.held_out() == finished.held_out()[: ledger["validation"]]
    for split in ("train", "validation"):
        assert set(fewer.problems(f"{split}/flat")) < set(finished.problems(f"{split}/flat"))


def test_a_limit_beyond_what_there_is_takes_all(finished, tmp_path):
    assert build_rows(tmp_path, trace_rows(), limit=122).hashes() == finished.hashes()


def test_a_scan_limit_stops_at_the_row_that_reaches_it(tmp_path):
    rows = trace_rows()
    rows = [rows[-5], *rows[:10], rows[-4], *rows[10:]]
    jobs.write_rows(tmp_path / "in" / "0.jsonl", rows[:30])
    # A compressed file comes first in order of work, but not in order of the files.
    jobs.write_rows(tmp_path / "in" / "1.jsonl.gz", rows[30:])
    traces = build(tmp_path, recipe_of(tmp_path / "in" / "*", scan_limit=50), "--piece_bytes=900")
    assert traces.ledger()["read"] == 52
    assert traces.ledger()["malformed:no_region"] == 1
    assert traces.ledger()["malformed:never_closed"] == 1
    assert traces.ledger()["train"] + traces.ledger()["validation"] == 50
    assert traces.manifest["order_dependent"]
    expected = set(examples_of(rows[:52]))
    assert {row["problem"] for row in traces.held_out()} == {
        problem for problem in expected if is_held_out(problem, 0.2)
    }
    assert list(problems(str(traces.folder))) == []


def test_without_a_scan_limit_order_does_not_matter(finished):
    assert not finished.manifest["order_dependent"]


def test_the_tokenizer_is_trained_on_the_unique_examples(tmp_path):
    rows = trace_rows()[:100]
    traces = build_rows(tmp_path, [*rows, *rows[:50]])
    names = list(special_names((8, 32)).values())
    unique = [training_text(example) for (example,) in examples_of(rows).values()]
    expected = Tokenizer.from_str(train(unique, 400, names, 2).to_str())
    used = Tokenizer.from_file(str(traces.folder / "tokenizer.json"))
    assert used.get_vocab() == expected.get_vocab()
    assert traces.manifest["tokenizer"]["name"] == "trained"
    assert (
        traces.manifest["tokenizer"]["sha256"]
        == hashlib.sha256(train(unique, 400, names, 2).to_str().encode()).hexdigest()
    )
    few = {"train": {**SMALL["train"], "max_bytes": 300}}
    other = build_rows(tmp_path / "few", rows, tokenizer=few)
    assert other.manifest["tokenizer"]["sha256"] != traces.manifest["tokenizer"]["sha256"]


def test_a_text_that_spells_special_tokens_stays_text(tmp_path):
    rows = trace_rows()
    rows += [
        {"prompt": f"{k}: is <fill> a </s> token?", "response": "<think><pad></think><size_8>"}
        for k in range(10)
    ]
    traces = build_rows(tmp_path, rows)
    spelled = [w for w in windows_of(traces, "train/adaptive") if "<fill>" in w[0]]
    assert spelled
    assert {window[1:] for window in spelled} == {("<pad>", "<size_8>")}
    assert list(problems(str(traces.folder))) == []


def test_parquet_gives_what_json_lines_give(finished, tmp_path):
    path = tmp_path / "in" / "rows.parquet"
    path.parent.mkdir()
    columns = ("prompt", "response", "other")
    rows = [{name: row.get(name) for name in columns} for row in trace_rows()]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=20)
    traces = build(tmp_path, recipe_of(path), "--piece_bytes=2000")
    assert traces.hashes() == finished.hashes()


def test_a_hub_dataset_gives_what_its_rows_give(finished, tmp_path):
    folder = tmp_path / "dataset"
    jobs.write_rows(folder / "a.jsonl", trace_rows()[:60])
    jobs.write_rows(folder / "b.jsonl", trace_rows()[60:])
    traces = build(tmp_path, {**recipe_of(""), "source": {"huggingface": {"repo": str(folder)}}})
    assert traces.hashes() == finished.hashes()
    assert traces.manifest["source"]["hf_path"] == str(folder)


def test_damage_is_recorded_and_the_rows_before_it_kept(tmp_path):
    raw = b"".join(orjson.dumps(row) + b"\n" for row in trace_rows())
    path = tmp_path / "in" / "rows.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(raw, mtime=0)[:-50])
    traces = build(tmp_path, recipe_of(path, on_bad_file="skip"))
    (damage,) = traces.manifest["damaged_files"]
    assert damage["kind"] == "damaged"
    assert 0 < traces.ledger()["read"] <= len(trace_rows())


FITTING = {
    "financial_cot": (
        {"name": "tagged_columns", "columns": {"prompt": "question", "reasoning": "cot"}},
        {"read": 1106},
    ),
    "math500_traces": (
        {"name": "closing_tag", "columns": {"prompt": "problem", "response": "full_response"}},
        {"read": 70, "malformed:never_closed": 1},
    ),
    "reasoning_gym_rl_traces": (
        {"name": "glaive", "columns": {"prompt": "question", "response": "full_model_response"}},
        {
            "read": 1491,
            "malformed:no_region": 150,
            "malformed:never_closed": 99,
            "malformed:no_answer": 2,
        },
    ),
    "rg_math_eval_traces": (
        {"name": "response_list", "columns": {"prompt": "question", "response": "code"}},
        {"read": 760, "malformed:no_region": 2, "malformed:never_closed": 8},
    ),
}


@needs_shared
@pytest.mark.parametrize("name", FITTING)
def test_real_traces(tmp_path, name):
    parser, told = FITTING[name]
    recipe = recipe_of(
        REASONING / f"{name}.jsonl.gz",
        parser=parser,
        tokenizer={"file": str(DEMO / "tokenizer.json"), "add_missing": True},
        seq_len=2048,
        block=32,
        max_slots=64,
        sizes=[64, 256],
    )
    traces = build(tmp_path, recipe)
    ledger = traces.ledger()
    assert {k: n for k, n in ledger.items() if k == "read" or k.startswith("malformed")} == told
    with gzip.open(REASONING / f"{name}.jsonl.gz") as file:
        rows = [orjson.loads(line) for line in file]
    spec = ParserSpec(parser["name"], tuple(parser["columns"].items()))
    assert ledger["train"] + ledger["validation"] == len(examples_of(rows, spec))
    assert list(problems(str(traces.folder))) == []
