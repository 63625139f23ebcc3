"""`corpusbeam show --window`: a window as text, told apart by source, or by region."""

from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from beam_pipeline.decoding import Decode, decoder
from beam_pipeline.documents import read_docs
from beam_pipeline.finished import read_manifest
from beam_pipeline.render_trace import render
from beam_pipeline.traces_manifest import is_traces
from beam_pipeline.windows import WindowPlace, documents_in, find_window
from transforms.errors import OutputError

_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red")


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
