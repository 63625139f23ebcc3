"""A window of traces cut into runs of tokens that are shown alike."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from transforms.traces.geometry import PADDING, Geometry
from transforms.traces.readback import locate


class Run(NamedTuple):
    """Ordinary ids, or one special token over and over, all of one region and one block.

    Attributes:
      start, stop: of its tokens in the window.
      region: place in `transforms.traces.geometry.REGIONS`.
      role: of the special token, a size token's is its size; None where ids are ordinary.
      begins: a part of the window, or a block of a thought, begins here.
    """

    start: int
    stop: int
    region: int
    role: str | None
    begins: bool


def runs_of(tokens: np.ndarray, regions: np.ndarray, manifest: dict[str, Any]) -> list[Run]:
    """The runs of a window, in order.

    Args:
      tokens: ids [seq_len].
      regions: uint8 [seq_len].
      manifest: of the layout's folder.
    """
    roles = {id_: role for role, id_ in manifest["special_token_ids"].items()}
    sizes = {id_: int(size) for size, id_ in manifest["size_token_ids"].items()}
    geometry = Geometry.from_plain(manifest["geometry"])
    slots = locate(manifest["layout"], tokens, regions, geometry, sizes).slot_positions
    is_special = np.isin(tokens, list(roles))
    ends = regions[1:] != regions[:-1]
    ends |= (is_special[1:] | is_special[:-1]) & (tokens[1:] != tokens[:-1])
    ends |= (slots[1:] == 0) | ((slots[1:] < 0) & (slots[:-1] >= 0))
    bounds = [0, *(np.flatnonzero(ends) + 1).tolist(), len(tokens)]
    found = []
    for start, stop in pairwise(bounds):
        id_ = int(tokens[start])
        begins = id_ in sizes or slots[start] == 0 or _begins_part(regions, start)
        # A size token belongs to the block that it announces.
        begins &= int(tokens[start - 1]) not in sizes
        role = roles[id_] if is_special[start] else None
        found.append(Run(start, stop, int(regions[start]), role, bool(start == 0 or begins)))
    return found


def _begins_part(regions: np.ndarray, place: int) -> bool:
    """Whether the thoughts or the answer begin here."""
    return bool(regions[place] != PADDING and regions[place] != regions[place - 1])
