"""Recipes: what a job makes and of what, checked by pydantic before anything is read."""

import hashlib
import math
import re
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from transforms.sources import TOTAL

Domain = Literal["web", "synthetic", "code", "math"]
WEIGHT_TOLERANCE = 1e-9
_SECRET_VERSION = re.compile(r"projects/[^/\s]+/secrets/[^/\s]+/versions/[^/\s]+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def _names_a_secret(name: str) -> str:
    # What else stands here may be the token itself: it is not repeated.
    if not _SECRET_VERSION.fullmatch(name):
        raise ValueError(
            "this is not the name of a secret's version: write "
            "projects/PROJECT/secrets/NAME/versions/latest"
        )
    return name


SecretVersion = Annotated[str, AfterValidator(_names_a_secret)]


class StrictModel(BaseModel):
    """A part of a recipe: an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class JobRecipe(StrictModel):
    """What the recipes of all jobs have.

    Attributes:
      COMMAND: the command that takes it.
      PARTS: the models below it, by key.
      name: what messages and the manifest call it.
      seed: of every order: who is kept, who is picked, where it goes.
      seq_len: token ids in a window.
      tokens_per_shard: about how many tokens a shard holds.
      max_doc_bytes: a text with more bytes of UTF-8 is malformed, `too_large`.
      on_bad_file: what a damaged file does: `fail` ends the job, `skip` keeps the rows before the
        damage and records the file.
    """

    COMMAND: ClassVar[str]
    PARTS: ClassVar[dict[str, type[BaseModel]]]

    name: str
    seed: int = Field(default=1337, ge=0, lt=1 << 63)
    seq_len: int = Field(default=2048, ge=3, le=1 << 20)
    tokens_per_shard: int = Field(default=100_000_000, ge=1)
    max_doc_bytes: int = Field(default=16 << 20, ge=1, lt=1 << 31)
    on_bad_file: Literal["fail", "skip"] = "fail"

    def canonical(self) -> dict[str, Any]:
        """The recipe with every default filled in, as plain data."""
        return self.model_dump(mode="json")

    def sha256(self) -> str:
        """Digest of the canonical form; layout and comments of the YAML do not matter."""
        return hashlib.sha256(
            orjson.dumps(self.canonical(), option=orjson.OPT_SORT_KEYS)
        ).hexdigest()


def refuse_needless_secret(repo: str | None, secret: str | None) -> None:
    """A tokenizer that is not on the hub needs no token; raises ValueError."""
    if secret is not None and repo is None:
        raise ValueError("token_secret goes with huggingface alone")


class TokenizerRecipe(StrictModel):
    """Which tokenizer makes the ids; exactly one of `file` and `huggingface`, or the word bytes.

    Attributes:
      file: path of a `tokenizer.json`, relative to the recipe.
      huggingface: repo id on the hub; the token for a gated one is taken from the environment,
        `HF_TOKEN`, or from `token_secret`.
      token_secret: `projects/PROJECT/secrets/NAME/versions/VERSION` in Google's Secret Manager,
        which launch reads.
      bos: name of the token that begins a chunk of a document.
      eos: name of the token that ends it.
      pad: name of the token that fills up the last window of a shard.
      add_missing: a control token that the vocabulary lacks takes the next free id.
      dtype: pins the width of the ids; without it uint16 is used where the vocabulary fits.
    """

    file: str | None = None
    huggingface: str | None = None
    token_secret: SecretVersion | None = None
    bos: str = "<s>"
    eos: str = "</s>"
    pad: str = "<pad>"
    add_missing: bool = False
    dtype: Literal["uint16", "uint32"] | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> "TokenizerRecipe":
        if (self.file is None) == (self.huggingface is None):
            raise ValueError("give exactly one of file and huggingface, or write tokenizer: bytes")
        refuse_needless_secret(self.huggingface, self.token_secret)
        return self


class Holdout(StrictModel):
    """The validation split: documents chosen by a hash of their text.

    Attributes:
      per_mille: of a thousand documents, how many are held out.
      max_tokens: the split takes at most about so many tokens, shared out by weight.
    """

    per_mille: int = Field(default=1, ge=0, le=1000)
    max_tokens: int = Field(default=10_000_000, ge=0, le=1 << 62)


class Dedup(StrictModel):
    """Exact and near deduplication.

    Attributes:
      scope: `corpus` removes copies across sources, `source` only within each.
      permutations: length of a MinHash signature.
      bands: bands of locality-sensitive hashing; they divide the permutations.
      shingle: characters in a shingle.
      threshold: share of equal signature positions from which two documents are near duplicates.
      keep: `cluster` keeps one document of each cluster; `greedy` drops a document only if it
        resembles one that is kept.
    """

    scope: Literal["corpus", "source"] = "corpus"
    permutations: int = Field(default=128, ge=1, le=1024)
    bands: int = Field(default=16, ge=1)
    shingle: int = Field(default=5, ge=1, le=64)
    threshold: float = Field(default=0.8, gt=0, le=1)
    keep: Literal["cluster", "greedy"] = "cluster"

    @model_validator(mode="after")
    def _bands_divide(self) -> "Dedup":
        if self.permutations % self.bands:
            raise ValueError(f"bands ({self.bands}) must divide permutations ({self.permutations})")
        return self


class Warn(StrictModel):
    """When a finished corpus is worth a warning; no byte of the shards depends on it.

    Attributes:
      step_loss: a step drops more than this share of a source's documents.
      short: train lacks more than this part of `train_tokens`.
      off_target: a source's share of the tokens is off its weight by more than this part of it.
      cluster_texts: a cluster of near duplicates has more different texts, which look alike
        because they fill in one template rather than because they were copied.
      tokens_per_byte: a source takes more; English takes about 0.25 of most vocabularies.
      val_tokens: the validation split has fewer, though it was allowed twice as many. A loss has
        a standard deviation of some 3 nats a token: over 100 000 tokens its mean is off by 0.01.
    """

    step_loss: float = Field(default=0.5, ge=0, le=1)
    short: float = Field(default=0.01, ge=0, le=1)
    off_target: float = Field(default=0.1, ge=0)
    cluster_texts: int = Field(default=100, ge=1)
    tokens_per_byte: float = Field(default=0.5, gt=0)
    val_tokens: int = Field(default=100_000, ge=0)


class HubSource(StrictModel):
    """A dataset on the Hugging Face hub, streamed; `repo` may be a local dataset folder.

    Attributes:
      repo: `owner/name`, or a local folder, relative to the recipe.
      config: of the dataset, where it has several.
      data_dir: folder of the repository to read.
      split: of the dataset.
      revision: branch, tag or commit; launch pins it to a commit, which the manifest records.
      gated: a token is needed; from the environment, `HF_TOKEN`, or from `token_secret`.
      token_secret: `projects/PROJECT/secrets/NAME/versions/VERSION` in Google's Secret Manager,
        which every worker reads for itself.
    """

    repo: str
    config: str | None = None
    data_dir: str | None = None
    split: str = "train"
    revision: str | None = None
    gated: bool = False
    token_secret: SecretVersion | None = None


class SyntheticSource(StrictModel):
    """Generated documents, for tests and for trying a recipe offline.

    Attributes:
      documents: how many.
    """

    documents: int = Field(default=2000, ge=0)


class Input(StrictModel):
    """Where rows come from; exactly one of those that a model has.

    Attributes:
      INPUTS: the names of them.
      files: globs of JSON lines (plain, gzip, zstd) or parquet; relative ones start at the recipe.
      huggingface: a dataset on the hub.
    """

    INPUTS: ClassVar[tuple[str, ...]] = ("files", "huggingface")

    files: tuple[str, ...] | None = None
    huggingface: HubSource | None = None

    @field_validator("files", mode="before")
    @classmethod
    def _one_or_many(cls, files: Any) -> Any:
        return (files,) if isinstance(files, str) else files

    @model_validator(mode="after")
    def _one_input(self) -> "Input":
        given = [name for name in self.INPUTS if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(f"give exactly one of {', '.join(self.INPUTS)} (got {got})")
        if self.files == ():
            raise ValueError("files is empty")
        return self


class Source(Input):
    """One weighted input.

    Attributes:
      name: of letters, digits, _ and -.
      domain: which filter its documents go through.
      weight: its share of the tokens; 0 takes part in deduplication only.
      synthetic: generated documents.
      text_column: where the text of a row is; a dotted path reaches into objects.
      id_column: where a row's name is; the docs files list it.
      filter: thresholds of the domain's filter to replace, by name.
      priority: who survives among duplicates, smaller wins; default: place in the recipe.
      read_fraction: share of the files or dataset shards to read, chosen by hash of their names.
    """

    INPUTS: ClassVar[tuple[str, ...]] = (*Input.INPUTS, "synthetic")

    name: str
    domain: Domain
    weight: float = Field(ge=0, le=1)
    synthetic: SyntheticSource | None = None
    text_column: str = Field(default="text", min_length=1)
    id_column: str | None = Field(default=None, min_length=1)
    filter: dict[str, float] = Field(default_factory=dict)
    priority: int | None = Field(default=None, ge=0, le=65535)
    read_fraction: float = Field(default=1.0, gt=0, le=1)

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not _PLAIN_WORD.fullmatch(name):
            raise ValueError(f"{name!r} is not a plain word: use letters, digits, _ and -")
        if name == TOTAL:
            raise ValueError(f"{name!r} is what the ledger calls all sources together")
        return name


class Recipe(JobRecipe):
    """A corpus, whole.

    Attributes:
      train_tokens: the token budget of the train split.
      tokenizer: who makes the ids; `bytes` is ids 0 to 255, bos 256, eos 257, pad 258.
      holdout: the validation split.
      when_short: what happens when a source has fewer tokens than its share: `shortfall` leaves
        the total short, `redistribute` gives the rest to the others by weight, `repeat` adds
        epochs, `fail` ends the job.
      max_epochs: with `when_short: repeat`, how often a document may be used.
      dedup: what counts as a copy.
      warn: when to warn of the finished corpus; it is not part of what a corpus is, so one may
        change it and resume.
      sources: their weights add up to 1.
    """

    COMMAND: ClassVar[str] = "build"
    PARTS: ClassVar[dict[str, type[BaseModel]]] = {
        "tokenizer": TokenizerRecipe,
        "holdout": Holdout,
        "dedup": Dedup,
        "warn": Warn,
        "huggingface": HubSource,
        "synthetic": SyntheticSource,
        "sources": Source,
    }

    train_tokens: int = Field(ge=1, le=1 << 62)
    tokenizer: TokenizerRecipe | Literal["bytes"] = "bytes"
    holdout: Holdout = Holdout()
    when_short: Literal["shortfall", "redistribute", "repeat", "fail"] = "shortfall"
    max_epochs: int = Field(default=4, ge=1, le=1000)
    dedup: Dedup = Dedup()
    warn: Warn = Field(default=Warn(), exclude=True)
    sources: Annotated[tuple[Source, ...], Field(min_length=1, max_length=4096)]

    @model_validator(mode="after")
    def _sources_agree(self) -> "Recipe":
        names = [source.name for source in self.sources]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"source names must differ: {', '.join(twice)} appears twice")
        total = math.fsum(source.weight for source in self.sources)
        if abs(total - 1) > WEIGHT_TOLERANCE:
            each = " + ".join(f"{source.weight:g}" for source in self.sources)
            raise ValueError(f"the weights of the sources must add up to 1: {each} = {total:g}")
        return self
