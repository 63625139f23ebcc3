"""`corpusbeam show`: a window as text, its documents told apart by source."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from beam_pipeline.manifest import TOKENIZER
from beam_pipeline.verify import read_manifest
from transforms import storage
from transforms.errors import OutputError
from transforms.kernels.packing import packed_cost

_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red")
Decode = Callable[[np.ndarray], str]


def show(folder: str, split: str, window: int, layout: str | None = None) -> int:
    """Prints a window.

    Args:
      folder: of a finished corpus.
      split: "train" or "val".
      window: its number in the split, from 0.

    Raises:
      OutputError: there is no such corpus or window.
    """
    manifest = read_manifest(folder, split)
    shard, place = _locate(manifest, split, window)
    path = storage.join(folder, split)
    width = np.dtype(manifest["dtype"]).itemsize
    seq_len = manifest["seq_len"]
    raw = storage.read_range(
        storage.join(path, shard["file"]), place * seq_len * width, (place + 1) * seq_len * width
    )
    ids = np.frombuffer(raw, np.dtype(manifest["dtype"]).newbyteorder("<"))
    docs = pq.read_table(io.BytesIO(storage.read_bytes(storage.join(path, shard["docs_file"]))))
    console = Console()
    console.print(
        f"window {window} of {manifest['n_sequences']:,} in {split}: window {place} of "
        f"{shard['file']}, {seq_len} tokens",
        style="bold",
        highlight=False,
    )
    colours = {
        source["name"]: _COLOURS[k % len(_COLOURS)] for k, source in enumerate(manifest["sources"])
    }
    decode = _decoder(folder, manifest)
    for document, part in documents_in(ids, docs, place, manifest):
        colour = colours[document["source"]]
        console.print(Text(_title(document), style=f"bold {colour}"))
        console.print(Text(_decode_chunks(part, manifest, decode), style=colour))
    padding = int((ids == manifest["pad_id"]).sum())
    if padding:
        console.print(f"{padding} tokens of padding", style="dim", highlight=False)
    return 0


def documents_in(
    ids: np.ndarray, docs: pa.Table, window: int, manifest: dict[str, Any]
) -> list[tuple[dict[str, Any], np.ndarray]]:
    """The documents of a window, in order, each with the part of the window that it fills."""
    seq_len = manifest["seq_len"]
    firsts = docs["window"].to_numpy() * seq_len + docs["position"].to_numpy() - 1
    n_ids = docs["n_ids"].to_numpy().astype(np.int64)
    stops = firsts + packed_cost(n_ids, seq_len)
    begin = window * seq_len
    inside = np.flatnonzero((firsts < begin + seq_len) & (stops > begin))
    found = []
    for row in inside.tolist():
        part = ids[max(0, firsts[row] - begin) : max(0, stops[row] - begin)]
        found.append((docs.slice(row, 1).to_pylist()[0], part))
    return found


def _locate(manifest: dict[str, Any], split: str, window: int) -> tuple[dict[str, Any], int]:
    place = window
    for shard in manifest["shards"]:
        if 0 <= place < shard["sequences"]:
            return shard, place
        place -= shard["sequences"]
    raise OutputError(
        f"{split} has windows 0 to {manifest['n_sequences'] - 1}, not {window}"
        if manifest["n_sequences"]
        else f"{split} has no windows"
    )


def _title(document: dict[str, Any]) -> str:
    name = f" {document['id']}" if document.get("id") else ""
    copies = document["cluster_size"]
    cluster = f", stands for {copies} duplicates" if copies > 1 else ""
    return f"── {document['source']}{name} ({document['n_ids']:,} ids{cluster})"


def _decode_chunks(part: np.ndarray, manifest: dict[str, Any], decode: Decode) -> str:
    """Text of a document's part; where a chunk ends and the next begins is marked."""
    marks = np.isin(part, (manifest["bos_id"], manifest["eos_id"]))
    chunks = np.split(part, np.flatnonzero(marks))
    texts = [
        decode(chunk[~np.isin(chunk, (manifest["bos_id"], manifest["eos_id"]))]) for chunk in chunks
    ]
    return "⏎".join(text for text in texts if text)


def _decoder(folder: str, manifest: dict[str, Any]) -> Decode:
    if manifest["tokenizer"]["name"] == "bytes":
        return lambda ids: ids.astype(np.uint8).tobytes().decode(errors="replace")
    from tokenizers import Tokenizer

    raw = storage.read_bytes(storage.join(folder, TOKENIZER))
    tokenizer = Tokenizer.from_str(raw.decode())
    return lambda ids: tokenizer.decode(ids.tolist(), skip_special_tokens=False)
