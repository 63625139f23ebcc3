"""Laid out reasoning traces as a torch dataset; needs torch and numpy, not Beam."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from beam_pipeline.shards import REGIONS as REGIONS_COLUMN
from beam_pipeline.shards import WindowShards
from transforms.errors import OutputError
from transforms.traces.geometry import REGIONS, Geometry, Layout, Region
from transforms.traces.readback import locate

try:
    import torch
    from torch.utils.data import Dataset
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "beam_pipeline.trace_dataset needs PyTorch: pip install corpusbeam[torch]", name="torch"
    ) from None


class TraceDataset(Dataset[dict[str, torch.Tensor]]):
    """The windows of one split in one layout, an example each.

    An item is a dict of tensors of length seq_len, int64 but for the last:

    - `tokens`: ids;
    - `regions`: 0 padding, 1 prompt, 2 thought, 3 answer;
    - `slot_ids`: number of the thought's block, from 0; -1 for what is in none: prompt, answer,
      padding, size tokens, and all of the flat layout;
    - `slot_positions`: place within that block, from 0; -1 likewise;
    - `block_ids`: what `block_causal_mask` takes: 0 for the prompt, then 1, 2, ... in order, -1 for
      the padding behind the last block. Padding that fills up a block belongs to it. A size token
      is a block of its own, and so is each token of the flat layout behind the prompt;
    - `loss_mask`: bool, whether the token's region is among `loss_regions`.

    Attributes:
      layout: of the folder.
      geometry: of the folder.
    """

    def __init__(
        self,
        path: str | Path,
        loss_regions: Collection[Region] = ("thought", "answer"),
        verify: bool = False,
        require_complete: bool = True,
        cache_dir: str | Path | None = None,
    ):
        """Opens the folder of a layout.

        Args:
          path: the folder, such as `traces/train/slotted`, local or on gs://.
          loss_regions: regions whose tokens count in the loss. Fill and size tokens are part of
            thoughts; padding counts whether it fills up a block or not.
          verify: also check the sha256 of the files, which reads all of them.
          require_complete: refuse a folder without `_SUCCESS`, there or up to two levels above.
          cache_dir: where copies of files on gs:// are kept, each made when it is first used; by
            default `corpusbeam` in the user's cache folder.

        Raises:
          transforms.errors.OutputError: the folder is damaged, not complete or not of traces.
          ValueError: there is no such region.
        """
        unknown = set(loss_regions) - set(REGIONS)
        if unknown:
            raise ValueError(f"no region {min(unknown)!r}: the regions are {', '.join(REGIONS)}")
        self._shards = WindowShards(
            path, verify, require_complete, levels_up=2, cache_dir=cache_dir
        )
        self.layout, self.geometry, self._size_of = _read_layout(self._shards.manifest, path)
        self._counts = np.isin(REGIONS, list(loss_regions))

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = self._shards.row(index)
        regions = self._shards.row(index, REGIONS_COLUMN)
        try:
            blocks = locate(self.layout, tokens, regions, self.geometry, self._size_of)
        except ValueError as error:
            raise OutputError(
                f"{self._shards.folder}: window {index}: {error}: copy or build the folder again"
            ) from None
        return {
            "tokens": torch.from_numpy(tokens.astype(np.int64)),
            "regions": torch.from_numpy(regions.astype(np.int64)),
            "slot_ids": torch.from_numpy(blocks.slot_ids),
            "slot_positions": torch.from_numpy(blocks.slot_positions),
            "block_ids": torch.from_numpy(blocks.block_ids),
            "loss_mask": torch.from_numpy(self._counts[regions]),
        }


def _read_layout(
    manifest: dict[str, Any], path: str | Path
) -> tuple[Layout, Geometry, dict[int, int]]:
    """The layout, its measures, and block size by id of its size token."""
    try:
        geometry = Geometry.from_plain(manifest["geometry"])
        size_of = {id_: int(size) for size, id_ in manifest["size_token_ids"].items()}
        return manifest["layout"], geometry, size_of
    except KeyError as error:
        raise OutputError(
            f"{path}: the manifest has no {error}: give the folder of a layout of the traces job, "
            "like out/train/slotted"
        ) from None


def block_causal_mask(block_ids: torch.Tensor) -> torch.Tensor:
    """Attention in which a block sees the prompt and earlier blocks whole, and itself both ways.

    Args:
      block_ids: integers [..., length], `block_ids` of items; a token of a negative block is seen
        by itself alone and sees nothing else. Set the ids to -1 where `regions` is 0 to hide the
        padding inside blocks too.

    Returns:
      bool [..., length, length]; [..., i, j] is true where token i may attend to token j. No row is
      without a true value, so that a softmax over it is defined.
    """
    seeing, seen = block_ids.unsqueeze(-1), block_ids.unsqueeze(-2)
    itself = torch.eye(block_ids.shape[-1], dtype=torch.bool, device=block_ids.device)
    return (seeing >= seen) & (seen >= 0) | itself
