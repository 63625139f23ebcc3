"""Documents' token ids into fixed windows, and back.

A document's ids are cut into chunks of seq_len - 2; each chunk becomes `bos chunk eos`; all are
concatenated and cut into windows of seq_len, of which the last is padded. A document without ids
is the one chunk `bos eos`. So the documents' numbers of ids alone say where everything lies.
"""

import numpy as np
from numba import njit, types

from transforms.kernels.readonly import readonly

_DTYPES = (types.uint16, types.uint32)


def packed_cost(n_ids: np.ndarray, seq_len: int) -> np.ndarray:
    """Tokens that documents take in the windows: their ids and two markers for each chunk.

    Args:
      n_ids: int64 [n].
      seq_len: length of a window, at least 3.

    Returns:
      int64 [n].

    Raises:
      ValueError: seq_len leaves no room for an id between the markers.
    """
    if seq_len < 3:
        raise ValueError(f"seq_len is {seq_len}: a chunk needs room for bos, an id and eos")
    return n_ids + 2 * np.maximum(-(-n_ids // (seq_len - 2)), 1)


def pack(
    ids: np.ndarray, offsets: np.ndarray, seq_len: int, bos: int, eos: int, pad: int
) -> tuple[np.ndarray, np.ndarray]:
    """Packs documents into windows, in order.

    Args:
      ids: uint16 or uint32 [n_ids], the documents' ids one after the other.
      offsets: int64 [n_docs + 1]; document i is ids[offsets[i]:offsets[i + 1]].
      seq_len: length of a window, at least 3.
      bos, eos, pad: marker ids, within the dtype of ids.

    Returns:
      The windows, dtype of ids, [n_windows, seq_len]; and int64 [n_docs], place in the flattened
      windows of what follows each document's first bos (an empty document's is its eos).

    Raises:
      ValueError: seq_len is too small.
    """
    ends = np.cumsum(packed_cost(np.diff(offsets), seq_len))
    starts = np.concatenate([[0], ends])
    flat = np.full(-(-starts[-1] // seq_len) * seq_len, pad, ids.dtype)
    _pack(ids, offsets, starts[:-1], seq_len - 2, bos, eos, flat)
    return flat.reshape(-1, seq_len), starts[:-1] + 1


def unpack(
    flat: np.ndarray, positions: np.ndarray, n_ids: np.ndarray, seq_len: int, bos: int, eos: int
) -> tuple[np.ndarray, np.ndarray]:
    """The documents of a shard: the inverse of `pack`, with every marker checked.

    Args:
      flat: uint16 or uint32 [n_windows * seq_len], the flattened windows.
      positions: int64 [n_docs], place of each document's first id as `pack` gives it, in order.
      n_ids: int64 [n_docs].
      seq_len: length of a window.
      bos, eos: marker ids; no document may hold bos among its ids.

    Returns:
      ids and offsets as `pack` takes them.

    Raises:
      ValueError: a document does not lie where the one before it ended, or its chunks are not
        between bos and eos, or bos is among its ids (the message names the first such document);
        or a chunk begins after the last of them.
    """
    starts = np.concatenate([[0], np.cumsum(packed_cost(n_ids, seq_len))])
    astray = np.flatnonzero((positions != starts[:-1] + 1) | (starts[1:] > len(flat)))
    readable = astray[0] if len(astray) else len(positions)
    offsets = np.concatenate([[0], np.cumsum(n_ids[:readable])])
    ids = np.empty(offsets[-1], flat.dtype)
    broken = _unpack(flat, offsets, starts[:readable], seq_len - 2, bos, eos, ids)
    if broken < readable:
        raise ValueError(
            f"document {broken} of {len(positions)} is not enclosed in bos and eos "
            f"from token {starts[broken]} up to token {starts[broken + 1]}"
        )
    if readable < len(positions):
        raise ValueError(
            f"document {readable} of {len(positions)} should have its {n_ids[readable]} ids from "
            f"token {starts[readable] + 1} of {len(flat)}, not from {positions[readable]}"
        )
    beyond = np.flatnonzero(flat[starts[-1] :] == bos)
    if len(beyond):
        raise ValueError(
            f"a chunk begins at token {starts[-1] + beyond[0]}, after the last of the "
            f"{len(positions)} documents"
        )
    return ids, offsets


@njit(
    [
        types.void(
            readonly(dtype),
            readonly(types.int64),
            readonly(types.int64),
            types.int64,
            types.int64,
            types.int64,
            dtype[::1],
        )
        for dtype in _DTYPES
    ],
    cache=True,
    nogil=True,
)
def _pack(
    ids: np.ndarray,
    offsets: np.ndarray,
    starts: np.ndarray,
    chunk: int,
    bos: int,
    eos: int,
    flat: np.ndarray,
) -> None:
    for doc in range(len(starts)):
        at, stop = offsets[doc], offsets[doc + 1]
        to = starts[doc]
        while True:
            size = min(chunk, stop - at)
            flat[to] = bos
            flat[to + 1 : to + 1 + size] = ids[at : at + size]
            flat[to + 1 + size] = eos
            at += size
            to += size + 2
            if at == stop:
                break


@njit(
    [
        types.int64(
            readonly(dtype),
            readonly(types.int64),
            readonly(types.int64),
            types.int64,
            types.int64,
            types.int64,
            dtype[::1],
        )
        for dtype in _DTYPES
    ],
    cache=True,
    nogil=True,
)
def _unpack(
    flat: np.ndarray,
    offsets: np.ndarray,
    starts: np.ndarray,
    chunk: int,
    bos: int,
    eos: int,
    ids: np.ndarray,
) -> int:
    """Copies documents to ids up to the first with a wrong marker; its number, or that of all."""
    for doc in range(len(starts)):
        at, stop = offsets[doc], offsets[doc + 1]
        begin = starts[doc]
        while True:
            size = min(chunk, stop - at)
            if flat[begin] != bos or flat[begin + 1 + size] != eos:
                return doc
            for i in range(size):
                if flat[begin + 1 + i] == bos:
                    return doc
                ids[at + i] = flat[begin + 1 + i]
            at += size
            begin += size + 2
            if at == stop:
                break
    return len(starts)
