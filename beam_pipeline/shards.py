"""Windows of a split folder as memory maps, checked against its manifest.

Local folders need numpy only; files of one on gs:// are copied to a local cache when first used.
"""

import itertools
import json
import operator
import os
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from beam_pipeline import cache
from transforms import storage
from transforms.errors import OutputError

TOKENS = "tokens"
POSITIONS = "pos"
REGIONS = "regions"

_DTYPES: dict[str, np.dtype] = {
    "uint8": np.dtype("u1"),
    "uint16": np.dtype("<u2"),
    "uint32": np.dtype("<u4"),
}
_REBUILD = "copy or build the folder again"
_CONCURRENT_LOOKS = 16


@dataclass(frozen=True)
class _Shard:
    """One shard: the start of its files' paths, its number of windows, sha256 by column."""

    stem: str
    sequences: int
    sha256: dict[str, str] = field(default_factory=dict)

    def file(self, column: str) -> str:
        return f"{self.stem}.{column}.bin"


class WindowShards:
    """The windows of a split, by number, over all its shards.

    The files are mapped when first read, in each process: an object may go to a worker process
    either way, forked or pickled.

    Attributes:
      folder: the split's folder.
      seq_len: length of a window.
      bos_id: the id with which each chunk begins; None if the folder does not say.
      manifest: the folder's, whole; empty if it has none.
    """

    def __init__(
        self,
        path: str | Path,
        verify: bool = False,
        require_complete: bool = True,
        levels_up: int = 1,
        cache_dir: str | Path | None = None,
    ):
        """Opens a split folder and checks the sizes of its files.

        Args:
          path: the folder, such as `corpus/train`, local or on gs://.
          verify: also check the sha256 of the files, which reads all of them.
          require_complete: refuse a folder without `_SUCCESS`, there or above. If false, a folder
            without a manifest is read too: all shards found in it, uint16.
          levels_up: how far above the folder `_SUCCESS` may be.
          cache_dir: where copies of files on gs:// are kept; by default `corpusbeam` in the
            user's cache folder.

        Raises:
          OutputError: what is in the folder is not what its manifest says, or not complete.
          CloudError: gs:// cannot be reached.
        """
        self.folder = str(path)
        self._cache = str(cache_dir or cache.default_folder())
        self._remote = storage.is_remote(self.folder)
        if not self._remote and not os.path.isdir(self.folder):
            raise OutputError(f"{path}: no such folder: give the folder of a split, like out/train")
        if require_complete and not _is_complete(self.folder, levels_up):
            above = "the folder" if levels_up == 1 else f"the {levels_up} folders"
            raise OutputError(
                f"{path}: no _SUCCESS here or in {above} above: the job has not finished; "
                "let it, or pass require_complete=False"
            )
        self.manifest: dict[str, Any] = {}
        self.seq_len = 0
        self.bos_id: int | None = None
        self._shards: list[_Shard] = []
        self._columns: dict[str, np.dtype] = {}
        if require_complete or self._remote or storage.exists(self._path("manifest.json")):
            self._open_listed()
        else:
            self._open_found()
        with ThreadPoolExecutor(_CONCURRENT_LOOKS) as pool:
            list(pool.map(self._check_sizes, self._shards))
        if verify:
            for shard in self._shards:
                for column in shard.sha256 or (TOKENS,):
                    self._check_sha256(shard, column)
        self._bounds = list(itertools.accumulate((s.sequences for s in self._shards), initial=0))
        self._maps: dict[tuple[int, str], np.ndarray] = {}

    @property
    def has_positions(self) -> bool:
        """Whether position ids are stored beside the tokens."""
        return POSITIONS in self._columns

    def __len__(self) -> int:
        return self._bounds[-1]

    def row(self, index: int, column: str = TOKENS) -> np.ndarray:
        """One window, read-only [seq_len]; negative numbers count from the end.

        Raises:
          IndexError: there is no such window.
        """
        number = operator.index(index)
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"window {index} of {len(self)}")
        shard = bisect_right(self._bounds, number) - 1
        return self._map(shard, column)[number - self._bounds[shard]]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_maps": {}}

    def _map(self, number: int, column: str) -> np.ndarray:
        key = number, column
        if key not in self._maps:
            shard = self._shards[number]
            self._maps[key] = np.memmap(
                self._local(shard, column),
                self._columns[column],
                "r",
                shape=(shard.sequences, self.seq_len),
            )
        return self._maps[key]

    def _path(self, name: str) -> str:
        return storage.join(self.folder, name)

    def _local(self, shard: _Shard, column: str, verify: bool = False) -> str:
        """The path of a shard's file that can be mapped."""
        path = shard.file(column)
        if not self._remote:
            return path
        return cache.fetch(
            path, _told_sha256(shard, column), self._bytes(shard, column), self._cache, verify
        )

    def _bytes(self, shard: _Shard, column: str) -> int:
        return shard.sequences * self.seq_len * self._columns[column].itemsize

    def _open_listed(self) -> None:
        path = self._path("manifest.json")
        try:
            self.manifest = manifest = json.loads(storage.read_bytes(path))
            self.seq_len = int(manifest["seq_len"])
            self.bos_id = manifest["bos_id"]
            dtype = _DTYPES[manifest["dtype"]]
            extra = {name: _DTYPES[kind] for name, kind in manifest.get("columns", {}).items()}
            self._shards = [
                _Shard(
                    self._path(entry["file"]).removesuffix(f".{TOKENS}.bin"),
                    int(entry["sequences"]),
                    {TOKENS: entry["sha256"]}
                    | {column: entry[f"{column}_sha256"] for column in extra},
                )
                for entry in manifest["shards"]
            ]
            listed = len(self._shards), sum(shard.sequences for shard in self._shards)
            stated = manifest["n_shards"], manifest["n_sequences"]
            self._set_columns(dtype, manifest["store_positions"])
            self._columns |= extra
        except FileNotFoundError:
            raise OutputError(f"{path}: no such file: {_REBUILD}") from None
        except KeyError as error:
            raise OutputError(f"{path}: no or unknown {error}: {_REBUILD}") from None
        except (TypeError, ValueError) as error:
            raise OutputError(f"{path}: not a manifest ({error}): {_REBUILD}") from None
        if listed != stated:
            raise OutputError(
                f"{path}: lists {listed[0]} shards of {listed[1]} sequences but states "
                f"{stated[0]} and {stated[1]}: {_REBUILD}"
            )

    def _open_found(self) -> None:
        for tokens in sorted(Path(self.folder).glob(f"*.{TOKENS}.bin")):
            stem = str(tokens).removesuffix(f".{TOKENS}.bin")
            sequences, seq_len = _read_meta(f"{stem}.meta.bin")
            self._shards.append(_Shard(stem, sequences))
            self.seq_len = self.seq_len or seq_len
        if not self._shards:
            raise OutputError(
                f"{self.folder}: neither manifest.json nor *.{TOKENS}.bin in it: "
                "give the folder of a split, like out/train"
            )
        stored = all(storage.exists(shard.file(POSITIONS)) for shard in self._shards)
        self._set_columns(_DTYPES["uint16"], stored)

    def _set_columns(self, tokens: np.dtype, store_positions: bool) -> None:
        self._columns = {TOKENS: tokens}
        if store_positions:
            self._columns[POSITIONS] = _DTYPES["uint16" if self.seq_len <= 1 << 16 else "uint32"]

    def _check_sizes(self, shard: _Shard) -> None:
        shape = shard.sequences, self.seq_len
        found = _read_meta(shard.file("meta"))
        if found != shape:
            raise OutputError(
                f"{shard.file('meta')}: (sequences, seq_len) is {found}, not {shape}: {_REBUILD}"
            )
        for column, dtype in self._columns.items():
            path = shard.file(column)
            expected = self._bytes(shard, column)
            size = _size(path)
            if size != expected:
                raise OutputError(
                    f"{path}: {size} bytes, but {shard.sequences} sequences of {self.seq_len} "
                    f"{dtype.name} are {expected}: {_REBUILD}"
                )

    def _check_sha256(self, shard: _Shard, column: str) -> None:
        told = _told_sha256(shard, column)
        found = cache.sha256_of(self._local(shard, column, verify=True))
        if found != told:
            raise OutputError(f"{shard.file(column)}: sha256 is {found}, not {told}: {_REBUILD}")


def _is_complete(folder: str, levels_up: int) -> bool:
    place = folder if storage.is_remote(folder) else os.path.abspath(folder)
    for _ in range(levels_up + 1):
        if storage.exists(storage.join(place, "_SUCCESS")):
            return True
        place = storage.parent(place)
    return False


def _size(path: str) -> int:
    try:
        return storage.size(path)
    except FileNotFoundError:
        raise OutputError(f"{path}: no such file: {_REBUILD}") from None


def _read_meta(path: str) -> tuple[int, int]:
    if _size(path) != 16:
        raise OutputError(f"{path}: not two int64 (sequences, seq_len): {_REBUILD}")
    sequences, seq_len = np.frombuffer(storage.read_bytes(path), "<i8").tolist()
    return sequences, seq_len


def _told_sha256(shard: _Shard, column: str) -> str:
    if column not in shard.sha256:
        raise OutputError(
            f"{shard.file(column)}: no manifest gives its sha256: pass verify=False, and copy a "
            "folder from gs:// first"
        )
    return shard.sha256[column]
