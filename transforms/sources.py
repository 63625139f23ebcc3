"""What a reader needs to know of a source; made from the recipe, small enough to travel."""

from dataclasses import dataclass

# What the ledger calls all sources together, and no source may be called.
TOTAL = "total"


@dataclass(frozen=True)
class FilesInput:
    """Files by glob: jsonl (plain, gzip, zstd) or parquet; what each is goes by its first bytes."""

    globs: tuple[str, ...]


@dataclass(frozen=True)
class HubInput:
    """A Hugging Face dataset, streamed; `repo` may also be a local dataset folder.

    `token_secret` names the secret that holds the token; without one it comes from the environment.
    `revision` is what the recipe says until launch, and the resolved commit from then on;
    `only_columns` is found at launch: the columns to ask for, where the format can leave out the
    rest.
    """

    repo: str
    config: str | None = None
    data_dir: str | None = None
    split: str = "train"
    revision: str | None = None
    gated: bool = False
    token_secret: str | None = None
    only_columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SyntheticInput:
    """Generated documents of a domain's own vocabulary, seeded by the source's name."""

    documents: int = 2000


@dataclass(frozen=True)
class SourceSpec:
    """One source, as the readers see it.

    Attributes:
      columns: where set, these columns of a row, as one JSON object, are its text: keys in this
        order, null for what the row lacks. `text_column` then has no meaning. What carries texts
        (pieces, landing, limits, rejects) so carries several columns too.
      max_doc_bytes: a text with more UTF-8 bytes than this is malformed, "too_large".
      on_bad_file: "fail" or "skip" (keep the rows before the damage and record the file).
      read_fraction: share of the files or dataset shards to read, chosen by hash of their names.
    """

    name: str
    domain: str
    input: FilesInput | HubInput | SyntheticInput
    text_column: str = "text"
    id_column: str | None = None
    read_fraction: float = 1.0
    max_doc_bytes: int = 16 << 20
    on_bad_file: str = "fail"
    columns: tuple[str, ...] | None = None

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that make up the text."""
        return (self.text_column,) if self.columns is None else self.columns

    @property
    def read_columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        return self.text_columns if self.id_column is None else (*self.text_columns, self.id_column)
