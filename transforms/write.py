"""Packing: the documents of a shard, cut into chunks, become windows."""

from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.typehints.decorators import no_annotations

from transforms import records
from transforms.errors import InternalError
from transforms.kernels.packing import pack, packed_cost
from transforms.names import load_names
from transforms.shards import (
    ShardContents,
    ShardInfo,
    ShardSettings,
    WriteRecords,
    fetch,
    read_by_piece,
)
from transforms.tokenize import SPLITS, split_and_source
from transforms.tokenizers.prepare import PreparedTokenizer
from transforms.work import WorkFolder


@dataclass(frozen=True)
class WriteSettings:
    """How and where shards are written.

    Attributes:
      sources: names, by place in the recipe.
      named: by place, whether the source names an id column.
    """

    sources: tuple[str, ...]
    named: tuple[bool, ...]
    seq_len: int
    tokens_per_shard: int
    tokenizer: PreparedTokenizer
    work: WorkFolder
    output: str


def assemble(chosen: np.ndarray, settings: WriteSettings) -> ShardContents:
    """Fetches the ids of a shard's documents and packs them into windows.

    Args:
      chosen: `records.CHOSEN`, in shuffle order.
    """
    tokenizer = settings.tokenizer
    lengths = chosen["ids"].astype(np.int64)
    ids = fetch(
        chosen["piece"],
        chosen["offset"].astype(np.int64),
        lengths,
        settings.work.tokens,
        np.dtype(tokenizer.dtype),
    )
    if len(ids) and int(ids.max()) >= tokenizer.vocab_size:
        raise InternalError(
            f"token id {ids.max()} is outside the vocabulary of {tokenizer.vocab_size}"
        )
    offsets = np.r_[0, np.cumsum(lengths)]
    windows, positions = pack(
        ids, offsets, settings.seq_len, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
    )
    docs = docs_table(chosen, positions, settings)
    cost = int(packed_cost(lengths, settings.seq_len).sum())
    return ShardContents(windows, {}, docs, cost, {})


def docs_table(chosen: np.ndarray, positions: np.ndarray, settings: WriteSettings) -> pa.Table:
    """One row a document, in the order of the shard.

    Args:
      positions: int64 [documents], where in the flat windows each one's first id stands.
    """
    digests = np.stack([chosen["digest_hi"], chosen["digest_lo"]], axis=1).astype(">u8")
    columns = {
        "digest": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), len(chosen), [None, pa.py_buffer(digests.tobytes())]
        ),
        "source": pa.DictionaryArray.from_arrays(
            pa.array(chosen["source"].astype(np.int32)), pa.array(settings.sources)
        ),
        "window": pa.array(positions // settings.seq_len),
        "position": pa.array((positions % settings.seq_len).astype(np.int32)),
        "n_ids": pa.array(chosen["ids"]),
        "cluster_size": pa.array(chosen["cluster"]),
    }
    if any(settings.named):
        columns["id"] = pa.array(_names(chosen, settings), pa.string())
    return pa.table(columns)


def _names(chosen: np.ndarray, settings: WriteSettings) -> list[str | None]:
    names: list[str | None] = [None] * len(chosen)

    def load(path: str, which: np.ndarray) -> None:
        if settings.named[chosen["source"][which[0]]]:
            found = load_names(path, chosen["place"][which])
            for k, name in zip(which.tolist(), found, strict=True):
                names[k] = name

    read_by_piece(chosen["piece"], settings.work.names, load)
    return names


def _tokens_of_split(spent: tuple[int, tuple[int, ...]]) -> tuple[int, int]:
    key, (_, tokens) = spent
    return split_and_source(key)[0], tokens


@dataclass
class _AssembleDocuments:
    settings: WriteSettings

    def __call__(self, folder: int, found: np.ndarray) -> ShardContents:
        return assemble(found, self.settings)


@dataclass
class WriteShards(beam.PTransform):
    """Orders, packs and writes the chosen documents.

    In: {"chosen": (split, packed `records.CHOSEN`), "spent": (`group_key`, (documents,
    tokens))}. Out: `ShardInfo`. A worker holds one shard.
    """

    settings: WriteSettings

    @no_annotations
    def expand(self, inputs: dict[str, beam.PCollection]) -> beam.PCollection[ShardInfo]:
        """Wires the budget's account to the writing."""
        settings = self.settings
        tokens = (
            inputs["spent"]
            | "TokensOfSplit" >> beam.Map(_tokens_of_split)
            | "SumTokens" >> beam.CombinePerKey(sum)
        )
        shards = ShardSettings(
            SPLITS, records.CHOSEN, settings.tokens_per_shard, settings.work, settings.output
        )
        return {"chosen": inputs["chosen"], "tokens": tokens} | "WriteRecords" >> WriteRecords(
            shards, _AssembleDocuments(settings)
        )
