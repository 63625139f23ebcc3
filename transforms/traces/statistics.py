"""What the windows of a layout are filled with, counted so that parts can be added up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from transforms.traces.geometry import PADDING, REGIONS, THOUGHT


@dataclass(frozen=True)
class LayoutStatistics:
    """Counts over some examples of one layout; `a + b` counts over both.

    Attributes:
      block_sizes: slotted has one, adaptive those of its geometry, flat none.
      blocks: how many thought blocks there are of each size.
      examples: histogram; [i] is how many examples have i thought blocks, the last is not 0.
      tokens: of each of `REGIONS`.
      fill: tokens that fill up a thought's last block, counted as thought too.
    """

    block_sizes: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()
    examples: tuple[int, ...] = ()
    tokens: tuple[int, ...] = (0,) * len(REGIONS)
    fill: int = 0

    @classmethod
    def count(
        cls,
        block_sizes: Sequence[int],
        blocks: np.ndarray,
        blocks_per_example: np.ndarray,
        regions: np.ndarray,
        fill: int,
    ) -> "LayoutStatistics":
        """Counts what has been encoded.

        Args:
          blocks: integers [len(block_sizes)].
          blocks_per_example: integers [n], not negative.
          regions: uint8 [n, seq_len].
        """
        return cls(
            tuple(block_sizes),
            tuple(blocks.tolist()),
            tuple(np.bincount(blocks_per_example).tolist()),
            tuple(int((regions == region).sum()) for region in range(len(REGIONS))),
            fill,
        )

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "LayoutStatistics":
        """What `dataclasses.asdict` made plain, also by way of JSON."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        return cls(**given)

    def __add__(self, other: "LayoutStatistics") -> "LayoutStatistics":
        return LayoutStatistics(
            self.block_sizes or other.block_sizes,
            _added(self.blocks, other.blocks),
            _added(self.examples, other.examples),
            _added(self.tokens, other.tokens),
            self.fill + other.fill,
        )

    def n_examples(self) -> int:
        """How many examples were counted."""
        return sum(self.examples)

    def blocks_quantile(self, fraction: float) -> int:
        """`sorted(blocks of each example)[min(n - 1, int(n * fraction))]`; 0 of no example."""
        n = self.n_examples()
        at_most = np.cumsum(self.examples)
        return int(np.searchsorted(at_most, min(n - 1, int(n * fraction)), side="right"))

    def summary(self) -> dict[str, Any]:
        """What manifests and reports tell."""
        thought, tokens = self.tokens[THOUGHT], sum(self.tokens)
        found: dict[str, Any] = {
            "examples": self.n_examples(),
            "tokens_by_region": dict(zip(REGIONS, self.tokens, strict=True)),
            "padding_fraction": self.tokens[PADDING] / tokens if tokens else 0.0,
            "fill_tokens": self.fill,
            "fill_fraction_of_thought": self.fill / thought if thought else 0.0,
        }
        if self.block_sizes:
            total = sum(self.blocks)
            by_size = list(zip(map(str, self.block_sizes), self.blocks, strict=True))
            found["block_counts"] = dict(by_size)
            found["block_fractions"] = {s: n / total if total else 0.0 for s, n in by_size}
            found["blocks_per_example"] = {
                "p50": self.blocks_quantile(0.5),
                "p90": self.blocks_quantile(0.9),
                "max": max(len(self.examples) - 1, 0),
            }
        return found


def _added(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip_longest(a, b, fillvalue=0))
