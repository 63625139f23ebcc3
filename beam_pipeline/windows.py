"""Single windows of a folder of shards, and the documents in them."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from transforms import storage
from transforms.errors import OutputError
from transforms.kernels.packing import packed_cost


class WindowPlace(NamedTuple):
    """Where a window lies.

    Attributes:
      folder: path of the shards' folder.
      shard: the manifest's entry.
      place: the window's number in the shard.
      seq_len: tokens in it.
    """

    folder: str
    shard: dict[str, Any]
    place: int
    seq_len: int

    def column(self, name: str, kind: str) -> np.ndarray:
        """The window's row of the files of this name, [seq_len]."""
        dtype = np.dtype(kind).newbyteorder("<")
        path = storage.join(self.folder, self.shard["file"].replace(".tokens.", f".{name}."))
        start, size = self.place * self.seq_len * dtype.itemsize, self.seq_len * dtype.itemsize
        return np.frombuffer(storage.read_range(path, start, start + size), dtype)


def find_window(folder: str, name: str, window: int, manifest: dict[str, Any]) -> WindowPlace:
    """Finds a window of a folder of shards.

    Raises:
      OutputError: there is no such window.
    """
    path = storage.join(folder, *name.split("/"))
    place = window
    for shard in manifest["shards"]:
        if 0 <= place < shard["sequences"]:
            return WindowPlace(path, shard, place, manifest["seq_len"])
        place -= shard["sequences"]
    raise OutputError(
        f"{name} has windows 0 to {manifest['n_sequences'] - 1}, not {window}"
        if manifest["n_sequences"]
        else f"{name} has no windows"
    )


def documents_in(
    ids: np.ndarray, docs: pa.Table, window: int, manifest: dict[str, Any]
) -> list[tuple[dict[str, Any], np.ndarray]]:
    """The documents of a window, in order, each with the part of the window that it fills."""
    seq_len = manifest["seq_len"]
    firsts = docs["window"].to_numpy() * seq_len + docs["position"].to_numpy() - 1
    n_ids = docs["n_ids"].to_numpy().astype(np.int64)
    stops = firsts + packed_cost(n_ids, seq_len)
    begin = window * seq_len
    inside = np.flatnonzero((firsts < begin + seq_len) & (stops > begin))
    found = []
    for row in inside.tolist():
        part = ids[max(0, firsts[row] - begin) : max(0, stops[row] - begin)]
        found.append((docs.slice(row, 1).to_pylist()[0], part))
    return found
