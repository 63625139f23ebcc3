"""Where the documents in a window begin, and who may attend to whom; along the last axis."""

import numpy as np


def segments(windows: np.ndarray, bos: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and segments from where bos stands.

    Args:
      windows: ids, any integer dtype, [..., length].
      bos: the id with which each segment begins.

    Returns:
      position_ids and segment_ids, int64 [..., length]. Positions count from 0 at each bos,
      segments from 0 in each window. What comes before the first bos continues the window before:
      its segment is -1 and its positions count from the start of the window.
    """
    starts = windows == bos
    places = np.arange(windows.shape[-1])
    began = np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
    return places - began, np.cumsum(starts, axis=-1) - 1


def segment_ids(position_ids: np.ndarray) -> np.ndarray:
    """Segments from positions, int64 [..., length]: a position of 0 begins one, before it is -1."""
    return np.cumsum(position_ids == 0, axis=-1) - 1


def intra_document_mask(segment_ids: np.ndarray) -> np.ndarray:
    """Causal attention within segments.

    Args:
      segment_ids: integers [..., length].

    Returns:
      bool [..., length, length]; [..., i, j] is true where token i may attend to token j: j <= i
      and both are in one segment.
    """
    same = segment_ids[..., :, None] == segment_ids[..., None, :]
    return np.tril(same)
