"""`corpusbeam show --window`: a window as text, told apart by source, or by region."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from beam_pipeline.decoding import Decode, decoder
from beam_pipeline.documents import read_docs
from beam_pipeline.finished import read_manifest
from beam_pipeline.render_trace import render
from beam_pipeline.traces_manifest import is_traces
from transforms import storage
from transforms.errors import OutputError
from transforms.kernels.packing import packed_cost

_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red")


class WindowPlace(NamedTuple):
    """Where a window lies.

    Attributes:
      folder: path of the shards' folder.
      shard: the manifest's entry.
      place: the window's number in the shard.
      seq_len: tokens in it.
    """

    folder: str
    shard: dict[str, Any]
    place: int
    seq_len: int

    def column(self, name: str, kind: str) -> np.ndarray:
        """The window's row of the files of this name, [seq_len]."""
        dtype = np.dtype(kind).newbyteorder("<")
        path = storage.join(self.folder, self.shard["file"].replace(".tokens.", f".{name}."))
        start, size = self.place * self.seq_len * dtype.itemsize, self.seq_len * dtype.itemsize
        return np.frombuffer(storage.read_range(path, start, start + size), dtype)


def show_window(folder: str, split: str, window: int, layout: str | None, console: Console) -> None:
    """Prints a window.

    Args:
      folder: of something finished.
      split: "train", or "val" or "validation", which are the same.
      window: its number in the split, from 0.
      layout: of traces; the first of the recipe, if none is named.

    Raises:
      OutputError: there is nothing finished, or no such layout or window.
    """
    whole = read_manifest(folder)
    held_out = split != "train"
    if is_traces(whole):
        known = whole["recipe"]["layouts"]
        if layout not in (None, *known):
            raise OutputError(f"{folder} has no layout {layout!r}: it has {', '.join(known)}")
        name = f"{'validation' if held_out else 'train'}/{layout or known[0]}"
        _show_example(folder, name, window, console)
    elif layout is not None:
        raise OutputError(f"{folder} holds a corpus, which has no layouts: leave out --layout")
    else:
        _show_documents(folder, "val" if held_out else "train", window, console)


def _show_documents(folder: str, split: str, window: int, console: Console) -> None:
    manifest = read_manifest(folder, split)
    found = find_window(folder, split, window, manifest)
    _print_place(found, split, window, manifest, console)
    ids = found.column("tokens", manifest["dtype"])
    docs = read_docs(folder, split, found.shard)
    colours = {
        source["name"]: _COLOURS[k % len(_COLOURS)] for k, source in enumerate(manifest["sources"])
    }
    decode = decoder(folder, manifest)
    for document, part in documents_in(ids, docs, found.place, manifest):
        colour = colours[document["source"]]
        console.print(Text(_title(document), style=f"bold {colour}"))
        console.print(Text(_decode_chunks(part, manifest, decode), style=colour))
    padding = int((ids == manifest["pad_id"]).sum())
    if padding:
        console.print(f"{padding} tokens of padding", style="dim", highlight=False)


def _show_example(folder: str, name: str, window: int, console: Console) -> None:
    manifest = read_manifest(folder, name)
    found = find_window(folder, name, window, manifest)
    _print_place(found, name, window, manifest, console)
    tokens = found.column("tokens", manifest["dtype"])
    regions = found.column("regions", manifest["columns"]["regions"])
    console.print(render(tokens, regions, manifest, decoder(folder, manifest)))


def _print_place(
    found: WindowPlace, name: str, window: int, manifest: dict[str, Any], console: Console
) -> None:
    console.print(
        f"window {window} of {manifest['n_sequences']:,} in {name}: window {found.place} of "
        f"{found.shard['file']}, {manifest['seq_len']} tokens",
        style="bold",
        highlight=False,
    )


def find_window(folder: str, name: str, window: int, manifest: dict[str, Any]) -> WindowPlace:
    """Finds a window of a folder of shards.

    Raises:
      OutputError: there is no such window.
    """
    path = storage.join(folder, *name.split("/"))
    place = window
    for shard in manifest["shards"]:
        if 0 <= place < shard["sequences"]:
            return WindowPlace(path, shard, place, manifest["seq_len"])
        place -= shard["sequences"]
    raise OutputError(
        f"{name} has windows 0 to {manifest['n_sequences'] - 1}, not {window}"
        if manifest["n_sequences"]
        else f"{name} has no windows"
    )


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
