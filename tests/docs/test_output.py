"""docs/output.md tells of each file, key and column that there is."""

import json
import re

import pyarrow.parquet as pq
import pytest

from tests.docs.markdown import ROOT

TEXT = (ROOT / "docs" / "output.md").read_text(encoding="utf-8")
TOLD = set(re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```$", "", TEXT, flags=re.M | re.S)))


@pytest.mark.parametrize(
    "manifest",
    [
        "demo/manifest.json",
        "demo/val/manifest.json",
        "demo-traces/manifest.json",
        "demo-traces/train/adaptive/manifest.json",
    ],
)
def test_every_key_of_a_manifest(workplace, manifest):
    assert set(json.loads((workplace.folder / "out" / manifest).read_bytes())) - TOLD == set()


@pytest.mark.parametrize(
    "files",
    [
        "demo/train/*.docs.parquet",
        "demo/duplicates/*.parquet",
        "demo-traces/train/flat/*.docs.parquet",
    ],
)
def test_every_column_of_a_table(workplace, files):
    path = next((workplace.folder / "out").glob(files))
    assert set(pq.read_schema(path).names) - TOLD == set()


def test_every_outcome_of_the_account(workplace):
    ledger = json.loads((workplace.folder / "out/demo/manifest.json").read_bytes())["ledger"]
    outcomes = {re.sub(":.*", ":REASON", outcome) for outcome in ledger["total"]}
    assert outcomes - TOLD == set()


def test_every_file_of_a_corpus(workplace):
    folder = workplace.folder / "out" / "demo"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    names = {re.sub(r"^duplicates/.*", "duplicates/*.parquet", name) for name in names}
    names = {re.sub(r"^rejects/.*", "rejects/SOURCE.jsonl", name) for name in names}
    names = {re.sub(r"shard_\d+", "shard_00000", name) for name in names}
    assert {name for name in names if not name.startswith("val/")} - TOLD == set()
