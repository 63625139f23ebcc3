"""The hub reader on dataset folders; `load_dataset` takes a folder where it takes a repo id."""

from pathlib import Path
from typing import Any

import httpx
import huggingface_hub.errors
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.readers.reading import read_pieces
from transforms.errors import SourceError
from transforms.readers import hub, planning
from transforms.readers.retry import Retry
from transforms.sources import HubInput, SourceSpec


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
    monkeypatch.setattr("datasets.config.HF_MODULES_CACHE", str(tmp_path_factory.mktemp("modules")))


def source(repo: Path | str, text_column: str = "text", id_column: str | None = None,
           read_fraction: float = 1.0, **options: Any) -> SourceSpec:  # fmt: skip
    return SourceSpec(
        "s", "web", HubInput(str(repo), **options), text_column, id_column, read_fraction
    )


def write_shards(folder: Path, shards: int, rows: int, column: str = "text", **more) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(shards):
        texts = [f"shard {shard} row {row}" for row in range(rows)]
        columns = {column: texts, "id": list(range(rows)), "extra": [1.5] * rows, **more}
        path = folder / f"train-{shard:05d}-of-{shards:05d}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=100)
    return folder


def expected(shards: int, rows: int) -> list[str]:
    return [f"shard {shard} row {row}" for shard in range(shards) for row in range(rows)]


def test_one_piece_a_shard_in_order(tmp_path) -> None:
    plan = planning.plan(2, source(write_shards(tmp_path / "d", 3, 700), id_column="id"), 5)
    assert [(piece.kind, piece.source, piece.start) for piece in plan.pieces] == [
        ("hub", 2, 0),
        ("hub", 2, 1),
        ("hub", 2, 2),
    ]
    assert len({piece.number for piece in plan.pieces}) == 3
    outcome = read_pieces(plan.pieces, plan.spec)
    assert outcome.texts == expected(3, 700)
    assert outcome.ids == [str(row) for _ in range(3) for row in range(700)]


def test_only_needed_columns_are_asked_for(tmp_path, monkeypatch) -> None:
    plan = planning.plan(0, source(write_shards(tmp_path / "d", 1, 10)), 0)
    assert plan.spec.input.only_columns == ("text",)
    assert plan.spec.input.revision is None
    tables = list(hub._shard(plan.spec.input, 0))
    assert tables[0].column_names == ["text"]


def test_json_lines_with_a_nested_column(tmp_path) -> None:
    rows = [{"doc": {"text": f"text {k}"}, "n": k} for k in range(20)]
    (tmp_path / "train.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    plan = planning.plan(0, source(tmp_path, "doc.text"), 0)
    assert read_pieces(plan.pieces, plan.spec).texts == [f"text {k}" for k in range(20)]


def test_config_and_data_dir(tmp_path) -> None:
    write_shards(tmp_path / "one", 1, 10)
    write_shards(tmp_path / "two", 2, 5)
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: a\n  data_files: one/*.parquet\n"
        "- config_name: b\n  data_files: two/*.parquet\n---\n"
    )
    for options, shards, rows in (
        ({"config": "a"}, 1, 10),
        ({"config": "b"}, 2, 5),
    ):
        plan = planning.plan(0, source(tmp_path, **options), 0)
        assert read_pieces(plan.pieces, plan.spec).texts == expected(shards, rows)
    (tmp_path / "README.md").unlink()
    plan = planning.plan(0, source(tmp_path, data_dir="two"), 0)
    assert read_pieces(plan.pieces, plan.spec).texts == expected(2, 5)
    with pytest.raises(SourceError, match="nope"):
        planning.plan(0, source(tmp_path, split="nope"), 0)


def test_a_missing_column_names_those_there_are(tmp_path) -> None:
    folder = write_shards(tmp_path / "d", 1, 10, column="content")
    with pytest.raises(SourceError, match="no column 'text'; the columns are: content, id, extra"):
        planning.plan(0, source(folder), 0)
    plan = planning.plan(0, source(folder, "content"), 0)
    assert len(read_pieces(plan.pieces, plan.spec).texts) == 10


@pytest.mark.parametrize("empty", ["", "  \n", None])
def test_eight_empty_rows_are_suspicious(empty: str | None, tmp_path) -> None:
    for count in (7, 8):
        texts = pa.array([empty] * count + ["text"] * 4, pa.string())
        pq.write_table(pa.table({"text": texts}), tmp_path / "train.parquet")
        if count == 7:
            planning.plan(0, source(tmp_path), 0)
        else:
            with pytest.raises(SourceError, match="wrong column or config"):
                planning.plan(0, source(tmp_path), 0)


def test_a_dataset_without_rows_is_an_error(tmp_path, monkeypatch) -> None:
    write_shards(tmp_path, 1, 1)
    monkeypatch.setattr(hub, "_tables", lambda dataset, rows: iter(()))
    with pytest.raises(SourceError, match="no rows"):
        planning.plan(0, source(tmp_path), 0)


def test_read_fraction_takes_whole_shards(tmp_path) -> None:
    folder = write_shards(tmp_path / "d", 8, 3)
    plan = planning.plan(0, source(folder, read_fraction=0.4), 0)
    assert 1 <= plan.chosen == len(plan.pieces) < plan.total == 8
    chosen = {piece.start for piece in plan.pieces}
    texts = read_pieces(plan.pieces, plan.spec).texts
    assert texts == [f"shard {shard} row {row}" for shard in sorted(chosen) for row in range(3)]


def failing_once(monkeypatch, after: int, error: Exception) -> list[int]:
    """Makes the stream of tables fail in its first reading, after some tables."""
    opened: list[int] = []
    original = hub._tables

    def tables(dataset, rows):
        opened.append(rows)
        first = len(opened) == 1
        for count, table in enumerate(original(dataset, rows)):
            if first and count == after:
                raise error
            yield table

    monkeypatch.setattr(hub, "_tables", tables)
    return opened


def status(code: int, message: str = "failed") -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "https://hub.test/x")
    return httpx.HTTPStatusError(
        message, request=request, response=httpx.Response(code, request=request)
    )


@pytest.mark.parametrize("error", [status(429), status(503), ConnectionResetError("reset")])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_failure_mid_stream_loses_and_repeats_nothing(
    error: Exception, after: int, tmp_path, monkeypatch
) -> None:
    plan = planning.plan(0, source(write_shards(tmp_path / "d", 1, 2000)), 0)
    opened = failing_once(monkeypatch, after, error)
    slept: list[float] = []
    batches = list(hub.read_hub(plan.pieces[0], plan.spec, Retry(sleep=slept.append)))
    assert [text for batch in batches for text in batch.texts.strings()] == expected(1, 2000)
    assert [row for batch in batches for row in batch.rows.tolist()] == list(range(2000))
    assert len(opened) == 2
    assert len(slept) == 1


def test_another_failure_is_one_line_without_secrets(tmp_path, monkeypatch) -> None:
    plan = planning.plan(0, source(write_shards(tmp_path / "d", 1, 2000)), 0)
    secret = "https://cdn.test/f?X-Signature=abc Authorization: hf_secret\nmore"
    failing_once(monkeypatch, 1, status(416, secret))
    with pytest.raises(SourceError) as caught:
        list(hub.read_hub(plan.pieces[0], plan.spec))
    message = str(caught.value)
    assert "train-00000-of-00001" in message
    assert "after row 512" in message
    assert not any(word in message for word in ("hf_secret", "abc", "\n"))


def hub_error(kind: type, code: int) -> Exception:
    import httpx2

    request = httpx2.Request("GET", "https://huggingface.co/api/datasets/x/y")
    return kind("no", response=httpx2.Response(code, request=request))


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("GatedRepoError", 403, "accept its terms"),
        ("RepositoryNotFoundError", 401, "does not exist or is private"),
        ("RepositoryNotFoundError", 404, "does not exist or is private"),
        ("RevisionNotFoundError", 404, "no revision 'main'"),
    ],
)
def test_no_access_is_one_line_at_once(kind: str, code: int, words: str, monkeypatch) -> None:
    calls: list[str] = []

    def dataset_info(self, repo, **options):
        calls.append(repo)
        raise hub_error(getattr(huggingface_hub.errors, kind), code)

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", dataset_info)
    with pytest.raises(SourceError, match=words) as caught:
        planning.plan(0, source("some/repo", revision="main"), 0)
    assert "some/repo" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert calls == ["some/repo"]


def test_a_gated_source_without_a_token_asks_for_it(monkeypatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(SourceError, match="set HF_TOKEN"):
        planning.plan(0, source("some/repo", gated=True), 0)


def test_the_revision_is_resolved_to_a_commit(tmp_path, monkeypatch) -> None:
    folder = write_shards(tmp_path / "d", 1, 10)
    seen: list[str | None] = []
    import datasets

    load = datasets.load_dataset

    def load_dataset(repo, revision, **options):
        seen.append(revision)
        return load(str(folder), **options)

    class Info:
        sha = "0123abc"

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda self, repo, **_: Info)
    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    plan = planning.plan(0, source("some/repo", revision="main"), 0)
    assert plan.spec.input.revision == "0123abc"
    assert read_pieces(plan.pieces, plan.spec).texts == expected(1, 10)
    assert set(seen) == {"0123abc"}
