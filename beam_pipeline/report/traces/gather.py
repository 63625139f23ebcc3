"""Collects the windows that a report of traces shows, as text."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from beam_pipeline.report.gather import chosen_windows
from beam_pipeline.report.traces.contents import Stretch, TraceWindow, Words
from beam_pipeline.trace_runs import Run, runs_of
from beam_pipeline.windows import find_window
from transforms.tokenizers.encoders import Encoder
from transforms.traces.geometry import REGIONS
from transforms.traces.write_layouts import REGIONS as REGIONS_COLUMN

_CHARACTERS = 600
_FILLERS = ("pad", "fill")


def windows(
    output: str, folder: str, manifest: dict[str, Any], encoder: Encoder
) -> tuple[TraceWindow, ...]:
    """Some windows of a layout.

    Args:
      output: folder of the traces.
      folder: of the layout below it.
      manifest: of that folder.
    """
    found = []
    for number in chosen_windows(manifest):
        place = find_window(output, folder, number, manifest)
        tokens = place.column("tokens", manifest["dtype"])
        regions = place.column(REGIONS_COLUMN, manifest["columns"][REGIONS_COLUMN])
        found.append(TraceWindow(number, stretches(tokens, regions, manifest, encoder)))
    return tuple(found)


def stretches(
    tokens: np.ndarray, regions: np.ndarray, manifest: dict[str, Any], encoder: Encoder
) -> tuple[Stretch, ...]:
    """The parts of a window, which together are all of it.

    Args:
      tokens: ids [seq_len].
      regions: uint8 [seq_len].
      manifest: of the layout's folder.
    """
    return tuple(
        Stretch(
            REGIONS[part[0].region],
            sum(run.stop - run.start for run in part if run.role not in _FILLERS),
            sum(run.stop - run.start for run in part if run.role in _FILLERS),
            tuple(_words(run, tokens, manifest, encoder) for run in part),
        )
        for part in _parts(runs_of(tokens, regions, manifest), manifest["layout"] == "flat")
    )


def _parts(runs: list[Run], is_flat: bool) -> Iterator[list[Run]]:
    part: list[Run] = []
    for run in runs:
        # Flat has no blocks, so its thoughts are told apart by their ends.
        if part and (run.begins or (is_flat and part[-1].role == "end_of_thought")):
            yield part
            part = []
        part.append(run)
    yield part


def _words(run: Run, tokens: np.ndarray, manifest: dict[str, Any], encoder: Encoder) -> Words:
    many = run.stop - run.start
    if run.role is not None:
        return Words(manifest["tokenizer"][run.role] + (f"×{many:,}" if many > 1 else ""), True)
    text = encoder.decode(tokens[run.start : run.stop])
    left_out = len(text) - _CHARACTERS
    cut = f" … and {left_out:,} characters more" if left_out > 0 else ""
    return Words(text[:_CHARACTERS] + cut, False)
