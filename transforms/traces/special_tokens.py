"""The special tokens of the layouts, by the part that each plays."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from transforms.errors import TokenizerError

DEFAULT_NAMES = {
    "pad": "<pad>",
    "bos": "<s>",
    "eos": "</s>",
    "mask": "<mask>",
    "think": "<think>",
    "end_think": "</think>",
    "answer": "<answer>",
    "end_of_thought": "<end_of_thought>",
    "fill": "<fill>",
}


def size_name(size: int) -> str:
    """The name of the token that announces a block of this size."""
    return f"<size_{size}>"


def special_names(sizes: Sequence[int], names: Mapping[str, str] | None = None) -> dict[str, str]:
    """The names of all special tokens by role, as a new tokenizer numbers them.

    The role of a size token is its size.

    Args:
      sizes: of adaptive's blocks; none where adaptive is not wanted.
      names: by role, those that differ from `DEFAULT_NAMES`.
    """
    return DEFAULT_NAMES | dict(names or {}) | {str(size): size_name(size) for size in sizes}


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of the special tokens, all different.

    Attributes:
      mask: for the model's noise; no layout writes it.
      sizes: the id of the size token of each of `Geometry.sizes`; empty where there are none.

    Raises:
      TokenizerError: two of them are one.
    """

    pad: int
    bos: int
    eos: int
    mask: int
    think: int
    end_think: int
    answer: int
    end_of_thought: int
    fill: int
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        ids = self.ids()
        twice = {id_ for id_ in ids if ids.count(id_) > 1}
        if twice:
            roles = [role for role in DEFAULT_NAMES if getattr(self, role) in twice]
            roles += [f"sizes[{i}]" for i, id_ in enumerate(self.sizes) if id_ in twice]
            raise TokenizerError(
                f"special tokens share an id ({', '.join(roles)}), so that windows could not be "
                "read back: give each a token of its own"
            )

    @classmethod
    def from_roles(cls, ids: Mapping[str, int]) -> "SpecialTokens":
        """The special tokens of the roles that `special_names` gives."""
        sizes = tuple(id_ for role, id_ in ids.items() if role not in DEFAULT_NAMES)
        return cls(**{role: ids[role] for role in DEFAULT_NAMES}, sizes=sizes)

    def ids(self) -> tuple[int, ...]:
        """All of them."""
        *ids, sizes = astuple(self)
        return (*ids, *sizes)
