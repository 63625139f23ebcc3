"""Launch: what a source's input consists of, checked as far as a look at it allows."""

import hashlib
import itertools
import math
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple

import orjson

from transforms import storage
from transforms.documents import Piece, piece_number
from transforms.errors import DamagedFileError, SourceError
from transforms.readers import compressed, hub, jsonl, parquet
from transforms.readers.columns import no_such_column
from transforms.readers.rows import NOTE_DAMAGED, FileNote, is_empty
from transforms.sources import FilesInput, HubInput, SourceSpec, SyntheticInput

PIECE_BYTES, MAX_PIECE_BYTES = 4 << 20, 64 << 20
# A shard reads a range of every piece's token file, so their number multiplies with that of shards.
PIECES = 2048
SYNTHETIC_PIECE_DOCUMENTS = 1000
FIRST_ROWS = 8

_PEEKED_BYTES = 1 << 20
_PEEKED_FILES = 8
_CONCURRENT_LOOKS = 16


@dataclass(frozen=True)
class Plan:
    """How a source will be read.

    Attributes:
      pieces: in the order of the files' paths, numbered on from the number given.
      spec: the source; a hub's revision is resolved to a commit.
      chosen, total: files or dataset shards to read, and there are.
      inputs: path and bytes of each chosen file; empty for a hub, which `spec` pins, and for
        generated documents.
      skipped: damaged files that are left out.
      warnings: one line each.
    """

    pieces: list[Piece]
    spec: SourceSpec
    chosen: int
    total: int
    inputs: list[tuple[str, int]]
    skipped: list[FileNote]
    warnings: list[str]


class Listing(NamedTuple):
    """The files of a source.

    Attributes:
      chosen: path and bytes of each file to read, in the order of the paths.
      total: how many files there are.
    """

    chosen: list[tuple[str, int]]
    total: int


def list_files(spec: SourceSpec) -> Listing | None:
    """The files of a source; None if it does not consist of files.

    Raises:
      SourceError: nothing matches.
    """
    if not isinstance(spec.input, FilesInput):
        return None
    matched = _matched(spec, spec.input)
    names = _below_common_folder([path for path, _ in matched])
    return Listing([matched[k] for k in choose(names, spec.read_fraction)], len(matched))


def piece_bytes_for(total: int) -> int:
    """How much input makes a piece of `total` bytes of it: more of it makes larger ones."""
    return min(max(PIECE_BYTES, total // PIECES), MAX_PIECE_BYTES)


def units_of(pieces: Sequence[Piece], sizes: Mapping[str, int]) -> list[float]:
    """How much of the input each piece is: documents, or its share of the bytes of its file.

    Args:
      sizes: bytes of all files, by path.
    """
    groups: dict[str, int] = {}
    for piece in pieces:
        groups[piece.path] = max(groups.get(piece.path, 0), piece.stop)
    return [
        float(sizes[piece.path])
        if piece.kind == "compressed_jsonl"
        else (piece.stop - piece.start) * sizes.get(piece.path, 1) / groups[piece.path]
        if piece.kind == "parquet"
        else float(piece.stop - piece.start)
        for piece in pieces
    ]


def offline(spec: SourceSpec) -> SourceSpec:
    """The source with a hub's documents replaced by generated ones; others as they are."""
    return replace(spec, input=SyntheticInput()) if isinstance(spec.input, HubInput) else spec


def refuse_local(specs: Sequence[SourceSpec]) -> None:
    """Checks that workers elsewhere can read every source.

    Raises:
      SourceError: naming a source that is on this machine.
    """
    for spec in specs:
        match spec.input:
            case FilesInput(globs):
                local = [glob for glob in globs if not storage.is_remote(glob)]
            case HubInput(repo) if os.path.isdir(repo):
                local = [repo]
            case _:
                local = []
        if local:
            raise SourceError(
                f"source {spec.name!r}: {local[0]} is on this machine, where workers elsewhere "
                "cannot read it: copy it to a bucket, and name it as gs://"
            )


def plan(
    source_index: int,
    spec: SourceSpec,
    first_number: int,
    piece_bytes: int = PIECE_BYTES,
    listing: Listing | None = None,
) -> Plan:
    """Plans the pieces of a source.

    Args:
      source_index: its place in the recipe.
      first_number: parents of its piece numbers count from here (see `piece_number`).
      piece_bytes: of text, about, in a piece; no output byte depends on it.
      listing: of `list_files`, if it has been made.

    Raises:
      SourceError: nothing matches, a column is missing or of a wrong type, the first texts are all
        empty, or the dataset cannot be had.
      DamagedFileError: a file is of no known format or has a damaged footer or start, and the
        source says `on_bad_file: fail`.
    """
    listing = listing or list_files(spec)
    if listing is not None:
        return _plan_files(source_index, spec, listing, first_number, piece_bytes)
    if isinstance(spec.input, HubInput):
        return _plan_hub(source_index, spec, spec.input, first_number)
    assert isinstance(spec.input, SyntheticInput)
    return _plan_synthetic(source_index, spec, spec.input, first_number)


def _plan_synthetic(
    source: int, spec: SourceSpec, synthetic: SyntheticInput, first_number: int
) -> Plan:
    starts = range(0, synthetic.documents, SYNTHETIC_PIECE_DOCUMENTS)
    pieces = [
        Piece(
            piece_number(first_number + k),
            source,
            "synthetic",
            f"synthetic {spec.domain} documents",
            start,
            min(start + SYNTHETIC_PIECE_DOCUMENTS, synthetic.documents),
        )
        for k, start in enumerate(starts)
    ]
    return Plan(pieces, spec, 1, 1, [], [], [])


def _plan_hub(source: int, spec: SourceSpec, wanted: HubInput, first_number: int) -> Plan:
    found = hub.probe(spec, wanted)
    chosen = choose([posixpath.basename(name) for name in found.shards], spec.read_fraction)
    pieces = [
        Piece(
            piece_number(first_number + k),
            source,
            "hub",
            found.shards[shard],
            shard,
            shard + 1,
        )
        for k, shard in enumerate(chosen)
    ]
    resolved = replace(spec, input=found.input)
    return Plan(pieces, resolved, len(chosen), len(found.shards), [], [], [])


def _plan_files(
    source: int, spec: SourceSpec, listing: Listing, first_number: int, piece_bytes: int
) -> Plan:
    chosen = listing.chosen
    with ThreadPoolExecutor(_CONCURRENT_LOOKS) as pool:
        looks = list(pool.map(lambda entry: _look(entry[0], entry[1], spec, piece_bytes), chosen))
    pieces: list[Piece] = []
    for (path, _), look in zip(chosen, looks, strict=True):
        for start, stop in look.ranges:
            number = piece_number(first_number + len(pieces))
            pieces.append(Piece(number, source, look.kind, path, start, stop))
    skipped = [
        FileNote(path, NOTE_DAMAGED, look.damage)
        for (path, _), look in zip(chosen, looks, strict=True)
        if look.damage
    ]
    warnings = [
        f"source {spec.name!r}: {path} is empty (0 bytes)" for path, size in chosen if not size
    ]
    texts = [
        path
        for (path, _), look in zip(chosen, looks, strict=True)
        if look.ranges and look.kind != "parquet"
    ]
    warnings += _check_first_rows(texts, spec)
    return Plan(pieces, spec, len(chosen), listing.total, chosen, skipped, warnings)


def _matched(spec: SourceSpec, files: FilesInput) -> list[tuple[str, int]]:
    matched: dict[str, int] = {}
    for glob in files.globs:
        found = storage.expand(glob)
        if not found:
            storage.check_bucket(glob)
            is_folder = not storage.is_remote(glob) and os.path.isdir(glob)
            hint = f"is a folder: give {glob}/*" if is_folder else "matches no file: check the path"
            raise SourceError(f"source {spec.name!r}: {glob} {hint}")
        matched.update(found)
    return sorted(matched.items())


def _below_common_folder(paths: list[str]) -> list[str]:
    """The paths, less the folder that they share."""
    folders = [storage.parent(path).split("/") for path in paths]
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return ["/".join(path.split("/")[shared:]) for path in paths]


def choose(names: Sequence[str], fraction: float) -> list[int]:
    """Places of the names to read: those whose hash falls below the fraction, at least one."""
    keys = [
        int.from_bytes(hashlib.blake2b(os.fsencode(name), digest_size=8).digest(), "big") / 2**64
        for name in names
    ]
    chosen = [k for k, key in enumerate(keys) if key < fraction]
    return chosen or [min(range(len(names)), key=lambda k: keys[k])]


@dataclass(frozen=True)
class _Look:
    """What a file turned out to be."""

    kind: str
    ranges: list[tuple[int, int]]
    damage: str = ""


def _look(path: str, size: int, spec: SourceSpec, piece_bytes: int) -> _Look:
    try:
        kind = compressed.sniff(storage.read_range(path, 0, compressed.HEAD_BYTES), path)
        if kind == compressed.PARQUET:
            return _Look("parquet", parquet.row_group_ranges(path, spec, piece_bytes))
        if kind == compressed.TEXT:
            return _Look("jsonl", _byte_ranges(size, piece_bytes))
        return _Look("compressed_jsonl", [(0, 0)])
    except DamagedFileError as error:
        if spec.on_bad_file == "fail":
            raise
        return _Look("damaged", [], str(error))


def _byte_ranges(size: int, piece_bytes: int) -> list[tuple[int, int]]:
    count = math.ceil(size / piece_bytes)
    bounds = [size * k // count for k in range(count + 1)] if count else []
    return list(itertools.pairwise(bounds))


def _check_first_rows(paths: list[str], spec: SourceSpec) -> list[str]:
    """Checks the columns on the first objects of the first file that has any.

    Returns:
      Warnings.

    Raises:
      SourceError: none of them has the text column, or all texts are empty.
    """
    warnings: list[str] = []
    for path in paths[:_PEEKED_FILES]:
        lines = _first_lines(path, spec)
        objects = _first_objects(lines)
        if not objects and b"".join(lines[:FIRST_ROWS]).lstrip().startswith(b"["):
            warnings.append(
                f"source {spec.name!r}: {path} looks like a JSON array: every line must be a JSON "
                f"object; convert it with: jq -c '.[]' {path}"
            )
        if objects:
            _check_objects(objects, path, spec)
            break
    return warnings


def _first_lines(path: str, spec: SourceSpec) -> list[bytes]:
    with storage.open_read(path) as file:
        head = file.read(compressed.HEAD_BYTES)
        file.seek(0)
        if compressed.sniff(head, path) == compressed.TEXT:
            start = file.read(_PEEKED_BYTES)
            whole = len(start) < _PEEKED_BYTES
        else:
            start, whole = _start_of_stream(file, path, spec)
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return lines if whole else lines[:-1]


def _start_of_stream(file: BinaryIO, path: str, spec: SourceSpec) -> tuple[bytes, bool]:
    start = b""
    try:
        for block in compressed.DecompressedStream(file, path):
            start += block
            if len(start) >= _PEEKED_BYTES:
                return start, False
    except DamagedFileError:
        if spec.on_bad_file == "fail":
            raise
        return start, False
    return start, True


def _first_objects(lines: list[bytes]) -> list[dict]:
    objects: list[dict] = []
    for line in lines:
        try:
            values = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(values, dict):
            objects.append(values)
        if len(objects) == FIRST_ROWS:
            break
    return objects


def _check_objects(objects: list[dict], path: str, spec: SourceSpec) -> None:
    for column in spec.text_columns:
        texts = list(_values(objects, column))
        if not texts:
            names = dict.fromkeys(name for values in objects for name in values)
            raise no_such_column(spec, path, column, names)
        if len(objects) == FIRST_ROWS and all(map(is_empty, texts)):
            raise SourceError(
                f"source {spec.name!r}: {path}: column {column!r} is empty in the first "
                f"{len(objects)} rows: wrong column? the columns are: {', '.join(objects[0])}"
            )


def _values(objects: list[dict], column: str) -> Iterator[object]:
    for values in objects:
        try:
            yield jsonl.lookup(values, column)
        except KeyError:
            continue
