"""Packed token shards as a torch dataset; needs torch and numpy, not Beam."""

from pathlib import Path

import numpy as np

from beam_pipeline.shards import POSITIONS, WindowShards
from transforms.kernels import segments

try:
    import torch
    from torch.utils.data import Dataset
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "beam_pipeline.dataset needs PyTorch: pip install corpusbeam[torch]", name="torch"
    ) from None


class PackedMemmapDataset(Dataset[dict[str, torch.Tensor]]):
    """The windows of a split as next-token examples.

    An item is a dict of int64 tensors of length seq_len - 1: `input_ids`; `targets`, the ids one
    place on; `position_ids`, which count from 0 in each document's chunk; `seq_ids`, the number of
    the chunk in the window, -1 for the rest of one that began in the window before (whose positions
    count from the start of the window).
    """

    def __init__(
        self,
        path: str | Path,
        bos_id: int | None = None,
        verify: bool = False,
        require_complete: bool = True,
        cache_dir: str | Path | None = None,
    ):
        """Opens a split folder.

        Args:
          path: the folder, such as `corpus/train`, local or on gs://.
          bos_id: the id with which each chunk begins, for a folder that does not say.
          verify: also check the sha256 of the tokens, which reads all of them.
          require_complete: refuse a folder without `_SUCCESS`, there or in its parent; if false,
            folders without a manifest are read too.
          cache_dir: where copies of files on gs:// are kept, each made when it is first used; by
            default `corpusbeam` in the user's cache folder.

        Raises:
          transforms.errors.OutputError: the folder is damaged or not complete.
          ValueError: there is nothing to tell chunks by, or bos_id is not that of the manifest.
        """
        self._shards = WindowShards(path, verify, require_complete, cache_dir=cache_dir)
        recorded = self._shards.bos_id
        if None not in (bos_id, recorded) and bos_id != recorded:
            raise ValueError(f"bos_id is {bos_id}, but {path}/manifest.json says {recorded}")
        # None where chunks are told by the stored positions.
        self._bos_id = None
        if not self._shards.has_positions:
            self._bos_id = recorded if bos_id is None else bos_id
            if self._bos_id is None:
                raise ValueError(
                    f"{path} has neither bos_id nor *.{POSITIONS}.bin: pass bos_id=..."
                )

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = self._shards.row(index).astype(np.int64)
        if self._bos_id is None:
            position_ids = self._shards.row(index, POSITIONS)[:-1].astype(np.int64)
            seq_ids = segments.segment_ids(position_ids)
        else:
            position_ids, seq_ids = segments.segments(ids[:-1], self._bos_id)
        return {
            "input_ids": torch.from_numpy(ids[:-1].copy()),
            "position_ids": torch.from_numpy(position_ids),
            "seq_ids": torch.from_numpy(seq_ids),
            "targets": torch.from_numpy(ids[1:]),
        }


def segment_ids(position_ids: torch.Tensor) -> torch.Tensor:
    """Segments from positions, int64 [..., length]: a position of 0 begins one, before it is -1."""
    return torch.cumsum(position_ids == 0, dim=-1) - 1


def intra_document_mask(seq_ids: torch.Tensor) -> torch.Tensor:
    """Causal attention within chunks.

    Args:
      seq_ids: integers [..., length]: `seq_ids` of items, or `segment_ids(position_ids)`.

    Returns:
      bool [..., length, length]; [..., i, j] is true where token i may attend to token j: j <= i
      and both are in one chunk.
    """
    return torch.tril(seq_ids.unsqueeze(-1) == seq_ids.unsqueeze(-2))
