"""Tokenizers and documents that the tests of this folder share."""

import gzip
from dataclasses import replace
from pathlib import Path

import orjson
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.shared import SHARED
from transforms.tokenizers.spec import PreparedTokenizer, TokenizerSpec

# Names of bos, eos and pad; GPT-2 has one control token, which cannot be bos too.
REAL = {
    "gpt2_50257": ("<s>", "<|endoftext|>", "<|endoftext|>"),
    "mistral_v1_32000": ("<s>", "</s>", "<unk>"),
    "mistral_v3_32768": ("<s>", "</s>", "<unk>"),
    "deepseek_v4": ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"),
}
TEXTS = [
    "the cat sat on the mat, and the dog sat on the log.\n\n    for i in range(10):\n",
    "<s> a text that spells <think> its own </think> control tokens </s>",
    "Zahlen: 1234567890, Umlaute: äöüß, 汉字, émigré.",
]


def real_spec(name: str, **changes) -> TokenizerSpec:
    bos, eos, pad = REAL[name]
    location = str(SHARED / "data" / "tokenizers" / f"{name}_tokenizer.json")
    fields = {"bos": bos, "eos": eos, "pad": pad, "add_missing": True, **changes}
    return TokenizerSpec("file", location, **fields)


def small_tokenizer(vocab_size: int = 320) -> Tokenizer:
    """Byte-level BPE with control tokens, of which the tokenizer flags `<think>` as no such."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_tokens(
        [
            AddedToken("<think>", normalized=True),
            AddedToken("</think>", normalized=False, rstrip=True),
            AddedToken("    ", normalized=False),
            AddedToken("\n\n", normalized=True),
        ]
    )
    return tokenizer


def small_spec(folder: Path, tokenizer: Tokenizer | None = None, **changes) -> TokenizerSpec:
    path = folder / "small.json"
    (tokenizer or small_tokenizer()).save(str(path))
    fields = {"bos": "<s>", "eos": "</s>", "pad": "<pad>", **changes}
    return TokenizerSpec("file", str(path), **fields)


def bench_documents(every: int) -> list[str]:
    """Each so many-th real document of each domain."""
    documents = []
    for domain in ("web", "synthetic", "code", "math"):
        data = gzip.decompress((SHARED / "data" / "bench" / f"{domain}.jsonl.gz").read_bytes())
        rows = [orjson.loads(line) for line in data.split(b"\n")[:-1:every]]
        documents += [row["content" if domain == "code" else "text"] for row in rows]
    return documents


def written(prepared_and_json: tuple[PreparedTokenizer, bytes], folder: Path) -> PreparedTokenizer:
    """The tokenizer as a job sends it to workers, but for its backend."""
    prepared, tokenizer_json = prepared_and_json
    path = folder / "work.json"
    path.write_bytes(tokenizer_json)
    return replace(prepared, path=str(path))
