"""Windows of a split folder as memory maps, checked against its manifest; needs numpy only."""

import hashlib
import itertools
import json
import operator
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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


@dataclass(frozen=True)
class _Shard:
    """One shard: the start of its files' paths, its number of windows, sha256 by column."""

    stem: str
    sequences: int
    sha256: dict[str, str] = field(default_factory=dict)

    def file(self, column: str) -> Path:
        return Path(f"{self.stem}.{column}.bin")


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
    ):
        """Opens a split folder and checks the sizes of its files.

        Args:
          path: the folder, such as `corpus/train`; on a local file system.
          verify: also check the sha256 of the files, which reads all of them.
          require_complete: refuse a folder without `_SUCCESS`, there or above. If false, a folder
            without a manifest is read too: all shards found in it, uint16.
          levels_up: how far above the folder `_SUCCESS` may be.

        Raises:
          OutputError: what is in the folder is not what its manifest says, or not complete.
        """
        self.folder = Path(path)
        if "://" in str(path):
            raise OutputError(f"{path}: only local files can be mapped: copy the folder first")
        if not self.folder.is_dir():
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
        if require_complete or (self.folder / "manifest.json").exists():
            self._open_listed()
        else:
            self._open_found()
        for shard in self._shards:
            self._check_sizes(shard)
            if verify:
                for column in shard.sha256 or (TOKENS,):
                    _check_sha256(shard, column)
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
                shard.file(column),
                self._columns[column],
                "r",
                shape=(shard.sequences, self.seq_len),
            )
        return self._maps[key]

    def _open_listed(self) -> None:
        path = self.folder / "manifest.json"
        try:
            self.manifest = manifest = json.loads(path.read_bytes())
            self.seq_len = int(manifest["seq_len"])
            self.bos_id = manifest["bos_id"]
            dtype = _DTYPES[manifest["dtype"]]
            extra = {name: _DTYPES[kind] for name, kind in manifest.get("columns", {}).items()}
            self._shards = [
                _Shard(
                    str(self.folder / entry["file"]).removesuffix(f".{TOKENS}.bin"),
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
        for tokens in sorted(self.folder.glob(f"*.{TOKENS}.bin")):
            stem = str(tokens).removesuffix(f".{TOKENS}.bin")
            sequences, seq_len = _read_meta(Path(f"{stem}.meta.bin"))
            self._shards.append(_Shard(stem, sequences))
            self.seq_len = self.seq_len or seq_len
        if not self._shards:
            raise OutputError(
                f"{self.folder}: neither manifest.json nor *.{TOKENS}.bin in it: "
                "give the folder of a split, like out/train"
            )
        stored = all(shard.file(POSITIONS).exists() for shard in self._shards)
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
            expected = shard.sequences * self.seq_len * dtype.itemsize
            size = _size(path)
            if size != expected:
                raise OutputError(
                    f"{path}: {size} bytes, but {shard.sequences} sequences of {self.seq_len} "
                    f"{dtype.name} are {expected}: {_REBUILD}"
                )


def _is_complete(folder: Path, levels_up: int) -> bool:
    places = (folder, *list(folder.absolute().parents)[:levels_up])
    return any((place / "_SUCCESS").exists() for place in places)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        raise OutputError(f"{path}: no such file: {_REBUILD}") from None


def _read_meta(path: Path) -> tuple[int, int]:
    if _size(path) != 16:
        raise OutputError(f"{path}: not two int64 (sequences, seq_len): {_REBUILD}")
    sequences, seq_len = np.fromfile(path, "<i8").tolist()
    return sequences, seq_len


def _check_sha256(shard: _Shard, column: str) -> None:
    path = shard.file(column)
    if column not in shard.sha256:
        raise OutputError(f"{path}: no manifest gives its sha256: pass verify=False")
    found = hashlib.sha256(np.memmap(path, np.uint8, "r").data).hexdigest()
    if found != shard.sha256[column]:
        raise OutputError(f"{path}: sha256 is {found}, not {shard.sha256[column]}: {_REBUILD}")
