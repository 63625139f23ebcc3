"""Whole jobs: what is in the corpus is what SPEC says, down to edge cases."""

import itertools

import numpy as np
import orjson
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from beam_pipeline.verify import problems
from tests import jobs
from tests.jobs import PROCESSES, build, recipe_of, source_of
from tests.reference.packing import pack as pack_plainly
from tests.reference.text import normalized as normalize_plainly
from transforms.errors import CorpusError
from transforms.kernels.packing import packed_cost
from transforms.readers.synthetic import document

# Documents in separate processes, as on workers elsewhere; one start-up is slow enough.
MODES = pytest.mark.parametrize("options", [(), PROCESSES], ids=["in-process", "processes"])


def unlike(source: str, count: int, words: int = 60):
    """Documents that are no near duplicates of each other."""
    generator = np.random.default_rng(sum(source.encode()))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    for _ in range(count):
        sizes = generator.integers(3, 9, int(generator.integers(words // 2, words * 2)))
        yield " ".join("".join(letters[generator.integers(0, 26, n)]) for n in sizes)


def write(folder, name, texts):
    return jobs.write_rows(
        folder / f"{name}.jsonl",
        [{"id": f"{name}{k}", "text": text} for k, text in enumerate(texts)],
    )


def test_short_texts_are_duplicates_only_if_equal(tmp_path):
    path = write(tmp_path, "web", ["cat", "dog", "cat", "", "", "ok"])
    corpus = build(tmp_path, recipe_of([source_of("web", path)], holdout={"per_mille": 0}))
    assert sorted(corpus.texts("train")) == ["cat", "dog", "ok"]
    assert corpus.ledger() == {
        "read": 6, "empty": 2, "exact_duplicate": 1, "train": 3
    }  # fmt: skip


def test_every_document_is_where_its_row_says_and_packed_in_that_order(tmp_path):
    texts = list(unlike("a", 300))
    path = write(tmp_path, "web", texts)
    recipe = recipe_of([source_of("web", path, id_column="id")], tokens_per_shard=20_000)
    corpus = build(tmp_path, recipe)
    found = {}
    for split in ("train", "val"):
        manifest = corpus.split(split)
        documents = iter(corpus.documents(split))
        texts_in_order = iter(corpus.texts(split))
        for shard in manifest["shards"]:
            windows = np.fromfile(corpus.folder / split / shard["file"], "<u2").reshape(-1, 64)
            rows = list(itertools.islice(documents, shard["documents"]))
            packed_texts = list(itertools.islice(texts_in_order, shard["documents"]))
            found |= {row["id"]: text for row, text in zip(rows, packed_texts, strict=True)}
            ids = [list(text.encode()) for text in packed_texts]
            expected = pack_plainly(ids, 64, 256, 257, 258)
            assert windows.tolist() == [list(window) for window in expected]
    assert found == {f"web{k}": text for k, text in enumerate(texts)}
    train = corpus.split("train")
    assert train["n_shards"] == -(-train["n_document_tokens"] // 20_000)


def test_no_document_is_in_both_splits_and_a_full_val_does_not_spill_into_train(tmp_path):
    path = write(tmp_path, "web", unlike("b", 400))
    recipe = recipe_of([source_of("web", path)], holdout={"per_mille": 300, "max_tokens": 5000})
    corpus = build(tmp_path, recipe)
    account = corpus.ledger()
    assert account["held_out_over_cap"] > 50
    assert sum(account[o] for o in ("train", "val", "held_out_over_cap")) == 400
    assert not set(corpus.texts("train")) & set(corpus.texts("val"))
    assert list(problems(str(corpus.folder))) == []


def test_the_mix_follows_the_weights_all_along_the_corpus(tmp_path):
    """Sources that supply 8, 1.2 and 0.7 times their share."""
    texts = {
        name: list(unlike(name, count)) for name, count in zip("abc", (3200, 340, 120), strict=True)
    }
    cost = {
        name: int(packed_cost(np.array([len(t) for t in of]), 64).sum())
        for name, of in texts.items()
    }
    weights = {"a": 0.5, "b": 0.35, "c": 0.15}
    budget = int(cost["a"] / 8 / weights["a"])
    for name, supply in (("b", 1.2), ("c", 0.7)):
        of, upto = texts[name], 0
        wanted = supply * weights[name] * budget
        total = np.cumsum(packed_cost(np.array([len(t) for t in of]), 64))
        upto = int(np.searchsorted(total, wanted)) + 1
        assert upto < len(of)
        texts[name] = of[:upto]
    sources = [source_of(name, write(tmp_path, name, texts[name]), weights[name]) for name in "abc"]
    corpus = build(
        tmp_path,
        recipe_of(
            sources, train_tokens=budget, tokens_per_shard=budget // 10, holdout={"per_mille": 0}
        ),
    )
    spent = {source["name"]: source for source in corpus.manifest["sources"]}
    longest = 64 * 40
    for name in "ab":
        target = round(weights[name] * budget)
        assert target <= spent[name]["realized_tokens"] < target + longest
    assert spent["c"]["epochs"] == 1.0
    assert corpus.ledger("c")["train"] == len(texts["c"])

    rows = corpus.documents("train")
    names = np.array([row["source"] for row in rows])
    costs = packed_cost(np.array([row["n_ids"] for row in rows]), 64)
    tenths = np.arange(len(rows)) * 10 // len(rows)
    for name in "abc":
        share = costs[names == name].sum() / costs.sum()
        of_each = np.array(
            [
                costs[(names == name) & (tenths == k)].sum() / costs[tenths == k].sum()
                for k in range(10)
            ]
        )
        # A tenth draws n documents, each of the source with probability `share`; lengths add
        # a factor of 1 + their squared variation.
        n = len(rows) / 10
        deviation = np.sqrt(share * (1 - share) / n * (1 + (costs.std() / costs.mean()) ** 2))
        assert np.abs(of_each - share).max() < 4 * deviation, name
    sizes = np.array([shard["document_tokens"] for shard in corpus.split("train")["shards"]])
    documents_each = len(rows) / len(sizes)
    chance = sizes.mean() * np.sqrt((1 + (costs.std() / costs.mean()) ** 2) / documents_each)
    assert np.abs(sizes - sizes.mean()).max() < 4 * chance


@pytest.mark.parametrize(
    ("when_short", "epochs"),
    [("shortfall", (1.0, 1.0)), ("redistribute", (1.0, 1.0)), ("repeat", (1.0, 2.5))],
)
def test_when_short(tmp_path, when_short, epochs):
    plenty, scarce = list(unlike("p", 400)), list(unlike("s", 60))
    has = [int(packed_cost(np.array([len(t) for t in of]), 64).sum()) for of in (plenty, scarce)]
    budget = int(has[1] * 2.5 / 0.5)
    assert budget < has[0]
    sources = [
        source_of("plenty", write(tmp_path, "plenty", plenty), 0.5),
        source_of("scarce", write(tmp_path, "scarce", scarce), 0.5),
    ]
    corpus = build(
        tmp_path,
        recipe_of(sources, train_tokens=budget, when_short=when_short, holdout={"per_mille": 0}),
    )
    first, second = corpus.manifest["sources"]
    assert second["epochs"] == pytest.approx(epochs[1], abs=0.1)
    train = corpus.texts("train")
    if when_short == "shortfall":
        assert first["realized_tokens"] == pytest.approx(budget / 2, abs=3000)
        assert corpus.split("train")["n_document_tokens"] < budget * 0.75
    else:
        assert corpus.split("train")["n_document_tokens"] == pytest.approx(budget, abs=3000)
    if when_short == "repeat":
        times = sorted(train.count(text) for text in scarce)
        assert set(times) == {2, 3}
        assert corpus.ledger("scarce")["train_repeats"] == sum(times) - len(scarce)
    assert list(problems(str(corpus.folder))) == []


def test_fail_when_short_names_the_source_and_leaves_no_success(tmp_path):
    path = write(tmp_path, "web", unlike("f", 5))
    with pytest.raises(CorpusError, match=r"web has .* tokens of the 10,000,000"):
        build(tmp_path, recipe_of([source_of("web", path)], when_short="fail"))
    assert not (tmp_path / "corpus" / "_SUCCESS").exists()
    assert not (tmp_path / "corpus" / "manifest.json").exists()


def test_the_source_with_priority_keeps_the_copy(tmp_path):
    shared, near = list(unlike("q", 2, words=400))
    changed = near.replace(near.split()[10], "changed", 1)
    first = write(tmp_path, "first", [shared, near])
    second = write(tmp_path, "second", [shared.upper(), changed])
    sources = [
        source_of("first", first, 0.5),
        source_of("second", second, 0.5, priority=0),
    ]
    sources[0]["priority"] = 1
    corpus = build(tmp_path, recipe_of(sources, holdout={"per_mille": 0}))
    assert sorted(corpus.texts("train")) == sorted([shared.upper(), changed])
    assert corpus.ledger("first") == {"read": 2, "exact_duplicate": 1, "near_duplicate": 1}
    assert {row["cluster_size"] for row in corpus.documents("train")} == {2}


def test_scope_source_keeps_copies_of_other_sources(tmp_path):
    text = next(unlike("r", 1))
    sources = [
        source_of("a", write(tmp_path, "a", [text, text]), 0.5),
        source_of("b", write(tmp_path, "b", [text]), 0.5),
    ]
    recipe = recipe_of(sources, dedup={"scope": "source"}, holdout={"per_mille": 0})
    corpus = build(tmp_path, recipe)
    assert corpus.ledger()["exact_duplicate"] == 1
    assert [row["source"] for row in corpus.documents("train")] in (["a", "b"], ["b", "a"])
    assert list(problems(str(corpus.folder))) == []


@MODES
def test_sources_that_give_nothing(tmp_path, options):
    """All filtered, weight 0, an empty file: no zero-byte file, no crash."""
    good = list(unlike("good", 30))
    (tmp_path / "none.jsonl").write_bytes(b"")
    sources = [
        source_of("good", write(tmp_path, "good", good), 0.5),
        source_of("short", write(tmp_path, "short", ["too short"] * 9), 0.25, filter={}),
        source_of("none", tmp_path / "none.jsonl", 0.25),
        source_of(
            "aside",
            write(tmp_path, "aside", [good[0].title(), *unlike("aside", 3)]),
            0.0,
            priority=0,
        ),
    ]
    sources[0]["priority"] = 5
    corpus = build(tmp_path, recipe_of(sources), *options)
    assert corpus.ledger("short") == {"read": 9, "filtered:too_few_words": 9}
    assert corpus.ledger("none") == {"read": 0}
    assert corpus.ledger("aside") == {"read": 4, "over_budget": 4}
    assert corpus.ledger("good")["exact_duplicate"] == 1
    assert {row["source"] for row in corpus.documents("train")} == {"good"}
    empty = [
        path for path in corpus.folder.rglob("*") if path.is_file() and not path.stat().st_size
    ]
    assert [path.name for path in empty] == ["_SUCCESS"]
    assert list(problems(str(corpus.folder))) == []


@MODES
def test_nothing_at_all_is_left(tmp_path, options):
    path = write(tmp_path, "web", ["too short"])
    corpus = build(tmp_path, recipe_of([source_of("web", path, filter={})]), *options)
    assert corpus.manifest["n_shards"] == 0
    assert not list(corpus.folder.rglob("*.bin"))
    assert list(problems(str(corpus.folder))) == []


def test_a_document_longer_than_a_shard(tmp_path):
    long = " ".join(unlike("long", 40))
    texts = [*unlike("t", 20), long]
    recipe = recipe_of(
        [source_of("web", write(tmp_path, "web", texts))],
        tokens_per_shard=5000,
        holdout={"per_mille": 0},
    )
    corpus = build(tmp_path, recipe)
    assert len(long) > 10_000
    assert sorted(corpus.texts("train")) == sorted(texts)
    shards = corpus.split("train")["shards"]
    assert [shard["file"] for shard in shards] == [
        f"shard_{k:05d}.tokens.bin" for k in range(len(shards))
    ]
    assert list(problems(str(corpus.folder))) == []


@MODES
def test_documents_that_encode_to_nothing(tmp_path, options):
    """First and last documents vanish in the tokenizer's own normalisation."""
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.normalizer = normalizers.Replace("#", "")
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_str())
    path = write(tmp_path, "web", ["###", "a b a", "##", "b b a a", "# #  #"])
    recipe = recipe_of(
        [source_of("web", path, id_column="id")],
        tokenizer={"file": str(tmp_path / "tokenizer.json"), "add_missing": True},
        holdout={"per_mille": 0},
    )
    corpus = build(tmp_path, recipe, *options)
    assert corpus.ledger() == {"read": 5, "encodes_to_nothing": 3, "train": 2}
    assert {row["id"]: row["n_ids"] for row in corpus.documents("train")} == {"web1": 3, "web3": 4}
    assert list(problems(str(corpus.folder))) == []


def test_control_tokens_in_a_text_are_text(tmp_path):
    shipped = jobs.read_rows(jobs.DEMO / "web.jsonl.gz")[0]["text"]
    text = f"a<s>b</s>c<pad>d {shipped}"
    recipe = recipe_of(
        [source_of("web", write(tmp_path, "web", [text]))],
        tokenizer={"file": str(jobs.DEMO / "tokenizer.json")},
        holdout={"per_mille": 0},
        seq_len=256,
    )
    corpus = build(tmp_path, recipe)
    flat = np.fromfile(corpus.folder / "train" / "shard_00000.tokens.bin", "<u2")
    manifest = corpus.split("train")
    (row,) = corpus.documents("train")
    chunks = -(-row["n_ids"] // 254)
    assert (flat == manifest["bos_id"]).sum() == chunks
    assert (flat == manifest["eos_id"]).sum() == chunks
    ids = flat[~np.isin(flat, [manifest[f"{name}_id"] for name in ("bos", "eos", "pad")])]
    decoded = Tokenizer.from_file(str(jobs.DEMO / "tokenizer.json")).decode(ids.tolist())
    assert decoded == text


def test_digests_are_of_the_normalised_text(tmp_path):
    import hashlib

    text = "  Some   TEXT\twith\nSpaces "
    path = write(tmp_path, "web", [text])
    corpus = build(tmp_path, recipe_of([source_of("web", path)], holdout={"per_mille": 0}))
    expected = hashlib.blake2b(normalize_plainly(text).encode(), digest_size=16).digest()
    assert corpus.documents("train")[0]["digest"] == expected


MANIFEST_KEYS = frozenset(
    [
        "seq_len",
        "n_shards",
        "n_sequences",
        "n_tokens",
        "n_document_tokens",
        "store_positions",
        "bos_id",
        "eos_id",
        "pad_id",
        "dtype",
        "vocab_size",
        "tokenizer",
        "seed",
        "token_budget",
        "filter_config_hash",
        "dedup",
        "sources",
        "holdout",
        "offline_synthetic",
        "shards",
        "ledger",
        "recipe",
        "recipe_sha256",
        "versions",
    ]
)


def test_the_manifest_tells_what_the_corpus_is(tmp_path):
    path = write(tmp_path, "web", unlike("m", 50))
    corpus = build(tmp_path, recipe_of([source_of("web", path)]))
    split, whole = corpus.split("train"), corpus.manifest
    for key in MANIFEST_KEYS:
        assert key in split, key
        assert key in whole, key
    assert split["n_tokens"] == split["n_sequences"] * split["seq_len"]
    assert (split["bos_id"], split["eos_id"], split["pad_id"], split["vocab_size"]) == (
        256, 257, 258, 259
    )  # fmt: skip
    assert str(tmp_path) not in orjson.dumps(whole["sources"]).decode()


def test_offline_stands_in_for_the_hub_and_says_so(tmp_path):
    source = {
        "name": "hub", "domain": "math", "weight": 1.0, "huggingface": {"repo": "no/such"}
    }  # fmt: skip
    corpus = build(tmp_path, recipe_of([source], train_tokens=50_000), "--offline")
    assert corpus.manifest["offline_synthetic"] is True
    assert corpus.ledger()["read"] == 2000
    generated = {document("hub", "math", k) for k in range(2000)}
    assert set(corpus.texts("train")) <= generated
