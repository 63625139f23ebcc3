"""A laid out example as coloured text."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.text import Text

from beam_pipeline.trace_runs import runs_of
from transforms.traces.geometry import ANSWER, PADDING, PROMPT, REGIONS, THOUGHT

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
    shown = _legend()
    for run in runs_of(tokens, regions, manifest):
        if run.start and run.begins:
            shown.append("\n")
        style = _STYLES[run.region]
        if run.role is None:
            shown.append(decode(tokens[run.start : run.stop]), style)
            continue
        if run.role == "fill":
            style = _FILL
        elif run.role in manifest["size_token_ids"]:
            style = _SIZE
        many = run.stop - run.start
        name = manifest["tokenizer"][run.role] + (f"×{many}" if many > 1 else "")
        shown.append(name, f"{style} bold" if run.region != PADDING else style)
    return shown


def _legend() -> Text:
    parts = [Text(REGIONS[region], style) for region, style in _STYLES.items()]
    parts += [Text("fill", _FILL), Text("size", _SIZE)]
    return Text(" ").join(parts) + Text("\n")
