"""Collects what a report shows beside counts: some windows, rejected rows and duplicates as text.

All are chosen by hash or by what their texts are, so a corpus has one report however it was built.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq

from beam_pipeline.report.contents import MOST_SOURCES, Excerpt, Passage, Shown, Window
from beam_pipeline.windows import documents_in, find_window
from transforms import storage
from transforms.kernels.packing import packed_cost
from transforms.specimens import Specimen
from transforms.tokenize import SPLITS, TRAIN
from transforms.tokenizers.encoders import Encoder
from transforms.work import WorkFolder

_WINDOWS = 3
_PASSAGE_CHARACTERS = 700
_REJECTS = 3
_REJECT_CHARACTERS = 300


def shown(
    specimens: Iterable[Specimen],
    names: Sequence[str],
    weights: Sequence[float],
    permutations: int,
    work: WorkFolder,
) -> tuple[Shown, ...]:
    """Duplicates with their first lines, which the second read left in the work folder.

    Args:
      names, weights: of the sources, by place. A source of weight 0 is not read again.
      permutations: length of a signature.
    """
    return tuple(
        Shown(
            specimen.texts,
            specimen.documents,
            tuple(
                Excerpt(
                    names[member.source],
                    _excerpt(work, member.piece, member.position)
                    if weights[member.source]
                    else None,
                    member.agree / permutations,
                )
                for member in specimen.members
            ),
        )
        for specimen in specimens
    )


def _excerpt(work: WorkFolder, piece: int, position: int) -> str:
    report = orjson.loads(storage.read_bytes(work.tokens_report(piece)))
    return report["excerpts"][str(position)]


def windows(output: str, train: dict[str, Any], encoder: Encoder) -> tuple[Window, ...]:
    """Some windows of the train split.

    Args:
      output: folder of the corpus.
      train: manifest of the split.
    """
    return tuple(_window(output, train, number, encoder) for number in chosen_windows(train))


def chosen_windows(manifest: dict[str, Any]) -> list[int]:
    """Numbers of some windows of a folder of shards, ascending; by hash, so always the same."""
    there_are = manifest["n_sequences"]
    if not there_are:
        return []
    drawn = [
        hashlib.blake2b(f"{manifest['recipe_sha256']} window {k}".encode(), digest_size=8).digest()
        for k in range(_WINDOWS)
    ]
    return sorted({int.from_bytes(digest, "big") % there_are for digest in drawn})


def _window(output: str, train: dict[str, Any], number: int, encoder: Encoder) -> Window:
    place = find_window(output, SPLITS[TRAIN], number, train)
    ids = place.column("tokens", train["dtype"])
    docs = storage.read_bytes(storage.join(place.folder, place.shard["docs_file"]))
    parts = documents_in(ids, pq.read_table(io.BytesIO(docs)), place.place, train)
    used = sum(len(part) for _, part in parts)
    passages = tuple(
        _passage(document, part, place.place, train, encoder) for document, part in parts
    )
    return Window(number, passages, len(ids) - used)


def _passage(
    document: dict[str, Any],
    part: np.ndarray,
    window: int,
    train: dict[str, Any],
    encoder: Encoder,
) -> Passage:
    seq_len = train["seq_len"]
    first = document["window"] * seq_len + document["position"] - 1
    stop = first + int(packed_cost(np.array([document["n_ids"]], np.int64), seq_len)[0])
    own = part[~np.isin(part, (train["bos_id"], train["eos_id"], train["pad_id"]))]
    text = encoder.decode(own)
    return Passage(
        source=document["source"],
        tokens=len(own),
        starts=first >= window * seq_len,
        ends=stop <= (window + 1) * seq_len,
        text=text[:_PASSAGE_CHARACTERS],
        left_out=max(0, len(text) - _PASSAGE_CHARACTERS),
    )


def rejects(paths: Iterable[str], names: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The first few different texts of each source and reason.

    Args:
      paths: of the files that `WriteRejects` wrote.
      names: of the sources.
    """
    by_path = {path.rpartition("/")[2]: path for path in paths}
    return {
        name: _by_reason(storage.read_bytes(by_path[f"{name}.jsonl"]))
        for name in names[:MOST_SOURCES]
        if f"{name}.jsonl" in by_path
    }


def _by_reason(raw: bytes) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for outcome, text in _rows(raw):
        texts = found.setdefault(outcome, {})
        if len(texts) < _REJECTS:
            texts[text] = None
    return {outcome: tuple(texts) for outcome, texts in sorted(found.items())}


def _rows(raw: bytes) -> Iterator[tuple[str, str]]:
    for line in raw.splitlines():
        row = orjson.loads(line)
        text = row["text"]
        cut = "…" if len(text) > _REJECT_CHARACTERS else ""
        yield row["reason"], text[:_REJECT_CHARACTERS] + cut
