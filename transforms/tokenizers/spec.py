"""What a recipe asks of a tokenizer, and what launch makes of it."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bytes", "file", "huggingface"]
Dtype = Literal["uint16", "uint32"]
Backend = Literal["bytes", "fastokens", "tokenizers"]
BackendChoice = Literal["auto", "fastokens", "tokenizers"]


@dataclass(frozen=True)
class TokenizerSpec:
    """The tokenizer of a recipe.

    Attributes:
      location: path or URL of a tokenizer.json (file), or a repo id (huggingface).
      bos, eos, pad: names of the control tokens; not used by bytes, which has its own.
      add_missing: give a name that the vocabulary lacks the next free id.
      dtype: pinned width of an id; None takes the smaller one that fits.
      further: (role, name) of each control token besides those three.
      token_secret: names the secret that holds the token for a gated repo.
      backend: "auto" takes fastokens where its ids equal those of tokenizers.
    """

    kind: Kind
    location: str = ""
    bos: str | None = None
    eos: str | None = None
    pad: str | None = None
    add_missing: bool = False
    dtype: Dtype | None = None
    backend: BackendChoice = "auto"
    further: tuple[tuple[str, str], ...] = ()
    token_secret: str | None = None

    def control(self) -> tuple[tuple[str, str | None], ...]:
        """(role, name) of every control token."""
        return (("bos", self.bos), ("eos", self.eos), ("pad", self.pad), *self.further)


@dataclass(frozen=True)
class PreparedTokenizer:
    """A checked tokenizer, small enough to travel to workers; its JSON waits for them at `path`.

    Attributes:
      name: base name of the file, repo id, or "bytes".
      sha256: hex digest of the tokenizer.json as found, before `prepare` rewrote it.
      vocab_size: one more than the largest id, `added` included.
      added: (name, id) of each control token that the vocabulary lacked.
      dtype: width of an id in the shards.
      further: (role, name, id) of each control token besides bos, eos and pad.
      backend: who encodes; None until `choose_backend` has compared them.
      path: where workers load the rewritten JSON from; empty until the job has written it.
    """

    name: str
    sha256: str
    vocab_size: int
    bos: str
    eos: str
    pad: str
    bos_id: int
    eos_id: int
    pad_id: int
    added: tuple[tuple[str, int], ...]
    dtype: Dtype
    backend: Backend | None = None
    path: str = ""
    further: tuple[tuple[str, str, int], ...] = ()

    def control(self) -> tuple[tuple[str, str, int], ...]:
        """(role, name, id) of every control token."""
        return (
            ("bos", self.bos, self.bos_id),
            ("eos", self.eos, self.eos_id),
            ("pad", self.pad, self.pad_id),
            *self.further,
        )
