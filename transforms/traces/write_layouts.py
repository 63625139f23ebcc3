"""The windows of a shard: examples, fetched from the work files and laid out."""

from dataclasses import asdict, dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.pvalue import AsSingleton
from apache_beam.typehints.decorators import no_annotations

from transforms.errors import InternalError
from transforms.shards import ShardContents, ShardInfo, ShardSettings, WriteRecords, fetch
from transforms.tokenizers.spec import PreparedTokenizer
from transforms.traces.encode_examples import LENGTH, EncodeSettings, offsets_of
from transforms.traces.layouts import KEPT, ExampleIds, encode
from transforms.traces.records import ENCODED, problems
from transforms.traces.settle_tokenizer import special_of
from transforms.traces.split_examples import SPLITS

REGIONS = "regions"


def docs_table(found: np.ndarray) -> pa.Table:
    """One row an example, in the order of the windows: SHA-256 of its problem, ids, thoughts."""
    digests = np.ascontiguousarray(problems(found)).astype(">u8")
    return pa.table(
        {
            "problem": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(32), len(found), [None, pa.py_buffer(digests.tobytes())]
            ),
            "n_ids": pa.array(found["ids"]),
            "n_thoughts": pa.array(found["texts"] - np.uint32(2)),
        }
    )


@dataclass
class _AssembleExamples:
    settings: EncodeSettings

    def __call__(
        self, folder: int, found: np.ndarray, tokenizer: PreparedTokenizer
    ) -> ShardContents:
        settings = self.settings
        ids = fetch(
            found["piece"],
            found["offset"].astype(np.int64),
            found["ids"].astype(np.int64),
            settings.work.tokens,
            np.dtype(tokenizer.dtype),
        )
        lengths = fetch(
            found["piece"],
            found["first_text"].astype(np.int64),
            found["texts"].astype(np.int64),
            settings.work.lengths,
            LENGTH,
        )
        windows = encode(
            settings.layouts[folder // len(SPLITS)],
            ExampleIds(ids, offsets_of(lengths), offsets_of(found["texts"])),
            settings.geometry,
            special_of(tokenizer),
        )
        if (windows.outcomes != KEPT).any():
            raise InternalError("an example that fitted its layout does not fit any more")
        return ShardContents(
            windows.tokens,
            {REGIONS: windows.regions},
            docs_table(found),
            int(np.count_nonzero(windows.regions)),
            {"statistics": asdict(windows.statistics)},
        )


@dataclass
class WriteLayouts(beam.PTransform):
    """Orders, lays out and writes the examples of every folder.

    In: {"chosen": (`folder_key`, packed `ENCODED`), "tokens": (`folder_key`, tokens)}. Out:
    `ShardInfo`, with the shard's `LayoutStatistics` as plain data among its facts. A worker holds
    one shard.

    Attributes:
      tokenizer: one `PreparedTokenizer`.
    """

    settings: EncodeSettings
    tokens_per_shard: int
    output: str
    tokenizer: AsSingleton

    @no_annotations
    def expand(self, inputs: dict[str, beam.PCollection]) -> beam.PCollection[ShardInfo]:
        """Wires the writing."""
        shards = ShardSettings(
            self.settings.folders(),
            ENCODED,
            self.tokens_per_shard,
            self.settings.work,
            self.output,
        )
        return inputs | "WriteRecords" >> WriteRecords(
            shards, _AssembleExamples(self.settings), (self.tokenizer,)
        )
