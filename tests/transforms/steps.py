"""Small inputs for transforms, and how to read what they give."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.launch import Launch, launch
from tests import jobs
from tests.reference.text import normalized
from transforms import keys, ledger, records, statistics, storage
from transforms.documents import Piece, TextBatch
from transforms.land import read_pieces
from transforms.scan import PieceScan, scan_piece

ONE_PIECE = 1 << 30


def texts_of(count: int, seed: int = 0, words: int = 60) -> list[str]:
    """Texts that are no near duplicates of each other."""
    generator = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return [
        " ".join("".join(letters[generator.integers(0, 26, n)]) for n in sizes)
        for sizes in generator.integers(3, 9, (count, words))
    ]


def nearly(text: str, word: int = 10) -> str:
    """The text with one word changed."""
    words = text.split()
    words[word] = "changed"
    return " ".join(words)


def launched(
    folder: Path,
    texts: Mapping[str, Iterable[str | None]],
    piece_bytes: int = ONE_PIECE,
    weights: Mapping[str, float] | None = None,
    **changes: Any,
) -> Launch:
    """A launched job of one file a source, unfiltered, with the byte tokenizer.

    A text may be None: its row is malformed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sources = []
    for name, of_source in texts.items():
        rows = [{"id": f"{name}{k}", "text": text} for k, text in enumerate(of_source)]
        path = jobs.write_rows(folder / f"{name}.jsonl", rows)
        weight = (weights or {}).get(name, 1 / len(texts))
        sources.append(jobs.source_of(name, path, weight, id_column="id"))
    recipe = folder / "recipe.yaml"
    recipe.write_text(yaml.safe_dump(jobs.recipe_of(sources, **changes)))
    return launch(JobArguments(str(recipe), str(folder / "corpus"), piece_bytes=piece_bytes))


def pieces_of(job: Launch) -> list[Piece]:
    """The planned pieces."""
    return list(read_pieces(job.work.pieces()))


def scan_all(job: Launch) -> dict[int, PieceScan]:
    """Scans every piece, by number, and leaves the scan files that later steps read."""
    scans = {}
    for piece in pieces_of(job):
        scans[piece.number] = scan_piece(piece, job.scan)
        storage.save_array(job.work.scan(piece.number), scans[piece.number].documents)
    return scans


def all_survive(scans: Mapping[int, PieceScan]) -> list[tuple[int, bytes]]:
    """Packed `records.SURVIVOR` of all scanned documents, by piece."""
    found = []
    for number, scan in scans.items():
        survivors = np.zeros(len(scan.documents), records.SURVIVOR)
        survivors["position"] = np.arange(len(survivors))
        survivors["copies"] = 1
        found.append((number, survivors.tobytes()))
    return found


def digest_of(text: str) -> int:
    """The first half of the digest of a text, normalised."""
    return int(keys.digests(TextBatch.from_strings([normalized(text)]))[0, 0])


def preference(record: np.void) -> tuple[int, ...]:
    """What the least of decides who is kept."""
    return tuple(record[list(records.PREFERENCE_ORDER)].item())


def references(scans: Mapping[int, PieceScan]) -> dict[int, int]:
    """The digest (its first half) of each document by its reference."""
    return {
        int(ref): int(digest)
        for number, scan in scans.items()
        for ref, digest in zip(
            records.refs(number, np.arange(len(scan.documents))),
            scan.documents["digest_hi"],
            strict=True,
        )
    }


def amounts(entries: list[ledger.Entry]) -> dict[tuple[str, str], tuple[int, int]]:
    """(documents, bytes) by source and outcome; statistics that travel with them are left out."""
    by_key: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    account, _ = statistics.apart(entries)
    for key, amount in account:
        by_key[key].append(amount)
    return {key: ledger.add(found) for key, found in by_key.items()}


def records_by_key(elements: list[tuple[int, bytes]], dtype: np.dtype) -> Counter:
    """How often each record stands under each key."""
    return Counter(
        (key, record)
        for key, packed in elements
        for record in np.frombuffer(packed, dtype).tolist()
    )


def cut(packed: bytes, dtype: np.dtype, parts: int) -> list[bytes]:
    """The same records in several elements, the last ones first."""
    found = np.array_split(np.frombuffer(packed, dtype), parts)
    return [part.tobytes() for part in reversed(found)]


def files_in(folder: str | Path) -> dict[str, bytes]:
    """The contents of all files below a folder, by path in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def pairs(chain: Iterable[int]) -> np.ndarray:
    """Edges from each reference to the next, `records.EDGE`."""
    return np.array(list(itertools.pairwise(chain)), records.EDGE)
