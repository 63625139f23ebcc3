"""What ships as the demo: documents that may be passed on, and a tokenizer for them."""

import gzip
from collections import Counter
from pathlib import Path

import orjson
import pytest

import beam_pipeline
from transforms.tokenizers.prepare import prepare
from transforms.tokenizers.spec import TokenizerSpec

DEMO = Path(beam_pipeline.__file__).parent / "recipes" / "demo"
DOMAINS = ["web", "synthetic", "code", "math"]


def rows(domain: str) -> list[dict]:
    lines = gzip.decompress((DEMO / f"{domain}.jsonl.gz").read_bytes()).split(b"\n")
    return [orjson.loads(line) for line in lines if line]


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_document_says_whose_it_is_and_on_what_terms(domain):
    where = ("repo_name", "path") if domain == "code" else ("source", "url")
    for row in rows(domain):
        assert all(row[field] for field in ("id", "license", *where))


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_table_of_licences_counts_each_document(domain):
    table = [line.split(" | ") for line in (DEMO / "LICENSES.md").read_text().splitlines()]
    counts = [int(cells[2]) for cells in table if cells[0] == f"| {domain}"]
    assert sum(counts) == len(rows(domain))


def test_the_documents_are_small_enough_to_ship():
    assert sum((DEMO / f"{domain}.jsonl.gz").stat().st_size for domain in DOMAINS) <= 3_000_000


def test_the_traces_say_where_they_are_from_and_their_table_counts_each():
    folder = DEMO.parent / "demo-traces"
    lines = gzip.decompress((folder / "traces.jsonl.gz").read_bytes()).splitlines()
    table = [line.split(" | ") for line in (folder / "LICENSES.md").read_text().splitlines()]
    counts = {cells[0].removeprefix("| "): int(cells[1]) for cells in table[-10:]}
    assert counts == Counter(orjson.loads(line)["model"] for line in lines)
    assert all(orjson.loads(line)["id"] for line in lines)
    assert (folder / "traces.jsonl.gz").stat().st_size <= 200_000


def test_the_tokenizer_fits_uint16():
    location = str(DEMO / "tokenizer.json")
    prepared, _ = prepare(TokenizerSpec("file", location, "<s>", "</s>", "<pad>"))
    assert (prepared.vocab_size, prepared.dtype) == (32_768, "uint16")
    assert (prepared.bos_id, prepared.eos_id, prepared.pad_id) == (0, 1, 2)
