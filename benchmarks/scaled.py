"""Inputs of any multiple of the bench corpus: the corpus itself, then substituted copies of it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing import Pool
from pathlib import Path

from benchmarks.inputs import Bench, source, text_column, write_recipe
from benchmarks.rows import Row, read_rows, write_rows
from benchmarks.substitution import Substitution

# In proportion to their text, as far as two files each allow; 16 in all.
FILES = {"web": 10, "synthetic": 2, "code": 2, "math": 2}
PROCESSES = min(2, os.cpu_count() or 1)


@dataclass(frozen=True)
class _Part:
    """One file of an input: every `FILES[domain]`-th document, in all copies."""

    bench: Bench
    domain: str
    number: int
    copies: int
    folder: Path

    def path(self) -> Path:
        # Half of the files are compressed.
        suffix = ".gz" if self.number % 2 else ""
        return self.folder / self.domain / f"{self.number:02d}.jsonl{suffix}"

    def rows(self) -> Iterator[Row]:
        """Rows of the file: the originals, then one copy of all after the other."""
        column = text_column(self.domain)
        everything = enumerate(read_rows(self.bench.file(self.domain)))
        own = [(k, row) for k, row in everything if k % FILES[self.domain] == self.number]
        yield from (row for _, row in own)
        for copy in range(1, self.copies):
            substitution = _substitution(self.bench, self.domain)
            for k, row in own:
                text = substitution.copy(row[column], f"{self.domain} {copy} {k}")
                yield {**row, column: text, "id": f"{row['id']}#{copy}"}


@cache
def _substitution(bench: Bench, domain: str) -> Substitution:
    column = text_column(domain)
    return Substitution.from_texts(row[column] for row in read_rows(bench.file(domain)))


def _write_part(part: _Part) -> tuple[int, int]:
    return write_rows(part.path(), part.rows(), text_column(part.domain))


def make_scaled(bench: Bench, scale: int, folder: Path) -> tuple[int, int]:
    """Writes the bench corpus `scale` times.

    A process holds a file's share of one source and the pool of its words, whatever the scale.

    Returns:
      how many documents, and bytes of their text.
    """
    parts = [
        _Part(bench, domain, number, scale, folder)
        for domain, files in FILES.items()
        for number in range(files)
    ]
    with Pool(PROCESSES) as pool:
        written = pool.map(_write_part, parts, chunksize=1)
    write_recipe(folder, [source(domain) for domain in FILES], bench)
    return sum(documents for documents, _ in written), sum(size for _, size in written)
