"""Hugging Face datasets, streamed one dataset shard at a time; local dataset folders likewise.

The token is left to huggingface_hub, which takes it from the environment, unless the source names a
secret that holds it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from transforms import hub_token
from transforms.documents import Piece, RowBatch
from transforms.errors import CorpusError, SourceError
from transforms.readers import columns, rows
from transforms.readers.retry import Retry, causes, status_of
from transforms.readers.retry import resume as resumed
from transforms.sources import HubInput, SourceSpec

if TYPE_CHECKING:
    from datasets import IterableDataset

BATCH_ROWS = 512
PROBE_ROWS = 8
PROBE_ATTEMPTS = 3


@dataclass(frozen=True)
class Probe:
    """What launch finds out about a dataset.

    Attributes:
      input: with the revision resolved to a commit (None for a local folder).
      shards: names of the dataset's shards, in order.
    """

    input: HubInput
    shards: list[str]


def probe(spec: SourceSpec, hub: HubInput, retry: Retry | None = None) -> Probe:
    """Resolves the revision and checks the columns and the first rows.

    Raises:
      SourceError: the dataset is missing or gated, lacks the column, or its first 8 texts are all
        empty.
    """
    retry = retry or Retry(attempts=PROBE_ATTEMPTS)
    where = _where(hub)
    has_token = hub.token_secret or os.environ.get("HF_TOKEN")
    if hub.gated and not _is_local(hub) and not has_token:
        raise SourceError(f"source {spec.name!r}: {_gated(hub)}")
    try:
        hub = replace(hub, revision=retry.call(lambda: _commit(hub)))
        dataset = retry.call(lambda: _open(hub))
        first = retry.call(lambda: next(_tables(dataset, PROBE_ROWS), None))
    except CorpusError:
        raise
    except Exception as error:
        raise SourceError(f"source {spec.name!r}: {_explain(hub, error)}") from error
    if first is None:
        raise SourceError(f"source {spec.name!r}: {where} has no rows: wrong split or config?")
    columns.check_columns(first.schema, spec, where)
    for column in spec.text_columns:
        if not _any_text(first, column):
            raise SourceError(
                f"source {spec.name!r}: {where}: column {column!r} is empty in the first "
                f"{len(first)} rows: wrong column or config? "
                f"the columns are: {', '.join(first.column_names)}"
            )
    count = dataset.num_shards
    return Probe(
        replace(hub, only_columns=_needed(dataset, first.schema, spec)),
        [f"{where}/{hub.split}-{index:05d}-of-{count:05d}" for index in range(count)],
    )


def read_hub(piece: Piece, spec: SourceSpec, retry: Retry | None = None) -> Iterator[RowBatch]:
    """Rows of one dataset shard, carried over transient failures.

    Raises:
      SourceError: the shard cannot be read to its end.
    """
    hub = spec.input
    assert isinstance(hub, HubInput)
    row = 0
    try:
        for table in resumed(lambda: _shard(hub, piece.start), retry or Retry()):
            columns.check_columns(table.schema, spec, piece.path)
            for batch in table.to_batches():
                yield columns.to_rows(batch, row, spec)
                row += batch.num_rows
    except CorpusError:
        raise
    except Exception as error:
        raise SourceError(
            f"source {spec.name!r}: {piece.path}, after row {row}: {_explain(hub, error)}"
        ) from error


def _shard(hub: HubInput, index: int) -> Iterator[pa.Table]:
    dataset = _open(hub)
    return _tables(dataset.shard(num_shards=dataset.num_shards, index=index), BATCH_ROWS)


def _tables(dataset: "IterableDataset", batch_rows: int) -> Iterator[pa.Table]:
    yield from dataset.with_format("arrow").iter(batch_size=batch_rows)


def _open(hub: HubInput) -> "IterableDataset":
    import datasets

    extra = {"columns": list(hub.only_columns)} if hub.only_columns else {}
    return datasets.load_dataset(
        hub.repo,
        name=hub.config,
        data_dir=hub.data_dir,
        split=hub.split,
        revision=hub.revision,
        streaming=True,
        token=_token(hub),
        **extra,
    )


def _token(hub: HubInput) -> str | None:
    """The token that the source names; None leaves it to the environment."""
    secret = _secret(hub)
    return hub_token.fetch(secret) if secret else None


def _secret(hub: HubInput) -> str | None:
    return None if _is_local(hub) else hub.token_secret


def _needed(
    dataset: "IterableDataset", schema: pa.Schema, spec: SourceSpec
) -> tuple[str, ...] | None:
    """The top-level columns to ask for; None where the format has to read all anyway."""
    if dataset.info.builder_name != "parquet":
        return None
    paths = [columns.field_path(schema, name) for name in spec.read_columns]
    return tuple(sorted({path[0] for path in paths if path}))


def _commit(hub: HubInput) -> str | None:
    if _is_local(hub):
        return None
    from huggingface_hub import HfApi

    return HfApi(token=_token(hub)).dataset_info(hub.repo, revision=hub.revision, timeout=30).sha


def _is_local(hub: HubInput) -> bool:
    return os.path.isdir(hub.repo)


def _where(hub: HubInput) -> str:
    return "/".join(part for part in (hub.repo, hub.config, hub.data_dir) if part)


def _any_text(table: pa.Table, column: str) -> bool:
    for batch in table.to_batches():
        values = columns.column_of(batch, column)
        if not all(rows.is_empty(value.as_py()) for value in values):
            return True
    return False


def _gated(hub: HubInput) -> str:
    return (
        f"dataset {hub.repo} is gated: accept its terms at https://huggingface.co/datasets/"
        f"{hub.repo} and set HF_TOKEN in the environment, or token_secret in the recipe"
    )


def _explain(hub: HubInput, error: Exception) -> str:
    """One line for people; signed addresses and tokens are cut out."""
    names = {type(link).__name__ for link in causes(error)}
    statuses = {status_of(link) for link in causes(error)}
    if "GatedRepoError" in names or "gated dataset" in str(error) or 403 in statuses:
        return _gated(hub)
    if "RevisionNotFoundError" in names:
        return f"dataset {hub.repo} has no revision {hub.revision!r}"
    if names & {"RepositoryNotFoundError", "DatasetNotFoundError"} or statuses & {401, 404}:
        return (
            f"dataset {hub.repo} does not exist or is private: check the name, and set HF_TOKEN in "
            "the environment, or token_secret in the recipe, if it is yours"
        )
    reason = hub_token.public(error, _secret(hub))
    return f"dataset {hub.repo}: {type(error).__name__}: {reason}"
