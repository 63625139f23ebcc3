"""Golden hashes: bytes change only when somebody means them to."""

import hashlib

from beam_pipeline.cli import main
from beam_pipeline.verify import problems
from tests.jobs import Corpus, build, recipe_of, source_of
from tests.shared import SHARED, needs_shared
from tests.traces_jobs import Traces

BENCH = SHARED / "data" / "bench"
GPT2 = SHARED / "data" / "tokenizers" / "gpt2_50257_tokenizer.json"


def digest(corpus: Corpus) -> str:
    """Of the tokens of all shards, in order."""
    hashes = sorted((file, sha256) for file, (sha256, _) in corpus.hashes().items())
    return hashlib.sha256(repr(hashes).encode()).hexdigest()[:32]


def test_the_synthetic_recipe(tmp_path):
    assert main(["build", "synthetic", "--output", str(tmp_path / "corpus"), "--quiet"]) == 0
    corpus = Corpus(tmp_path / "corpus")
    assert digest(corpus) == "0089210268807d35ef696aa0ff735246"


def test_the_demo_recipe(tmp_path):
    assert main(["build", "demo", "--output", str(tmp_path / "corpus"), "--quiet"]) == 0
    corpus = Corpus(tmp_path / "corpus")
    assert list(problems(str(corpus.folder))) == []
    assert digest(corpus) == "09dd7c18df561fe29f8c33b5abbd53dc"
    assert corpus.ledger() == {
        "read": 1717,
        "filtered:duplicate_lines": 13,
        "filtered:mean_word_too_long": 26,
        "filtered:mean_word_too_short": 1,
        "filtered:not_math": 11,
        "filtered:repeated_character": 28,
        "filtered:too_few_letters": 9,
        "filtered:too_few_words": 9,
        "exact_duplicate": 36,
        "near_duplicate": 23,
        "held_out_over_cap": 3,
        "over_budget": 407,
        "train": 1120,
        "val": 31,
    }


def test_the_demo_traces(tmp_path):
    output = tmp_path / "traces"
    assert main(["traces", "demo-traces", "--output", str(output), "--quiet"]) == 0
    traces = Traces(output)
    assert list(problems(str(output))) == []
    assert traces.manifest["warnings"] == []
    hashes = [(s["file"], s["sha256"], s["regions_sha256"]) for s in traces.manifest["shards"]]
    digested = hashlib.sha256(repr(sorted(hashes)).encode()).hexdigest()[:32]
    assert digested == "6ea5fcd4562bf134c568ce851dbf55a2"
    assert traces.ledger() == {
        "read": 431,
        "malformed:never_closed": 15,
        "malformed:no_answer": 2,
        "malformed:no_region": 15,
        "duplicate": 17,
        "train": 363,
        "validation": 19,
        "kept_with:several_regions": 43,
        "kept_with:stray_closing_tag": 42,
        "kept_with:tag_in_code_fence": 2,
        "kept_with:text_before_region": 7,
    }


@needs_shared
def test_the_bench_corpus(tmp_path):
    """All 65 MB; every document of the four files is accounted for and in its place."""
    sources = [
        source_of("web", BENCH / "web.jsonl.gz", 0.6, filter={}, id_column="id"),
        source_of("textbooks", BENCH / "synthetic.jsonl.gz", 0.15, domain="synthetic", filter={}),
        source_of(
            "python", BENCH / "code.jsonl.gz", 0.15, domain="code", filter={}, text_column="content"
        ),
        source_of("math", BENCH / "math.jsonl.gz", 0.1, domain="math", filter={}),
    ]
    tokenizer = {
        "file": str(GPT2),
        "bos": "<|bos|>",
        "eos": "<|endoftext|>",
        "pad": "<|pad|>",
        "add_missing": True,
    }
    recipe = recipe_of(
        sources,
        train_tokens=12_000_000,
        seq_len=2048,
        tokens_per_shard=2_000_000,
        tokenizer=tokenizer,
    )
    corpus = build(tmp_path, recipe)
    assert list(problems(str(corpus.folder))) == []
    assert corpus.ledger() == {
        "read": 8017,
        "filtered:duplicate_lines": 137,
        "filtered:mean_word_too_long": 202,
        "filtered:mean_word_too_short": 2,
        "filtered:not_math": 25,
        "filtered:repeated_character": 68,
        "filtered:too_few_letters": 74,
        "filtered:too_few_words": 116,
        "exact_duplicate": 51,
        "near_duplicate": 64,
        "near_duplicate_by_chain": 7,
        "held_out_over_cap": 342,
        "over_budget": 1036,
        "train": 5480,
        "val": 420,
    }
    assert digest(corpus) == "352981f565fc48f0bfd5c27f2bf9e02f"
