"""The measures of the layouts, and the regions that tokens belong to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from transforms.errors import RecipeError

Layout = Literal["flat", "slotted", "adaptive"]
LAYOUTS: tuple[Layout, ...] = ("flat", "slotted", "adaptive")

Region = Literal["padding", "prompt", "thought", "answer"]
REGIONS: tuple[Region, ...] = ("padding", "prompt", "thought", "answer")
PADDING, PROMPT, THOUGHT, ANSWER = range(len(REGIONS))

MAX_SEQ_LEN = 1 << 20


@dataclass(frozen=True)
class Geometry:
    """How long a window and its blocks are, in tokens.

    Attributes:
      seq_len: a window.
      block: what prompt, slots and answer are multiples of; a slot is one block.
      max_slots: slotted takes no example with more.
      sizes: adaptive's blocks, ascending; empty where adaptive is not wanted.

    Raises:
      RecipeError: the measures do not go together.
    """

    seq_len: int = 2048
    block: int = 32
    max_slots: int = 64
    sizes: tuple[int, ...] = (64, 256)

    def __post_init__(self) -> None:
        if self.block < 2:
            raise RecipeError(f"block is {self.block}: give it at least 2 tokens")
        if not 2 * self.block <= self.seq_len <= MAX_SEQ_LEN:
            raise RecipeError(
                f"seq_len is {self.seq_len}: choose one between two blocks ({2 * self.block}) and "
                f"{MAX_SEQ_LEN}"
            )
        if self.seq_len % self.block:
            raise RecipeError(
                f"block {self.block} does not divide seq_len {self.seq_len}: choose a seq_len such "
                f"as {self.seq_len // self.block * self.block}"
            )
        if self.max_slots < 1:
            raise RecipeError(f"max_slots is {self.max_slots}: allow at least 1")
        self._check_sizes()

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Geometry":
        """What `dataclasses.asdict` made plain, also by way of JSON."""
        return cls(**{**plain, "sizes": tuple(plain["sizes"])})

    def _check_sizes(self) -> None:
        shown = list(self.sizes)
        if not self.sizes:
            return
        if min(self.sizes) < 2:
            raise RecipeError(f"sizes {shown}: {min(self.sizes)} is too small: give at least 2")
        if any(a >= b for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise RecipeError(f"sizes {shown} do not ascend: write {sorted(set(self.sizes))}")
        room = self.seq_len - 2 * self.block - 1
        if self.sizes[-1] > room:
            raise RecipeError(
                f"sizes {shown}: {self.sizes[-1]} leaves no room in seq_len {self.seq_len} for its "
                f"size token, the prompt and the answer: give at most {room}"
            )
