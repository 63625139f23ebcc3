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


def special_names(sizes: Sequence[int], names: Mapping[str, str] | None = None) -> list[str]:
    """The names of all special tokens, in the order in which a new tokenizer numbers them.

    Args:
      sizes: of adaptive's blocks; none where adaptive is not wanted.
      names: by role, those that differ from `DEFAULT_NAMES`.
    """
    chosen = DEFAULT_NAMES | dict(names or {})
    return [*(chosen[role] for role in DEFAULT_NAMES), *map(size_name, sizes)]


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
    def from_vocabulary(
        cls,
        vocabulary: Mapping[str, int],
        sizes: Sequence[int],
        names: Mapping[str, str] | None = None,
    ) -> "SpecialTokens":
        """Looks the special tokens up.

        Args:
          vocabulary: ids by token, added tokens included.
          sizes, names: as `special_names` takes them.

        Raises:
          TokenizerError: the vocabulary lacks some; names them all.
        """
        wanted = special_names(sizes, names)
        lacking = [name for name in wanted if name not in vocabulary]
        if lacking:
            raise TokenizerError(
                f"the tokenizer lacks the special tokens {', '.join(lacking)}: add them to it, "
                "name others that it has, or leave the file out to train one"
            )
        ids = [vocabulary[name] for name in wanted]
        by_role = dict(zip(DEFAULT_NAMES, ids, strict=False))
        return cls(**by_role, sizes=tuple(ids[len(by_role) :]))

    def ids(self) -> tuple[int, ...]:
        """All of them."""
        *ids, sizes = astuple(self)
        return (*ids, *sizes)
