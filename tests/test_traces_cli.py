"""The commands on traces: mistakes are one line, verify finds what is wrong, show tells apart."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import orjson
import pytest

from beam_pipeline.cli import main
from tests import jobs
from tests.jobs import DEMO
from tests.traces_jobs import Traces, build_rows, recipe_of, trace_rows, write_recipe

REPO = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return jobs.write_rows(tmp_path_factory.mktemp("in") / "rows.jsonl", trace_rows())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return build_rows(tmp_path_factory.mktemp("finished"), trace_rows())


@pytest.fixture
def copy(finished, tmp_path):
    """Traces that a test may spoil."""
    shutil.copytree(finished.folder, tmp_path / "copy")
    return Traces(tmp_path / "copy")


def run(capsys, *argv):
    code = main([str(argument) for argument in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


DEMO_TOKENIZER = {"file": str(DEMO / "tokenizer.json")}
COLUMNS = {"name": "glaive", "columns": {"response": "answer"}}
AT_LAUNCH = {
    "unknown key": ({"blok": 8}, r"blok: unknown key; known keys: name, seed"),
    "of a part": ({"parser": {"nam": "x"}}, r"parser\.nam: unknown key; known keys: name, columns"),
    "parser": ({"parser": {"name": "nope"}}, r"no parser 'nope': choose glaive"),
    "field": ({"parser": {"columns": {"text": "x"}}}, r"no field 'text': its fields are prompt"),
    "column": (
        {"parser": COLUMNS},
        r"no column 'answer'; the columns are: prompt, response, other",
    ),
    "ascending": ({"sizes": [32, 8]}, r"sizes \[32, 8\] do not ascend: write \[8, 32\]"),
    "no sizes": ({"sizes": []}, r"sizes is empty: adaptive needs at least one"),
    "block": ({"block": 7}, r"block 7 does not divide seq_len 256"),
    "layout": ({"layouts": ["round"]}, r"layouts\[0\]: Input should be 'flat', 'slotted' or 'ad"),
    "twice": ({"layouts": ["flat", "flat"]}, r"one is named twice"),
    "fraction": ({"val_fraction": 1.5}, r"val_fraction: Input should be less than 1, got 1\.5"),
    "special tokens": (
        {"tokenizer": DEMO_TOKENIZER},
        r"lacks the special tokens <mask>, <think>, .*<size_32>: name others.*add_missing",
    ),
    "one special token": (
        {"tokenizer": {**DEMO_TOKENIZER, "add_missing": True, "names": {"fill": "<s>"}}},
        r"special tokens share an id \(bos, fill\)",
    ),
    "role": ({"tokenizer": {**DEMO_TOKENIZER, "names": {"full": "<f>"}}}, r"no role 'full'"),
    "two tokenizers": (
        {"tokenizer": {**DEMO_TOKENIZER, "train": {}}},
        r"tokenizer: give exactly one of file, huggingface, train \(got file and train\)",
    ),
    "small vocabulary": (
        {"tokenizer": {"train": {"vocab_size": 200}}},
        r"vocab_size is 200: .* 267",
    ),
    "wide ids": (
        {"tokenizer": {"train": {"vocab_size": 70_000}, "dtype": "uint16"}},
        r"a vocab_size of 70000 does not fit uint16",
    ),
    "no file": ({"source": {"files": "nowhere/*"}}, r"nowhere/\* matches no file"),
    "two sources": (
        {"source": {"files": "x", "huggingface": {"repo": "y"}}},
        r"source: give exactly one of files, huggingface \(got files and huggingface\)",
    ),
}


@pytest.mark.parametrize("mistake", AT_LAUNCH)
def test_a_mistake_is_one_line_before_the_job_starts(capsys, tmp_path, rows, mistake, monkeypatch):
    changes, message = AT_LAUNCH[mistake]
    path = write_recipe(tmp_path, recipe_of(rows, **changes))
    monkeypatch.setattr("beam_pipeline.run.run", lambda *_: pytest.fail("the job was started"))
    code, out, err = run(capsys, "traces", path, "--output", tmp_path / "out")
    assert code == 2
    assert out == ""
    assert re.fullmatch(rf"corpusbeam: error: [^\n]*{message}[^\n]*\n", err), err
    assert not (tmp_path / "out").exists()


IN_THE_JOB = {
    "no validation": (
        {"val_fraction": 1e-9},
        r"the validation split is empty: of 122 unique examples none falls below val_fraction "
        r"1e-09: raise val_fraction, or give more rows",
    ),
    "no validation for the limit": (
        {"val_fraction": 1e-9, "limit": 5},
        r"of 5 unique examples none falls below .*: raise val_fraction or raise limit, or give",
    ),
    "no train": (
        {"val_fraction": 0.999999},
        r"the train split is empty: .* none falls above val_fraction 0\.999999: lower val_fraction",
    ),
    "nothing fits": (
        {"seq_len": 64, "sizes": [8, 24], "layouts": ["flat", "slotted"], "max_slots": 1},
        r"(train|validation)/slotted is empty: every example was dropped "
        r"\((too_long|too_many_slots) [\d,]+.*\): raise seq_len or max_slots",
    ),
    "nothing parses": (
        {"parser": {"name": "closing_tag", "columns": {"response": "prompt"}}},
        r"no row gives an example: check the parser and its columns",
    ),
}


@pytest.mark.parametrize("mistake", IN_THE_JOB)
def test_a_mistake_that_only_the_job_can_see_is_one_line_too(capsys, tmp_path, rows, mistake):
    changes, message = IN_THE_JOB[mistake]
    path = write_recipe(tmp_path, recipe_of(rows, **changes))
    code, out, err = run(capsys, "traces", path, "--output", tmp_path / "out", "--quiet")
    assert code == 2
    assert out == ""
    assert re.fullmatch(rf"corpusbeam: error: [^\n]*{message}[^\n]*\n", err), err
    assert not (tmp_path / "out" / "_SUCCESS").exists()


def test_a_recipe_of_the_other_job_is_told_by_its_command(capsys, tmp_path, rows):
    path = write_recipe(tmp_path, recipe_of(rows))
    code, _, err = run(capsys, "build", path, "--output", tmp_path / "out")
    assert code == 2
    assert err.endswith("this is a recipe for corpusbeam traces, not for corpusbeam build\n")
    code, _, err = run(capsys, "traces", "synthetic", "--output", tmp_path / "out")
    assert code == 2
    assert err.endswith("this is a recipe for corpusbeam build, not for corpusbeam traces\n")


def test_nothing_stands_in_for_a_hub_source(capsys, tmp_path):
    code, _, err = run(capsys, "traces", "glaive", "--output", tmp_path / "out", "--offline")
    assert code == 2
    assert re.fullmatch(r"corpusbeam: error: [^\n]*nothing stands in for a hub[^\n]*\n", err)


def test_an_output_that_holds_other_traces_is_refused_by_what_differs(capsys, copy, rows, tmp_path):
    recipe = copy.manifest["recipe"]
    path = write_recipe(tmp_path, {**recipe, "block": 16})
    code, _, err = run(capsys, "traces", path, "--output", copy.folder)
    assert code == 2
    assert "holds another corpus: recipe.block was 8 and is now 16" in err


def test_the_summary_tells_what_became_of_every_row(capsys, rows, tmp_path):
    path = write_recipe(tmp_path, recipe_of(rows))
    code, out, _ = run(capsys, "traces", path, "--output", tmp_path / "out")
    assert code == 0
    for line in (
        r"read +128 ",
        r"malformed +3 ",
        r"never closed +1 ",
        r"duplicates of a problem +3 ",
        r"train/slotted +\d+ +\d+ +\d+ +\d+\.\d% +\d+\.\d%",
        r"train/adaptive +8 +\d+ +\d+\.\d% +\d+ +\d+ +\d+",
        r"train/flat: \d+ shards?, \d+ windows of 256 in ",
    ):
        assert re.search(line, out), (line, out)


def test_verify_finds_nothing_wrong_with_finished_traces(capsys, finished):
    code, out, _ = run(capsys, "verify", finished.folder)
    assert code == 0
    assert out.startswith("ok")


def column(traces, name="tokens", folder="train/slotted"):
    return traces.folder / folder / f"shard_00000.{name}.bin"


def rewrite(traces, name, change, folder="train/slotted"):
    """Changes values of a shard and lets the manifests say that this is right."""
    path = column(traces, name, folder)
    old = path.read_bytes()
    values = np.frombuffer(old, "<u2" if name == "tokens" else "u1").copy().reshape(-1, 256)
    change(values)
    path.write_bytes(values.tobytes())
    old_hash, new_hash = (hashlib.sha256(raw).hexdigest() for raw in (old, values.tobytes()))
    for manifest in traces.folder.rglob("manifest.json"):
        text = manifest.read_bytes().replace(old_hash.encode(), new_hash.encode())
        manifest.write_bytes(text)


def set_at(name, place, value):
    return lambda traces: rewrite(traces, name, lambda rows: rows.__setitem__((0, place), value))


def swap_first_blocks(traces):
    """The prompt's block changes places with the first slot."""

    def swap(rows):
        rows[0, :16] = np.r_[rows[0, 8:16], rows[0, :8]]

    rewrite(traces, "tokens", swap)


def change_manifest(place, change):
    def spoil(traces):
        path = traces.folder / place
        manifest = orjson.loads(path.read_bytes())
        change(manifest)
        path.write_bytes(orjson.dumps(manifest))

    return spoil


def flip(traces):
    raw = bytearray(column(traces).read_bytes())
    raw[100] ^= 1
    column(traces).write_bytes(raw)


def train_as_validation(traces):
    """A shard of train, also listed in validation."""
    for kind in ("tokens.bin", "regions.bin", "meta.bin", "docs.parquet"):
        source = traces.folder / "train" / "flat" / f"shard_00000.{kind}"
        (traces.folder / "validation" / "flat" / source.name).write_bytes(source.read_bytes())
    manifest = traces.layout("validation/flat")
    manifest["shards"] = traces.layout("train/flat")["shards"][:1]
    path = traces.folder / "validation" / "flat" / "manifest.json"
    path.write_bytes(orjson.dumps(manifest))


def lose_a_row(manifest):
    manifest["ledger"]["total"]["duplicate"]["documents"] -= 1


SPOILED = {
    "flipped bit": (flip, r"slotted/shard_00000\.tokens\.bin: its sha256 is not"),
    "cut short": (
        lambda t: column(t, "regions").write_bytes(column(t, "regions").read_bytes()[:-1]),
        r"slotted/shard_00000\.regions\.bin: \d+ bytes, the manifest says",
    ),
    "missing": (lambda t: column(t, "regions").unlink(), r"regions\.bin is missing"),
    "id out of range": (set_at("tokens", 1, 400), r"id 400 is outside of \d+ entries"),
    "special in a text": (set_at("tokens", 1, 0), r"special token 0 inside of a text"),
    "not padded": (set_at("tokens", -1, 30), r"window 0 is not as its layout makes it"),
    "region": (set_at("regions", 1, 2), r"window 0 is not as|special token"),
    "mixed blocks": (swap_first_blocks, r"window 0 is not as its layout|special token"),
    "ledger": (change_manifest("manifest.json", lose_a_row), r"ledger: total: read \d+ documents"),
    "windows": (
        change_manifest(
            "train/flat/manifest.json", lambda m: m["encoding"]["encoded"].update(documents=1)
        ),
        r"ledger: train/flat: read|train/flat: the ledger has 1 windows",
    ),
    "statistics": (
        change_manifest("train/flat/manifest.json", lambda m: m["statistics"].update(examples=1)),
        r"train/flat/manifest\.json: statistics are not those of its windows",
    ),
    "both splits": (train_as_validation, r"problems are in both splits"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_verify_finds_what_is_wrong(capsys, copy, how):
    spoil, message = SPOILED[how]
    spoil(copy)
    code, out, _ = run(capsys, "verify", copy.folder)
    assert code == 1
    assert re.search(message, out), out


def test_show_prints_an_example_with_its_blocks(capsys, finished):
    for layout, marks in (
        ("flat", ()),
        ("slotted", (r"<fill>",)),
        ("adaptive", (r"<fill>", r"\n<size_(8|32)>")),
    ):
        code, out, _ = run(capsys, "show", finished.folder, "--window", 2, "--layout", layout)
        assert code == 0
        assert out.startswith(f"window 2 of {finished.layout(f'train/{layout}')['n_sequences']} in")
        for mark in (r"<s>What is \d+ and what", r"<think>", r"<end_of_thought>", *marks):
            assert re.search(mark, out), (mark, out)
        assert re.search(r"</think><answer>It is \d+\.</s>", out), out


def test_show_colours_prompt_thoughts_fill_and_answer_differently(finished):
    from beam_pipeline.render_trace import render

    manifest = finished.layout("train/slotted")
    tokens, regions = (
        np.fromfile(column(finished, name), kind).reshape(-1, 256)[0]
        for name, kind in (("tokens", "<u2"), ("regions", "u1"))
    )
    shown = render(tokens, regions, manifest, lambda ids: "x" * len(ids))
    styles = {shown.plain[span.start : span.end]: str(span.style) for span in shown.spans}
    assert {styles[name] for name in ("prompt", "thought", "answer", "fill", "padding")} == {
        "cyan",
        "yellow",
        "green",
        "red dim",
        "dim",
    }
    assert styles["<s>"] == "cyan bold"
    assert styles["<end_of_thought>"] == "yellow bold"
    assert styles["</s>"] == "green bold"
    assert {styles[text] for text in styles if text.startswith("<fill>")} == {"red dim bold"}


def test_show_takes_either_name_of_the_split_and_names_the_layouts(capsys, finished):
    code, out, _ = run(capsys, "show", finished.folder, "--split", "val")
    assert code == 0
    assert "in validation/flat" in out
    code, _, err = run(capsys, "show", finished.folder, "--layout", "round")
    assert code == 2
    assert "has no layout 'round': it has flat, slotted, adaptive" in err


def test_a_killed_run_is_resumed(finished, tmp_path, monkeypatch, capsys):
    recipe = write_recipe(tmp_path, finished.manifest["recipe"])
    output = tmp_path / "out"
    argv = ["traces", str(recipe), "--output", str(output), "--quiet", "--piece_bytes=600"]
    process = subprocess.Popen(
        [sys.executable, "-m", "beam_pipeline", *argv],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=REPO,
    )
    deadline = time.monotonic() + 120
    work = output / "_work"
    while len(list((work / "tokens").glob("[!.]*.json"))) < 5:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    def reports():
        return {
            path: path.stat().st_mtime_ns
            for kind in ("parse", "tokens")
            for path in (work / kind).glob("[!.]*.json")
        }

    done, seen = reports(), {}
    monkeypatch.setattr(
        "beam_pipeline.finish.storage.remove_tree", lambda _: seen.update(reports())
    )
    assert main([*argv, "--resume"]) == 0
    monkeypatch.undo()
    shutil.rmtree(work)
    assert {path: seen[path] for path in done} == done
    assert len(seen) > len(done)
    assert Traces(output).hashes() == finished.hashes()
