"""The recipe of the traces job: a reasoning data set, how it is parsed, split and laid out."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, model_validator

from beam_pipeline.recipe import (
    HubSource,
    Input,
    JobRecipe,
    SecretVersion,
    StrictModel,
    refuse_needless_secret,
)
from transforms.traces.geometry import LAYOUTS, Geometry, Layout
from transforms.traces.parsers import ParserSpec
from transforms.traces.special_tokens import DEFAULT_NAMES, special_names

BYTE_TOKENS = 256


class Parser(StrictModel):
    """How a row becomes an example; the parsers are those of `transforms.traces.parsers`.

    Attributes:
      name: which parser.
      columns: column of each field whose column has another name than the field.
      drop: oddities for which a row is dropped rather than kept and counted.
    """

    name: str = "glaive"
    columns: dict[str, str] = Field(default_factory=dict)
    drop: tuple[str, ...] = ()

    def spec(self) -> ParserSpec:
        """The parser; raises RecipeError where there is no such one."""
        return ParserSpec(self.name, tuple(self.columns.items()), self.drop)


class Training(StrictModel):
    """A byte-level BPE tokenizer, trained on the unique examples.

    Attributes:
      vocab_size: entries, bytes and special tokens included.
      min_frequency: a pair must occur this often to become a token.
      max_bytes: of examples to train on, the first in pick order.
    """

    vocab_size: int = Field(default=16_384, le=1 << 20)
    min_frequency: int = Field(default=4, ge=1)
    max_bytes: int = Field(default=256 << 20, ge=1)


class TracesTokenizer(StrictModel):
    """Which tokenizer makes the ids; exactly one of `file`, `huggingface` and `train`.

    Attributes:
      file: path of a `tokenizer.json`, relative to the recipe.
      huggingface: repo id on the hub; the token for a gated one is taken from the environment,
        `HF_TOKEN`, or from `token_secret`.
      token_secret: `projects/PROJECT/secrets/NAME/versions/VERSION` in Google's Secret Manager,
        which launch reads.
      train: settings of one that is trained in the job.
      names: names of special tokens by role, where they are not the usual ones.
      add_missing: a special token that the vocabulary lacks takes the next free id.
      dtype: pins the width of the ids; without it uint16 is used where the vocabulary fits.
    """

    file: str | None = None
    huggingface: str | None = None
    token_secret: SecretVersion | None = None
    train: Training | None = None
    names: dict[str, str] = Field(default_factory=dict)
    add_missing: bool = False
    dtype: Literal["uint16", "uint32"] | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> "TracesTokenizer":
        given = [name for name in ("file", "huggingface", "train") if getattr(self, name)]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(f"give exactly one of file, huggingface, train (got {got})")
        refuse_needless_secret(self.huggingface, self.token_secret)
        if self.train and self.dtype == "uint16" and self.train.vocab_size > 1 << 16:
            raise ValueError(f"a vocab_size of {self.train.vocab_size} does not fit uint16")
        unknown = [role for role in self.names if role not in DEFAULT_NAMES]
        if unknown:
            raise ValueError(
                f"names: no role {unknown[0]!r}: the roles are {', '.join(DEFAULT_NAMES)}"
            )
        return self


class TracesWarn(StrictModel):
    """When finished traces are worth a warning; no byte of the shards depends on it.

    Attributes:
      step_loss: parsing or deduplication drops more than this share of the rows that came to it.
      dropped: a layout drops more than this share of the examples of train.
      fill: more than this share of a layout's thought tokens is fill.
      validation_examples: the validation split has fewer. A share that is measured on n examples
        has a standard error of up to 0.5 / sqrt(n): 5 points at 100.
    """

    step_loss: float = Field(default=0.5, ge=0, le=1)
    dropped: float = Field(default=0.1, ge=0, le=1)
    fill: float = Field(default=0.5, ge=0, le=1)
    validation_examples: int = Field(default=100, ge=0)


class TracesRecipe(JobRecipe):
    """Laid out reasoning traces, whole.

    Attributes:
      source: where the rows are.
      parser: how a row becomes an example.
      tokenizer: who makes the ids; by default one is trained.
      layouts: at least one.
      block: what prompt, slots and answer are multiples of, at least 2; it divides `seq_len`.
      max_slots: `slotted` takes no example with more.
      sizes: blocks of `adaptive`, ascending.
      val_fraction: share of the problems that is held out, by a hash of the problem.
      limit: use so many unique examples, the first in pick order.
      scan_limit: read no further than the row that gives so many examples, in file order.
      warn: when to warn of the finished traces; it is not part of what they are, so one may change
        it and resume.
    """

    COMMAND: ClassVar[str] = "traces"
    PARTS: ClassVar[dict[str, type[BaseModel]]] = {
        "source": Input,
        "huggingface": HubSource,
        "parser": Parser,
        "tokenizer": TracesTokenizer,
        "train": Training,
        "warn": TracesWarn,
    }

    source: Input
    parser: Parser = Parser()
    tokenizer: TracesTokenizer = TracesTokenizer(train=Training())
    layouts: Annotated[tuple[Layout, ...], Field(min_length=1)] = LAYOUTS
    block: int = 32
    max_slots: int = 64
    sizes: tuple[int, ...] = (64, 256)
    val_fraction: float = Field(default=0.02, gt=0, lt=1)
    limit: int | None = Field(default=None, ge=1)
    scan_limit: int | None = Field(default=None, ge=1)
    warn: TracesWarn = Field(default=TracesWarn(), exclude=True)

    @model_validator(mode="after")
    def _parts_agree(self) -> "TracesRecipe":
        if len(set(self.layouts)) < len(self.layouts):
            raise ValueError(f"layouts {list(self.layouts)}: one is named twice")
        if "adaptive" in self.layouts and not self.sizes:
            raise ValueError("sizes is empty: adaptive needs at least one, as in [64, 256]")
        self.parser.spec()
        least = BYTE_TOKENS + len(special_names(self.geometry().sizes))
        if self.tokenizer.train and self.tokenizer.train.vocab_size < least:
            raise ValueError(
                f"tokenizer.train.vocab_size is {self.tokenizer.train.vocab_size}: the bytes and "
                f"the special tokens alone are {least}"
            )
        return self

    def geometry(self) -> Geometry:
        """The measures of the layouts; without sizes where adaptive is not asked for."""
        sizes = self.sizes if "adaptive" in self.layouts else ()
        return Geometry(self.seq_len, self.block, self.max_slots, sizes)
