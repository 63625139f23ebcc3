"""Copies ranges of an array, in a given order, into one new array."""

import numpy as np
from numba import njit, types

from transforms.kernels.readonly import readonly


def gather(flat: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenates `flat[starts[i]:starts[i] + lengths[i]]` for all i.

    Args:
      flat: uint16 or uint32 [n].
      starts, lengths: integers [k].

    Returns:
      An array of the dtype of `flat`, [sum of lengths].
    """
    lengths = np.ascontiguousarray(lengths, np.int64)
    stops = np.cumsum(lengths)
    out = np.empty(int(stops[-1]) if len(stops) else 0, flat.dtype)
    scatter(flat, np.ascontiguousarray(starts, np.int64), lengths, stops - lengths, out)
    return out


@njit(
    [
        types.void(
            readonly(dtype),
            readonly(types.int64),
            readonly(types.int64),
            readonly(types.int64),
            dtype[::1],
        )
        for dtype in (types.uint16, types.uint32)
    ],
    cache=True,
    nogil=True,
)
def scatter(
    flat: np.ndarray, starts: np.ndarray, lengths: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """Copies `flat[starts[i]:starts[i] + lengths[i]]` to `out[places[i]:]`, for all i.

    Args:
      flat, out: both uint16 or both uint32.
      starts, lengths, places: int64 [k].
    """
    for i in range(len(starts)):
        start, place = starts[i], places[i]
        for j in range(lengths[i]):
            out[place + j] = flat[start + j]
