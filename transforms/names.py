"""Ids that documents have in their source, in files of which a shard reads only its own part."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import orjson

from transforms import storage

# Where in the file each name starts and the last one ends, before the names.
_OFFSET = np.dtype("<i8")


def save_names(path: str, names: Sequence[str | None]) -> None:
    """Writes names, whole or not at all."""
    encoded = [orjson.dumps(name) + b"," for name in names]
    start = (len(names) + 1) * _OFFSET.itemsize
    offsets = np.array(list(accumulate(map(len, encoded), initial=start)), _OFFSET)
    storage.write_whole(path, [offsets.tobytes(), b"".join(encoded)])


def load_names(path: str, places: np.ndarray) -> list[str | None]:
    """Names of a file, which is read from the first to the last of them.

    Args:
      places: integers [n], at least one.

    Returns:
      n names, in the order of `places`.
    """
    first, last = int(places.min()), int(places.max())
    width = _OFFSET.itemsize
    (raw,) = storage.read_ranges(path, [(first * width, (last + 2) * width)])
    offsets = np.frombuffer(raw, _OFFSET)
    (raw,) = storage.read_ranges(path, [(int(offsets[0]), int(offsets[-1]))])
    names = orjson.loads(b"[" + raw[:-1] + b"]")
    return [names[place - first] for place in places.tolist()]
