"""What each step of the corpus job costs alone: one kernel, one thread, the same texts.

    python -m benchmarks.floors RECIPE

The sum is what the job would cost if nothing lay between its kernels. A step that the job takes
twice, as it reads its input twice, counts twice. Printed as JSON.
"""

import argparse
import collections
import hashlib
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from beam_pipeline import recipe_file as recipes
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

    def seconds(self, function: Callable[[], Iterable]) -> float:
        """CPU of a call and of going through what it gives, all threads."""
        return statistics.median(self._once(function) for _ in range(self.repeats))

    def floor(
        self, step: str, function: Callable[[], Iterable], megabytes: float, times: int = 1
    ) -> Floor:
        """The floor of a step that goes through so much text."""
        return Floor(step, times, self.seconds(function), megabytes)

    @staticmethod
    def _once(function: Callable[[], Iterable]) -> float:
        start = time.process_time()
        # Nothing is kept, as in a job: memory that is used for the first time costs more.
        collections.deque(function(), maxlen=0)
        return time.process_time() - start


def find_floors(recipe_path: str, clock: Clock) -> Floors:
    """Measures all steps on the input of a recipe."""
    recipe = recipes.load(recipe_path, Recipe)
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
        clock.floor("measure", lambda: map(measure, everything), _megabytes(everything)),
        *_keying(passed, recipe, clock),
        *_tokens(passed, recipe, recipe_path, clock),
    ]
    return Floors(_megabytes(everything), steps)


def _reading(pieces: list[Piece], specs: list[SourceSpec], clock: Clock) -> Iterator[Floor]:
    for kind in sorted({piece.kind for piece in pieces}):
        own = [piece for piece in pieces if piece.kind == kind]

        def read(own: list[Piece] = own) -> Iterator[TextBatch]:
            return _read(own, specs)

        yield clock.floor(f"read and parse {kind}", read, _megabytes(read()), times=2)


def _keying(passed: Texts, recipe: Recipe, clock: Clock) -> Iterator[Floor]:
    """Normal form, digests, fingerprints, orders, signatures and their bands."""
    normalized = list(map(normalize, passed))
    digests = list(map(keys.digests, passed))
    signer = Signer(recipe.dedup.permutations, recipe.dedup.shingle, recipe.seed)
    signatures = list(map(signer.sign, normalized))

    def order(of_batch: np.ndarray) -> np.ndarray:
        return keys.order_keys("keep", recipe.seed, "source", of_batch)

    def bands(of_batch: np.ndarray) -> np.ndarray:
        return band_keys(of_batch, recipe.dedup.bands)

    def split(texts: TextBatch) -> np.ndarray:
        return keys.held_out(texts, recipe.holdout.per_mille)

    def floor(step: str, function: Callable, batches: Sequence, times: int = 1) -> Floor:
        return clock.floor(step, lambda: map(function, batches), _megabytes(passed), times)

    yield floor("normalise", normalize, passed)
    yield floor("digest of text", keys.digests, passed)
    yield floor("digest of normal form", keys.digests, normalized)
    yield floor("fingerprint", keys.fingerprints, passed, times=2)
    yield floor("keys of an order", order, digests, times=len(("keep", "pick", "shuffle")))
    yield floor("sign", signer.sign, normalized)
    yield floor("band keys", bands, signatures)
    yield floor("split", split, passed)


def _tokens(passed: Texts, recipe: Recipe, recipe_path: str, clock: Clock) -> Iterator[Floor]:
    """From texts to a written shard."""
    prepared, tokenizer_json = prepare(tokenizer_spec(recipe, recipe_path))

    encoder = FastokensEncoder(prepared, tokenizer_json)

    def encode() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return map(encoder.encode, passed)

    def pack_shard(shard: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        bos, eos, pad = prepared.bos_id, prepared.eos_id, prepared.pad_id
        return pack(*shard, recipe.seq_len, bos, eos, pad)[0]

    numbers = itertools.count()

    def write_and_read(shard: tuple[np.ndarray, np.ndarray]) -> None:
        path = f"{folder}/{next(numbers):012x}.bin"
        storage.write_whole(path, [shard[0].data.cast("B")])
        storage.read_bytes(path)

    def write(windows: np.ndarray) -> None:
        data = windows.data.cast("B")
        hashlib.sha256(data).hexdigest()
        storage.write_whole(f"{folder}/shard_{next(numbers):05d}.tokens.bin", [data])

    megabytes = _megabytes(passed)
    shards = list(_shards(encode(), recipe.tokens_per_shard))
    packed = list(map(pack_shard, shards))
    yield clock.floor("tokenize", encode, megabytes)
    yield clock.floor("pack", lambda: map(pack_shard, shards), megabytes)
    with tempfile.TemporaryDirectory() as folder:
        yield clock.floor("token files", lambda: map(write_and_read, shards), megabytes)
        yield clock.floor("sha256 and write", lambda: map(write, packed), megabytes)


def _shards(
    encoded: Iterable[tuple[np.ndarray, np.ndarray]], tokens: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Ids and offsets of documents, about so many tokens at a time."""
    ids: list[np.ndarray] = []
    lengths: list[np.ndarray] = []
    for some, of_each in encoded:
        ids.append(some)
        lengths.append(of_each)
        if sum(map(len, ids)) >= tokens:
            yield np.concatenate(ids), np.r_[0, np.cumsum(np.concatenate(lengths))]
            ids, lengths = [], []
    if ids:
        yield np.concatenate(ids), np.r_[0, np.cumsum(np.concatenate(lengths))]


def _read(pieces: Sequence[Piece], specs: Sequence[SourceSpec]) -> Iterator[TextBatch]:
    for piece in pieces:
        for batch in readers.read(piece, specs[piece.source]):
            if isinstance(batch, RowBatch):
                yield batch.texts


def _megabytes(texts: Iterable[TextBatch]) -> float:
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
