"""A laid out example as coloured text."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from rich.text import Text

from transforms.traces.geometry import ANSWER, PADDING, PROMPT, REGIONS, THOUGHT, Geometry
from transforms.traces.readback import locate

_STYLES = {PADDING: "dim", PROMPT: "cyan", THOUGHT: "yellow", ANSWER: "green"}
_FILL = "red dim"
_SIZE = "magenta"


def render(
    tokens: np.ndarray,
    regions: np.ndarray,
    manifest: dict[str, Any],
    decode: Callable[[np.ndarray], str],
) -> Text:
    """A window as text: a line for each block of a thought, special tokens by name.

    Args:
      tokens: ids [seq_len].
      regions: uint8 [seq_len].
      manifest: of the layout's folder.
      decode: text of ordinary ids.
    """
    ids = manifest["special_token_ids"]
    names = {id_: manifest["tokenizer"][role] for role, id_ in ids.items()}
    sizes = {id_: int(size) for size, id_ in manifest["size_token_ids"].items()}
    geometry = Geometry.from_plain(manifest["geometry"])
    slots = locate(manifest["layout"], tokens, regions, geometry, sizes).slot_positions
    is_special = np.isin(tokens, list(names))
    shown = _legend()
    # A run is of one region, and of ordinary ids or of one special token over and over.
    ends = regions[1:] != regions[:-1]
    ends |= (is_special[1:] | is_special[:-1]) & (tokens[1:] != tokens[:-1])
    ends |= (slots[1:] == 0) | ((slots[1:] < 0) & (slots[:-1] >= 0))
    bounds = [0, *(np.flatnonzero(ends) + 1).tolist(), len(tokens)]
    for start, stop in pairwise(bounds):
        id_, region = int(tokens[start]), int(regions[start])
        begins = id_ in sizes or slots[start] == 0 or _begins_part(regions, start)
        if start and begins and int(tokens[start - 1]) not in sizes:
            shown.append("\n")
        style = _STYLES[region]
        if not is_special[start]:
            shown.append(decode(tokens[start:stop]), style)
            continue
        if id_ == ids["fill"]:
            style = _FILL
        elif id_ in sizes:
            style = _SIZE
        count = f"×{stop - start}" if stop - start > 1 else ""
        shown.append(names[id_] + count, f"{style} bold" if region != PADDING else style)
    return shown


def _begins_part(regions: np.ndarray, place: int) -> bool:
    """Whether the thoughts or the answer begin here."""
    return bool(regions[place] != PADDING and regions[place] != regions[place - 1])


def _legend() -> Text:
    parts = [Text(REGIONS[region], style) for region, style in _STYLES.items()]
    parts += [Text("fill", _FILL), Text("size", _SIZE)]
    return Text(" ").join(parts) + Text("\n")
