"""The corpus job as a plain sequential program: documents in lists, numpy, `tokenizers`.

    python -m benchmarks.sequential RECIPE OUTPUT

It does the steps of the corpus job one after the other on the recipes of `make_inputs`, and prints
what it kept as a line of JSON.
"""

import argparse
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import yaml
from tokenizers import Tokenizer

from benchmarks import plain_filters, plain_minhash

BATCH = 1000


@dataclass
class Document:
    """A document on its way; `digest` is of the raw text."""

    source: int
    text: str
    digest: bytes
    ids: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint16))


class Recipe:
    """What the program needs of a recipe."""

    def __init__(self, path: Path) -> None:
        raw: dict[str, Any] = yaml.safe_load(path.read_text())
        self.folder = path.parent
        self.seed: int = raw["seed"]
        self.seq_len: int = raw["seq_len"]
        self.tokens_per_shard: int = raw["tokens_per_shard"]
        self.sources: list[dict[str, Any]] = raw["sources"]
        self.train_tokens: int = raw["train_tokens"]
        self.val_tokens: int = raw["holdout"]["max_tokens"]
        self.per_mille: int = raw["holdout"]["per_mille"]
        self.tokenizer = Tokenizer.from_file(str(path.parent / raw["tokenizer"]["file"]))
        self.tokenizer.encode_special_tokens = True
        vocabulary = self.tokenizer.get_vocab_size()
        self.bos, self.pad = vocabulary, vocabulary + 1
        self.eos = self.tokenizer.token_to_id(raw["tokenizer"]["eos"])

    def key(self, purpose: str, document: Document) -> bytes:
        """Place of a document in one of the orders."""
        name = self.sources[document.source]["name"]
        salt = f"{self.seed}\0{purpose}\0{name}\0{0}\0".encode()
        return hashlib.blake2b(salt + document.digest, digest_size=16).digest()

    def preference(self, document: Document) -> tuple[int, bytes]:
        """Order in which documents survive their duplicates."""
        return document.source, self.key("keep", document)


def read(recipe: Recipe) -> Iterator[Document]:
    """Documents of all sources that pass their filter."""
    for place, source in enumerate(recipe.sources):
        column = source["text_column"]
        for path in sorted(recipe.folder.glob(source["files"])):
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
                for line in lines:
                    text = orjson.loads(line)[column]
                    if text.strip() and plain_filters.keep(text, source["domain"]):
                        yield Document(place, text, _digest(text))


def drop_copies(documents: list[Document]) -> list[tuple[Document, str]]:
    """The first of documents with equal normal form, with that form."""
    seen: set[bytes] = set()
    kept = []
    for document in documents:
        normalized = re.sub(r"\s+", " ", document.text.lower()).strip()
        digest = _digest(normalized)
        if digest not in seen:
            seen.add(digest)
            kept.append((document, normalized))
    return kept


def drop_near_copies(documents: list[tuple[Document, str]]) -> list[Document]:
    """The best document of each near-duplicate cluster."""
    signatures = np.array([plain_minhash.signature(text) for _, text in documents])
    best = plain_minhash.clusters(signatures)
    return [document for k, (document, _) in enumerate(documents) if best[k] == k]


def tokenize(documents: list[Document], recipe: Recipe) -> None:
    """Encodes the documents."""
    for start in range(0, len(documents), BATCH):
        batch = documents[start : start + BATCH]
        encodings = recipe.tokenizer.encode_batch(
            [document.text for document in batch], add_special_tokens=False
        )
        for document, encoding in zip(batch, encodings, strict=True):
            document.ids = np.array(encoding.ids, np.uint16)


def cost(document: Document, recipe: Recipe) -> int:
    """Tokens that a document takes in the windows."""
    return len(document.ids) + 2 * -(-len(document.ids) // (recipe.seq_len - 2))


def choose(documents: list[Document], tokens: int, recipe: Recipe) -> list[Document]:
    """What the budget takes of a split, each source by its weight and in pick order."""
    chosen = []
    for place, source in enumerate(recipe.sources):
        left = round(source["weight"] * tokens)
        own = [document for document in documents if document.source == place]
        for document in sorted(own, key=lambda document: recipe.key("pick", document)):
            if left <= 0:
                break
            chosen.append(document)
            left -= cost(document, recipe)
    return chosen


def write(documents: list[Document], folder: Path, recipe: Recipe) -> int:
    """Shuffles, packs and writes a split; how many tokens its documents take."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = [recipe.key("shuffle", document) for document in documents]
    keyed = sorted(zip(keys, documents, strict=True), key=lambda pair: pair[0])
    tokens = sum(cost(document, recipe) for document in documents)
    shards = -(-tokens // recipe.tokens_per_shard)
    ranges = [int.from_bytes(key[:4], "big") * shards >> 32 for key, _ in keyed]
    infos = []
    for number in range(shards):
        members = [doc for (_, doc), part in zip(keyed, ranges, strict=True) if part == number]
        windows = pack(members, recipe)
        name = f"shard_{number:05d}"
        (folder / f"{name}.tokens.bin").write_bytes(windows.tobytes())
        np.array(windows.shape, "<i8").tofile(folder / f"{name}.meta.bin")
        infos.append({"file": name, "sha256": hashlib.sha256(windows.tobytes()).hexdigest()})
    (folder / "manifest.json").write_text(json.dumps({"n_tokens": tokens, "shards": infos}))
    return tokens


def pack(documents: list[Document], recipe: Recipe) -> np.ndarray:
    """Windows of documents in order, uint16 [n, seq_len]."""
    chunk = recipe.seq_len - 2
    parts: list[Any] = []
    for document in documents:
        for start in range(0, len(document.ids), chunk):
            parts += [[recipe.bos], document.ids[start : start + chunk], [recipe.eos]]
    flat = np.concatenate(parts).astype("<u2") if parts else np.empty(0, "<u2")
    flat = np.pad(flat, (0, -len(flat) % recipe.seq_len), constant_values=recipe.pad)
    return flat.reshape(-1, recipe.seq_len)


def held_out(document: Document, per_mille: int) -> bool:
    """Whether a document belongs to the validation split."""
    digest = hashlib.blake2b(document.text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000 < per_mille


def build(recipe: Recipe, output: Path) -> dict[str, int]:
    """Builds the corpus.

    Returns:
      how many documents were left after each step, and the tokens written.
    """
    filtered = sorted(read(recipe), key=recipe.preference)
    distinct = drop_copies(filtered)
    kept = drop_near_copies(distinct)
    tokenize(kept, recipe)
    val = [document for document in kept if held_out(document, recipe.per_mille)]
    train = [document for document in kept if not held_out(document, recipe.per_mille)]
    train = choose(train, recipe.train_tokens, recipe)
    val = choose(val, recipe.val_tokens, recipe)
    tokens = write(train, output / "train", recipe) + write(val, output / "val", recipe)
    return {
        "filtered": len(filtered),
        "distinct": len(distinct),
        "documents": len(train) + len(val),
        "tokens": tokens,
    }


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    print(json.dumps(build(Recipe(arguments.recipe), arguments.output)))


if __name__ == "__main__":
    main()
