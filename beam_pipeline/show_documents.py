"""`corpusbeam show --document` and `--search`: documents of a corpus as text."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from beam_pipeline.decoding import Decode, decoder
from beam_pipeline.documents import ShardDocuments, read_docs, read_documents, shards_of
from beam_pipeline.finished import read_manifest
from transforms.errors import OutputError

CONTEXT = 120
MIN_DIGEST = 6

_HEX = re.compile(r"[0-9a-f]{6,32}")


class Hit(NamedTuple):
    """A document that was asked for.

    Attributes:
      document: its row in the docs file.
      split: that it is in.
      window: number, in the split, of the window where it begins.
      text: decoded.
    """

    document: dict[str, Any]
    split: str
    window: int
    text: str

    def title(self) -> str:
        """One line for people."""
        name = f" {self.document['id']}" if self.document.get("id") else ""
        copies = self.document["cluster_size"]
        cluster = f", stands for {copies} duplicates" if copies > 1 else ""
        return (
            f"{self.document['source']}{name}, digest {self.document['digest'].hex()[:12]}: "
            f"{self.document['n_ids']:,} ids{cluster}, {self.split} window {self.window}"
        )


def show_document(folder: str, splits: tuple[str, ...], key: str, console: Console) -> None:
    """Prints the documents with an id, or whose digest begins so.

    Args:
      key: an id as the source gives it, or at least `MIN_DIGEST` hexadecimal digits.

    Raises:
      OutputError: no document has that key.
    """
    found = list(_with_key(folder, splits, key))
    if not found:
        raise OutputError(
            f"{folder}: {' and '.join(splits)} list no document {key!r}: give an id, or the first "
            f"{MIN_DIGEST} or more digits of a digest, as `show` prints them"
        )
    for hit in found:
        console.print(Text(hit.title(), "bold cyan"))
        console.print(Text(hit.text))


def _with_key(folder: str, splits: tuple[str, ...], key: str) -> Iterator[Hit]:
    decode = decoder(folder, read_manifest(folder))
    for split, place, entry in shards_of(folder, splits):
        docs = read_docs(folder, split, entry)
        rows = _rows_with_key(docs, key)
        if rows:
            shard = read_documents(folder, split, place, docs)
            yield from (_hit(shard, row, decode) for row in rows)


def _rows_with_key(docs: pa.Table, key: str) -> list[int]:
    wanted: set[int] = set()
    if "id" in docs.column_names:
        wanted |= set(pc.indices_nonzero(pc.equal(docs["id"], key)).to_pylist())
    if _HEX.fullmatch(key.lower()):
        digests = docs["digest"].to_pylist()
        wanted |= {k for k, digest in enumerate(digests) if digest.hex().startswith(key.lower())}
    return sorted(wanted)


def _hit(shard: ShardDocuments, row: int, decode: Decode) -> Hit:
    document = shard.docs.slice(row, 1).to_pylist()[0]
    text = decode(shard.ids[shard.offsets[row] : shard.offsets[row + 1]])
    return Hit(document, shard.split, shard.first_window + document["window"], text)


def search(folder: str, splits: tuple[str, ...], wanted: str, most: int, console: Console) -> None:
    """Prints the first documents that hold a text, in any case, with what stands around it.

    Args:
      most: documents to print.
    """
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    count = 0
    for hit in _all(folder, splits):
        places = [match.span() for match in pattern.finditer(hit.text)]
        if not places:
            continue
        times = f", {len(places)} times" if len(places) > 1 else ""
        console.print(Text(hit.title() + times, "bold cyan"))
        console.print(Padding(excerpt(hit.text, *places[0]), (0, 0, 0, 2)))
        count += 1
        if count == most:
            console.print(f"the first {most}; --first N shows more", style="dim", highlight=False)
            return
    console.print(
        f"{count} documents hold {wanted!r}" if count else f"no document holds {wanted!r}",
        style="dim",
        highlight=False,
    )


def _all(folder: str, splits: tuple[str, ...]) -> Iterator[Hit]:
    decode = decoder(folder, read_manifest(folder))
    for split, place, entry in shards_of(folder, splits):
        shard = read_documents(folder, split, place, read_docs(folder, split, entry))
        for row in range(shard.docs.num_rows):
            yield _hit(shard, row, decode)


def excerpt(text: str, start: int, stop: int) -> Text:
    """What stands around a place in a text, on one line, the place marked."""
    before, after = max(0, start - CONTEXT), stop + CONTEXT
    shown = Text("…" if before else "")
    shown.append(_flat(text[before:start]))
    shown.append(_flat(text[start:stop]), "bold black on yellow")
    shown.append(_flat(text[stop:after]) + ("…" if after < len(text) else ""))
    return shown


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)
