"""Which documents two outputs have in common, in bounded memory.

The docs files are read as often as it takes for one part of the digests, cut by their first bytes,
to fit in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beam_pipeline.documents import read_docs
from beam_pipeline.finished import read_manifest

# Keys of both outputs that are held at a time; a key takes some 60 bytes while it is compared.
HELD = 8 << 20
EXAMPLES = 5


@dataclass(frozen=True)
class Example:
    """A document that only one output has, or that is in another split.

    Attributes:
      digest: of its normalised text, or of a trace's problem, hexadecimal.
      name: its id, where the source gives one.
    """

    source: str
    digest: str
    name: str | None
    splits: tuple[str, ...]


@dataclass
class Comparison:
    """What became of documents between two outputs, and the least of each by digest as examples.

    Attributes:
      common: documents of both, in whatever split.
      lost, gained: documents of only the first, and of only the second, by source.
      moved: documents of both that are in different splits, by source.
    """

    common: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    gained: dict[str, int] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)
    lost_examples: list[Example] = field(default_factory=list)
    gained_examples: list[Example] = field(default_factory=list)
    moved_examples: list[Example] = field(default_factory=list)


class DocumentSet:
    """The documents of some folders of shards of one output.

    Attributes:
      count: of documents, repeats included.
    """

    def __init__(self, folder: str, splits: Mapping[str, str], key: str, sources: Sequence[str]):
        """Args are not read until they are needed.

        Args:
          folder: the output.
          splits: path of the folder of shards by what its split is called, train first.
          key: the column with the digest; of traces it is the problem's.
          sources: all names that occur, in this output and in the other.
        """
        self._folder = folder
        self._splits = splits
        self._key = key
        self._sources = {name: place for place, name in enumerate(sources)}
        self._names = list(sources)
        self._shards = {path: read_manifest(folder, path)["shards"] for path in splits.values()}
        self.count = sum(s["documents"] for shards in self._shards.values() for s in shards)

    def part(self, part: int, parts: int) -> np.ndarray:
        """The documents whose digest falls in a part, structured [n], sorted, without repeats.

        Fields: `key`, digest and source as bytes; `split`, place in the splits.
        """
        found = [np.empty(0, _ROW)]
        for place, path in enumerate(self._splits.values()):
            for shard in self._shards[path]:
                digests, sources = self._columns(path, shard)
                first = digests[:, 0].astype(np.uint16) << 8 | digests[:, 1]
                inside = np.flatnonzero(first.astype(np.int64) * parts >> 16 == part)
                rows = np.zeros(len(inside), _ROW)
                rows["key"]["digest"] = np.ascontiguousarray(digests[inside]).view("V16").ravel()
                rows["key"]["source"] = sources[inside]
                rows["split"] = place
                found.append(rows)
        joined = np.concatenate(found)
        _, places = np.unique(_keys(joined), return_index=True)
        return joined[places]

    def by_source(self, rows: np.ndarray) -> dict[str, int]:
        """How many rows from `part` each source has."""
        places, counts = np.unique(rows["key"]["source"], return_counts=True)
        return {self._names[k]: n for k, n in zip(places.tolist(), counts.tolist(), strict=True)}

    def examples(self, rows: np.ndarray, splits: Sequence[tuple[str, ...]]) -> list[Example]:
        """Describes a few documents; looks their ids up.

        Args:
          rows: from `part`.
          splits: that each was in.
        """
        names = self._names_of({row["key"]["digest"].tobytes() for row in rows})
        return [
            Example(
                self._names[int(row["key"]["source"])],
                row["key"]["digest"].tobytes().hex(),
                names.get(row["key"]["digest"].tobytes()),
                of,
            )
            for row, of in zip(rows, splits, strict=True)
        ]

    def _columns(self, path: str, shard: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        # A trace is known by the first half of its problem's digest.
        wanted = [self._key] if self._key != "digest" else ["digest", "source"]
        docs = read_docs(self._folder, path, shard, wanted)
        raw = b"".join(docs[self._key].to_pylist())
        digests = np.frombuffer(raw, np.uint8).reshape(docs.num_rows, -1)[:, :16]
        if self._key != "digest":
            return digests, np.zeros(docs.num_rows, np.int64)
        source = docs["source"].combine_chunks()
        places = np.array([self._sources[name] for name in source.dictionary.to_pylist()])
        return digests, places[source.indices.to_numpy()]

    def _names_of(self, digests: set[bytes]) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        for path, shard in self._listed() if digests else ():
            docs = read_docs(self._folder, path, shard)
            if "id" not in docs.column_names:
                return {}
            for digest, name in zip(
                docs[self._key].to_pylist(), docs["id"].to_pylist(), strict=True
            ):
                if digest[:16] in digests and name is not None:
                    found[digest[:16]] = name
            if len(found) == len(digests):
                break
        return found

    def _listed(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path, shards in self._shards.items():
            for shard in shards:
                yield path, shard


_ROW = np.dtype([("key", [("digest", "V16"), ("source", ">u2")]), ("split", "u1")])


def compare(before: DocumentSet, after: DocumentSet, splits: Sequence[str]) -> Comparison:
    """Compares two sets of documents.

    Args:
      splits: what the splits are called.
    """
    found = Comparison()
    parts = max(1, -(-(before.count + after.count) // HELD))
    for part in range(parts):
        a, b = before.part(part, parts), after.part(part, parts)
        _, in_a, in_b = np.intersect1d(_keys(a), _keys(b), assume_unique=True, return_indices=True)
        found.common += len(in_a)
        only_a, only_b = np.delete(a, in_a), np.delete(b, in_b)
        elsewhere = a["split"][in_a] != b["split"][in_b]
        moved, moved_to = a[in_a][elsewhere], b["split"][in_b][elsewhere]
        for rows, counts, examples, side, of in (
            (only_a, found.lost, found.lost_examples, before, None),
            (only_b, found.gained, found.gained_examples, after, None),
            (moved, found.moved, found.moved_examples, after, moved_to),
        ):
            for source, count in side.by_source(rows).items():
                counts[source] = counts.get(source, 0) + count
            few = rows[: EXAMPLES - len(examples)]
            of_few = [few["split"]] if of is None else [few["split"], of[: len(few)]]
            told = [tuple(splits[s] for s in places) for places in zip(*of_few, strict=True)]
            examples += side.examples(few, told)
    return found


def _keys(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows["key"]).view("V18").ravel()
