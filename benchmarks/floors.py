"""What each step of the corpus job costs alone: one kernel, one thread, the same texts.

    python -m benchmarks.floors RECIPE

The sum is what the job would cost if nothing lay between its kernels. A step that the job takes
twice, as it reads its input twice, counts twice. Printed as JSON.
"""

import argparse
import hashlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from beam_pipeline import recipe as recipes
from beam_pipeline.launch import plan_sources
from beam_pipeline.recipe import Recipe
from beam_pipeline.specs import source_spec, tokenizer_spec
from benchmarks.records import Floor, Floors
from transforms import keys, quality, readers, storage
from transforms.documents import Piece, RowBatch, TextBatch
from transforms.kernels.measures import measure
from transforms.kernels.minhash import Signer, band_keys
from transforms.kernels.normal_form import normalize
from transforms.kernels.packing import pack
from transforms.readers.planning import PIECE_BYTES
from transforms.sources import SourceSpec
from transforms.tokenizers.encoders import FastokensEncoder
from transforms.tokenizers.prepare import prepare

Texts = Sequence[TextBatch]


@dataclass(frozen=True)
class Clock:
    """Times functions, as the median of some calls."""

    repeats: int

    def seconds(self, function: Callable[[], object]) -> float:
        """CPU of a call, all threads."""
        return statistics.median(self._once(function) for _ in range(self.repeats))

    def floor(
        self, step: str, function: Callable[[], object], texts: Texts, times: int = 1
    ) -> Floor:
        """The floor of a step that goes through the texts."""
        return Floor(step, times, self.seconds(function), _megabytes(texts))

    @staticmethod
    def _once(function: Callable[[], object]) -> float:
        start = time.process_time()
        function()
        return time.process_time() - start


def find_floors(recipe_path: str, clock: Clock) -> Floors:
    """Measures all steps on the input of a recipe."""
    recipe = recipes.load(recipe_path, recipes.Recipe)
    specs = [source_spec(recipe, source, recipe_path) for source in recipe.sources]
    pieces = [piece for plan in plan_sources(specs, PIECE_BYTES) for piece in plan.pieces]
    rules = [quality.rules_for(source.domain, source.filter) for source in recipe.sources]
    everything: list[TextBatch] = []
    passed: list[TextBatch] = []
    for piece in pieces:
        for texts in _read([piece], specs):
            verdicts = quality.judge(measure(texts), rules[piece.source])
            everything.append(texts)
            passed.append(texts.take(verdicts == 0))
    steps = [
        *_reading(pieces, specs, clock),
        clock.floor("measure", lambda: list(map(measure, everything)), everything),
        *_keying(passed, recipe, clock),
        *_tokens(passed, recipe, recipe_path, clock),
    ]
    return Floors(_megabytes(everything), steps)


def _reading(pieces: list[Piece], specs: list[SourceSpec], clock: Clock) -> Iterator[Floor]:
    for kind in sorted({piece.kind for piece in pieces}):
        own = [piece for piece in pieces if piece.kind == kind]

        def read(own: list[Piece] = own) -> Texts:
            return list(_read(own, specs))

        yield clock.floor(f"read and parse {kind}", read, read(), times=2)


def _keying(passed: Texts, recipe: Recipe, clock: Clock) -> Iterator[Floor]:
    """Normal form, digests, orders, signatures and their bands."""
    normalized = list(map(normalize, passed))
    digests = list(map(keys.digests, passed))
    signer = Signer(recipe.dedup.permutations, recipe.dedup.shingle, recipe.seed)
    signatures = list(map(signer.sign, normalized))

    def order() -> None:
        for of_batch in digests:
            keys.order_keys("keep", recipe.seed, "source", of_batch)

    def bands() -> None:
        for of_batch in signatures:
            band_keys(of_batch, recipe.dedup.bands)

    def split() -> None:
        for texts in passed:
            keys.held_out(texts, recipe.holdout.per_mille)

    yield clock.floor("normalise", lambda: list(map(normalize, passed)), passed)
    yield clock.floor("digest of text", lambda: list(map(keys.digests, passed)), passed, times=2)
    yield clock.floor(
        "digest of normal form", lambda: list(map(keys.digests, normalized)), normalized
    )
    yield clock.floor("keys of an order", order, passed, times=len(("keep", "pick", "shuffle")))
    yield clock.floor("sign", lambda: list(map(signer.sign, normalized)), normalized)
    yield clock.floor("band keys", bands, normalized)
    yield clock.floor("split", split, passed)


def _tokens(passed: Texts, recipe: Recipe, recipe_path: str, clock: Clock) -> Iterator[Floor]:
    """From texts to a written shard."""
    prepared, tokenizer_json = prepare(tokenizer_spec(recipe, recipe_path))

    def load() -> FastokensEncoder:
        return FastokensEncoder(prepared, tokenizer_json)

    def load_and_encode() -> list[tuple[np.ndarray, np.ndarray]]:
        # A new encoder knows no words yet, as in a job.
        encoder = load()
        return [encoder.encode(texts) for texts in passed]

    encoded = load_and_encode()
    ids = np.concatenate([some for some, _ in encoded])
    offsets = np.r_[0, np.cumsum(np.concatenate([lengths for _, lengths in encoded]))]

    def pack_ids() -> np.ndarray:
        bos, eos, pad = prepared.bos_id, prepared.eos_id, prepared.pad_id
        return pack(ids, offsets, recipe.seq_len, bos, eos, pad)[0]

    windows = pack_ids().tobytes()

    def write() -> None:
        hashlib.sha256(windows).hexdigest()
        with tempfile.TemporaryDirectory() as folder:
            storage.write_whole(f"{folder}/shard.tokens.bin", [windows])

    tokenizing = clock.seconds(load_and_encode) - clock.seconds(load)
    yield Floor("tokenize", 1, tokenizing, _megabytes(passed))
    yield clock.floor("pack", pack_ids, passed)
    yield clock.floor("sha256 and write", write, passed)


def _read(pieces: Sequence[Piece], specs: Sequence[SourceSpec]) -> Iterator[TextBatch]:
    for piece in pieces:
        for batch in readers.read(piece, specs[piece.source]):
            if isinstance(batch, RowBatch):
                yield batch.texts


def _megabytes(texts: Texts) -> float:
    return sum(len(batch.data) for batch in texts) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    # Read when the first encoder starts its threads.
    os.environ["RAYON_NUM_THREADS"] = "1"
    floors = find_floors(str(arguments.recipe), Clock(arguments.repeats))
    print(json.dumps(asdict(floors)))


if __name__ == "__main__":
    main()
