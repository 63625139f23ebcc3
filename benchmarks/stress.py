"""Inputs of unusual shape, each of one web source."""

import os
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import plain_filters
from benchmarks.inputs import Bench, source, write_recipe
from benchmarks.rows import Row, read_rows, write_rows
from benchmarks.substitution import Substitution, generator

DOMAIN = "web"
GIANT_BYTES = 200_000_000
SMALL_BYTES = 100


class Shape(NamedTuple):
    """A stress input.

    Attributes:
      texts: of its documents, in order.
      documents, files: how many of each.
      source, recipe: keys of the recipe beside the usual ones.
    """

    texts: Callable[[Bench], Iterator[str]]
    documents: int
    files: int
    source: dict[str, Any]
    recipe: dict[str, Any]


def make_stress(bench: Bench, name: str, folder: Path) -> tuple[int, int]:
    """Writes one of `SHAPES`.

    Returns:
      how many documents, and bytes of their text.
    """
    shape = SHAPES[name]
    rows: Iterator[Row] = ({"text": text} for text in shape.texts(bench))
    documents = text_bytes = 0
    for number in range(shape.files):
        here = (number + 1) * shape.documents // shape.files - documents
        path = folder / DOMAIN / f"{number:04d}.jsonl"
        _, size = write_rows(path, islice(rows, here), "text")
        documents += here
        text_bytes += size
    write_recipe(folder, [source(DOMAIN, **shape.source)], bench, **shape.recipe)
    return documents, text_bytes


def link_web_file(bench: Bench, folder: Path) -> tuple[int, int]:
    """The web file of the bench corpus alone, as the one gzip file that it is."""
    path = folder / DOMAIN / "00.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.symlink(bench.file(DOMAIN).resolve(), path)
    write_recipe(folder, [source(DOMAIN)], bench)
    sizes = [len(text.encode()) for text in _originals(bench)]
    return len(sizes), sum(sizes)


def _originals(bench: Bench) -> Iterator[str]:
    for row in read_rows(bench.file(DOMAIN)):
        yield row["text"]


def _originals_and_copies(bench: Bench) -> Iterator[str]:
    yield from _originals(bench)
    substitution = Substitution.from_texts(_originals(bench))
    for copy in count(1):
        for k, text in enumerate(_originals(bench)):
            yield substitution.copy(text, f"stress {copy} {k}")


def _one_document(bench: Bench) -> str:
    """A document of about 1 kB that passes its filter."""
    return next(
        text
        for text in _originals(bench)
        if 900 <= len(text) <= 1100 and plain_filters.keep(text, DOMAIN)
    )


def _identical(bench: Bench) -> Iterator[str]:
    text = _one_document(bench)
    while True:
        yield text


def _one_word_apart(bench: Bench) -> Iterator[str]:
    words = _one_document(bench).split()
    for k in count():
        place = k % len(words)
        yield " ".join([*words[:place], f"word{k}", *words[place + 1 :]])


def _giant_among_small(bench: Bench) -> Iterator[str]:
    small = (text for text in _originals_and_copies(bench) if len(text) < 5000)
    yield from islice(small, 500)
    parts, size = [], 0
    for text in _originals_and_copies(bench):
        parts.append(text)
        size += len(text.encode()) + 1
        if size >= GIANT_BYTES:
            break
    yield "\n".join(parts)
    yield from small


def _small(bench: Bench) -> Iterator[str]:
    pool = [word for word in Substitution.from_texts(_originals(bench)).pool if word.isascii()]
    random = generator("small")
    while True:
        drawn = random.integers(0, len(pool), SMALL_BYTES)
        yield " ".join([pool[k] for k in drawn.tolist()])[:SMALL_BYTES]


# The filter would drop a text of that many words whatever its bytes.
_ANY_LENGTH = {"filter": {"min_words": 1, "max_words": 10**9}}

_WHOLE = {
    "identical": Shape(_identical, 100_000, 16, {}, {}),
    "one_word_apart": Shape(_one_word_apart, 100_000, 16, {}, {}),
    "giant_rejected": Shape(_giant_among_small, 1_001, 4, _ANY_LENGTH, {}),
    "giant_kept": Shape(
        _giant_among_small, 1_001, 4, _ANY_LENGTH, {"max_doc_bytes": 2 * GIANT_BYTES}
    ),
    "many_files": Shape(_originals_and_copies, 20_000, 2_000, {}, {}),
    "small": Shape(_small, 1_000_000, 16, _ANY_LENGTH, {}),
}
_QUARTERS = {
    f"{name}_quarter": shape._replace(documents=shape.documents // 4, files=shape.files // 4)
    for name, shape in _WHOLE.items()
    if not name.startswith("giant")
}
SHAPES = {**_QUARTERS, **_WHOLE}
"""Every stress input by name; quarters show whether cost grows with the input."""
