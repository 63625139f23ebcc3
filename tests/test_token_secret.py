"""A token of the hub that lies in Secret Manager: who gets it, and where it must not be."""

import base64
import bz2
import logging
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from beam_pipeline import corpus
from beam_pipeline.cli import main
from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.launch import launch
from beam_pipeline.recipe import Recipe
from beam_pipeline.recipe_file import parse
from beam_pipeline.traces_launch import tokenizer_spec
from beam_pipeline.traces_recipe import TracesRecipe
from tests.fakes.hub import gated_repo
from tests.fakes.secret_manager import secret_manager
from tests.jobs import NO_FILTER, recipe_of
from tests.tokenizers import samples
from transforms import credentials, hub_token
from transforms.errors import CloudError, RecipeError, TokenizerError
from transforms.readers.synthetic import document
from transforms.tokenizers.prepare import prepare

SECRET = "projects/some-project/secrets/hub-token/versions/3"
TOKEN = "a-token-that-nobody-may-see"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A gated dataset; yields the tokens with which the hub was asked."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("datasets.config.HF_MODULES_CACHE", str(tmp_path / "modules"))
    (tmp_path / "data").mkdir()
    texts = [document("web", "web", k) for k in range(60)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "data" / "train.parquet")
    import datasets

    asked: list[str | None] = []
    load = datasets.load_dataset

    def load_dataset(repo, token, revision, **options):
        asked.append(token)
        return load(str(tmp_path / "data"), **options)

    def dataset_info(self, repo, **options):
        asked.append(self.token)
        return type("Info", (), {"sha": "0123abc"})

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", dataset_info)
    return asked


def write_recipe(folder: Path, secret: str = SECRET) -> Path:
    source = {
        "name": "gated",
        "domain": "web",
        "weight": 1.0,
        "filter": NO_FILTER,
        "huggingface": {"repo": "some/repo", "gated": True, "token_secret": secret},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe_of([source])))
    return path


def test_the_token_is_fetched_by_name_and_left_nowhere(
    hub, tmp_path, monkeypatch, caplog, capfd
) -> None:
    recipe = write_recipe(tmp_path)
    monkeypatch.setattr("beam_pipeline.finish.storage.remove_tree", lambda folder: None)
    caplog.set_level(logging.DEBUG)
    for name in ("transforms", "beam_pipeline", "apache_beam", "google"):
        caplog.set_level(logging.DEBUG, name)
    with secret_manager({SECRET: f"{TOKEN}\n".encode()}) as asked:
        assert main(["build", str(recipe), "--output", str(tmp_path / "out")]) == 0
    assert set(asked) == {SECRET}
    assert hub
    assert set(hub) == {TOKEN}
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(path.parent.name == "landed" for path in files)
    holding = {path.name for path in files if SECRET.encode() in path.read_bytes()}
    assert {"manifest.json", "_STARTED.json"} <= holding
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    out, err = capfd.readouterr()
    assert TOKEN not in caplog.text + out + err


REPO = "some/llama"


@pytest.fixture
def gated_tokenizer(tmp_path, monkeypatch) -> Iterator[list[str | None]]:
    """A gated repository that has a tokenizer; yields the tokens with which it was asked."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    file = tmp_path / "tokenizer.json"
    samples.small_tokenizer().save(str(file))
    with gated_repo(REPO, file, TOKEN, tmp_path / "cache") as asked:
        yield asked


def tokenizer_recipe(folder: Path, **keys: str) -> Path:
    source = {"name": "made", "domain": "web", "weight": 1.0, "synthetic": {"documents": 40}}
    path = folder / "recipe.yaml"
    asked = {"huggingface": REPO, **keys}
    path.write_text(yaml.safe_dump(recipe_of([source]) | {"tokenizer": asked}))
    return path


def test_a_tokenizers_token_is_fetched_by_name_and_left_nowhere(
    gated_tokenizer, tmp_path, caplog, capfd
) -> None:
    recipe = tokenizer_recipe(tmp_path, token_secret=SECRET)
    caplog.set_level(logging.DEBUG)
    with secret_manager({SECRET: f"{TOKEN}\n".encode()}) as asked:
        assert main(["build", str(recipe), "--output", str(tmp_path / "out")]) == 0
        launched = launch(JobArguments(str(recipe), str(tmp_path / "again")))
    assert asked == [SECRET]
    assert set(gated_tokenizer) == {TOKEN}
    pipeline = beam.Pipeline("FnApiRunner")
    corpus.build(pipeline, launched)
    assert TOKEN.encode() not in unpacked(pipeline.to_runner_api().SerializeToString())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    holding = {path.name for path in files if SECRET.encode() in path.read_bytes()}
    assert {"manifest.json", "_STARTED.json"} <= holding
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    out, err = capfd.readouterr()
    assert TOKEN not in caplog.text + out + err


@pytest.mark.parametrize("held", [None, b"the-token-of-somebody-else"])
def test_a_gated_tokenizer_without_the_token_is_one_line(
    gated_tokenizer, held, tmp_path, capsys
) -> None:
    recipe = tokenizer_recipe(tmp_path, **({"token_secret": SECRET} if held else {}))
    with secret_manager({SECRET: held or 404}):
        assert main(["build", str(recipe), "--output", str(tmp_path / "out"), "--quiet"]) == 2
    err = capsys.readouterr().err
    assert f"{REPO} is gated: accept its terms at https://huggingface.co/{REPO} and" in err
    assert "set HF_TOKEN in the environment, or token_secret in the recipe" in err
    assert err.count("\n") == 1
    assert "somebody-else" not in err
    assert not (tmp_path / "out").exists()


def test_a_tokenizers_secret_that_cannot_be_read_is_one_line(
    gated_tokenizer, tmp_path, capsys
) -> None:
    recipe = tokenizer_recipe(tmp_path, token_secret=SECRET)
    with secret_manager({}):
        assert main(["build", str(recipe), "--output", str(tmp_path / "out"), "--quiet"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"token_secret: there is no {SECRET}" in err
    assert gated_tokenizer == []


@pytest.mark.parametrize(
    ("tokenizer", "words"),
    [
        ({"huggingface": REPO, "token_secret": TOKEN}, "this is not the name of a secret"),
        ({"file": "t.json", "token_secret": SECRET}, "token_secret goes with huggingface alone"),
    ],
)
@pytest.mark.parametrize("kind", [Recipe, TracesRecipe])
def test_a_tokenizers_secret_is_checked_and_not_repeated(tokenizer, words, kind) -> None:
    rest = {"name": "n", "source": {"files": "x"}}
    if kind is Recipe:
        rest = recipe_of([{"name": "made", "domain": "web", "weight": 1.0, "files": "x"}])
    text = yaml.safe_dump(rest | {"tokenizer": tokenizer}).encode()
    with pytest.raises(RecipeError, match=rf"^r\.yaml: tokenizer.*: {words}") as caught:
        parse(text, "r.yaml", kind)
    assert TOKEN not in str(caught.value)


def test_traces_take_a_gated_tokenizer(gated_tokenizer, tmp_path) -> None:
    path = tmp_path / "traces.yaml"
    asked = {"huggingface": REPO, "token_secret": SECRET}
    path.write_text(yaml.safe_dump({"name": "n", "source": {"files": "x"}, "tokenizer": asked}))
    spec = tokenizer_spec(parse(path.read_bytes(), str(path), TracesRecipe), str(path), "auto")
    with secret_manager({SECRET: TOKEN.encode()}), pytest.raises(TokenizerError, match="lacks"):
        prepare(spec)
    assert set(gated_tokenizer) == {TOKEN}


def unpacked(graph: bytes) -> bytes:
    """A serialised graph with what it holds in compressed form written out."""
    found = [graph]
    for run in re.findall(rb"[A-Za-z0-9+/=]{64,}", graph):
        # The length before a field may look like its first letter.
        for start in range(4):
            text = run[start:]
            raw = base64.b64decode(text[: len(text) // 4 * 4])
            for decompress in (zlib.decompress, bz2.decompress):
                try:
                    found.append(decompress(raw))
                except (zlib.error, OSError, ValueError, EOFError):
                    continue
    return b"\n".join(found)


def test_the_graph_holds_the_name_and_not_the_token(hub, tmp_path) -> None:
    with secret_manager({SECRET: TOKEN.encode()}):
        launched = launch(
            JobArguments(str(write_recipe(tmp_path)), str(tmp_path / "out"), piece_bytes=1000)
        )
    assert TOKEN in hub
    pipeline = beam.Pipeline("FnApiRunner")
    corpus.build(pipeline, launched)
    graph = unpacked(pipeline.to_runner_api().SerializeToString())
    assert SECRET.encode() in graph
    assert TOKEN.encode() not in graph


def test_a_token_is_asked_for_once_in_a_process() -> None:
    with secret_manager({SECRET: TOKEN.encode()}) as asked:
        assert [hub_token.fetch(SECRET) for _ in range(3)] == [TOKEN] * 3
        assert asked == [SECRET]


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (404, f"there is no {SECRET}: check its name, and that it has this version"),
        (403, f"no permission to read {SECRET}: .*Secret Manager Secret Accessor"),
        (401, f"{SECRET} cannot be read, as the credentials were not accepted"),
        (400, f"{SECRET} cannot be read now: .*the service says no"),
        (b" \n", f"{SECRET} is empty"),
    ],
)
def test_a_secret_that_cannot_be_read_is_one_line(hub, held, words, tmp_path, capsys) -> None:
    recipe = write_recipe(tmp_path)
    with secret_manager({SECRET: held}):
        assert main(["build", str(recipe), "--output", str(tmp_path / "out"), "--quiet"]) == 2
    err = capsys.readouterr().err
    assert re.search(words, err)
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_credentials_a_secret_is_not_asked_for(monkeypatch) -> None:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    def none(**_):
        raise DefaultCredentialsError("Your default credentials were not found. To set up, ...")

    monkeypatch.setattr(google.auth, "default", none)
    with secret_manager({SECRET: TOKEN.encode()}) as asked:
        monkeypatch.setattr(credentials, "_found", False)
        with pytest.raises(CloudError, match=r"no credentials for Google Cloud \(Your default"):
            hub_token.fetch(SECRET)
        assert asked == []


def test_a_token_in_place_of_a_secrets_name_is_not_repeated(tmp_path) -> None:
    path = write_recipe(tmp_path, secret=TOKEN)
    with pytest.raises(
        RecipeError, match="token_secret: this is not the name of a secret"
    ) as caught:
        parse(path.read_bytes(), str(path), Recipe)
    assert TOKEN not in str(caught.value)
