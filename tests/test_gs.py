"""Whole jobs with all their paths on Google Cloud Storage, against an emulator."""

import gzip
import shutil
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
import zstandard
from apache_beam.internal.gcp import auth
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from beam_pipeline.cli import main
from beam_pipeline.shards import WindowShards
from tests import jobs, traces_jobs
from tests.fakes.storage import every, put, refusing
from tests.jobs import DEMO, PROCESSES, Corpus, recipe_of, source_of
from transforms import storage
from transforms.readers.synthetic import document

OPTIONS = ("--quiet", "--piece_bytes=200000")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """A recipe and what it names: every kind of file, and a tokenizer."""
    folder = tmp_path_factory.mktemp("recipes")
    for name in ("web", "code", "math", "synthetic"):
        rows = jobs.read_rows(DEMO / f"{name}.jsonl.gz")
        half = len(rows) // 2
        jobs.write_rows(folder / "in" / f"{name}-0.jsonl", rows[:half])
        raw = jobs.write_rows(folder / "in" / f"{name}-1.jsonl", rows[half:])
        if name == "web":
            (folder / "in" / "web-1.jsonl.gz").write_bytes(gzip.compress(raw.read_bytes()))
        elif name == "code":
            (folder / "in" / "code-1.jsonl.zst").write_bytes(zstandard.compress(raw.read_bytes()))
        elif name == "math":
            table = pa.Table.from_pylist([{"text": row["text"]} for row in rows[half:]])
            pq.write_table(table, folder / "in" / "math-1.parquet")
        else:
            continue
        raw.unlink()
    shutil.copy(DEMO / "tokenizer.json", folder / "tokenizer.json")
    sources = [
        source_of("web", "in/web-*", 0.6, filter={}),
        source_of("code", "in/code-*", 0.2, domain="code", text_column="content", filter={}),
        source_of("math", "in/math-*", 0.1, domain="math", filter={}),
        source_of("synthetic", "in/synthetic-*", 0.1, domain="synthetic", filter={}),
    ]
    recipe = recipe_of(sources, tokenizer={"file": "tokenizer.json"}, train_tokens=200_000)
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    return folder


@pytest.fixture(scope="module")
def reference(inputs, tmp_path_factory) -> Corpus:
    """The corpus of local files."""
    output = tmp_path_factory.mktemp("local") / "corpus"
    assert main(["build", str(inputs / "recipe.yaml"), "--output", str(output), *OPTIONS]) == 0
    return Corpus(output)


def get(place: str, folder: Path) -> Path:
    """Downloads all below a place."""
    for path, _ in storage.expand(f"{place}/**"):
        local = folder / path.removeprefix(f"{place}/")
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(storage.read_bytes(path))
    return folder


@pytest.mark.parametrize("options", [(), PROCESSES], ids=["in-process", "processes"])
def test_a_corpus_has_the_bytes_of_a_local_one(
    bucket, inputs, reference, tmp_path, options, capsys
) -> None:
    put(inputs, f"{bucket}/recipes")
    # As `gcloud storage cp --gzip-local` leaves it: gzip by its properties, not by its name.
    name = f"{bucket}/recipes/in/web-0.jsonl"
    put(inputs / "in" / "web-0.jsonl", name, gzipped=True)
    assert storage.read_range(name, 0, 2) == b"\x1f\x8b"
    output = f"{bucket}/out/corpus"
    work = f"--work_dir={bucket}/work"
    recipe = f"{bucket}/recipes/recipe.yaml"
    assert main(["build", recipe, "--output", output, work, *OPTIONS, *options]) == 0
    corpus = Corpus(get(output, tmp_path / "copy"))
    assert corpus.hashes() == reference.hashes()
    assert corpus.manifest["ledger"] == reference.manifest["ledger"]
    assert storage.expand(f"{bucket}/work/**") == []
    if options:
        return
    assert main(["verify", output]) == 0
    capsys.readouterr()
    shown = []
    for folder in (output, str(reference.folder)):
        assert main(["show", folder, "--window", "3", "--split", "val"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    shards = WindowShards(f"{output}/train", verify=True, cache_dir=tmp_path / "cache")
    local = WindowShards(reference.folder / "train")
    assert len(shards) == len(local)
    assert all(np.array_equal(shards.row(k), local.row(k)) for k in range(len(local)))


def test_traces_have_the_bytes_of_local_ones(bucket, tmp_path, capsys) -> None:
    local = traces_jobs.build_rows(tmp_path, traces_jobs.trace_rows())
    jobs.write_rows(tmp_path / "rows.jsonl", traces_jobs.trace_rows())
    recipe = traces_jobs.write_recipe(tmp_path, traces_jobs.recipe_of("rows.jsonl"))
    put(tmp_path / "rows.jsonl", f"{bucket}/rows.jsonl")
    put(recipe, f"{bucket}/recipe.yaml")
    output = f"{bucket}/traces"
    assert main(["traces", f"{bucket}/recipe.yaml", "--output", output, "--quiet"]) == 0
    traces = traces_jobs.Traces(get(output, tmp_path / "copy"))
    assert traces.hashes() == local.hashes()
    assert main(["verify", output]) == 0
    assert main(["show", output, "--layout", "slotted"]) == 0
    shards = WindowShards(f"{output}/train/slotted", levels_up=2, cache_dir=tmp_path / "cache")
    same = WindowShards(local.folder / "train" / "slotted", levels_up=2)
    for column in ("tokens", "regions"):
        assert np.array_equal(shards.row(1, column), same.row(1, column))


def test_a_tokenizer_is_trained_from_gs_to_gs(bucket, inputs, tmp_path) -> None:
    put(inputs, f"{bucket}/recipes")
    size = ("--vocab-size", "400")
    for folder, output in ((str(inputs), str(tmp_path)), (f"{bucket}/recipes", bucket)):
        recipe, trained = f"{folder}/recipe.yaml", f"{output}/trained.json"
        assert main(["train-tokenizer", recipe, *size, "--output", trained]) == 0
    assert storage.read_bytes(f"{bucket}/trained.json") == (tmp_path / "trained.json").read_bytes()


def small(bucket: str, tmp_path: Path) -> tuple[list[str], Corpus]:
    """A build of a few pieces on gs://, and what comes of it locally."""
    rows = [{"id": str(k), "text": document("web", "web", k)} for k in range(200)]
    jobs.write_rows(tmp_path / "web.jsonl", rows)
    recipe = recipe_of([source_of("web", "web.jsonl")], tokens_per_shard=20_000)
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    for name in ("web.jsonl", "recipe.yaml"):
        put(tmp_path / name, f"{bucket}/{name}")
    local = ["build", str(tmp_path / "recipe.yaml"), "--output", str(tmp_path / "corpus")]
    assert main([*local, *OPTIONS]) == 0
    remote = ["build", f"{bucket}/recipe.yaml", "--output", f"{bucket}/corpus", "--quiet"]
    remote.append("--piece_bytes=40000")
    return remote, Corpus(tmp_path / "corpus")


def test_a_service_that_fails_now_and_then_changes_nothing(bucket, tmp_path, quick) -> None:
    argv, local = small(bucket, tmp_path)
    with refusing(every(7, 503, 429)) as seen:
        assert main(argv) == 0
        assert main(["verify", f"{bucket}/corpus"]) == 0
    assert Corpus(get(f"{bucket}/corpus", tmp_path / "copy")).hashes() == local.hashes()
    assert {status for _, _, status in seen} == {None, 503, 429}


@pytest.mark.parametrize(
    ("status", "words"),
    [(503, "cannot write it now (InvalidResponse: status 503): try again later"),
     (403, "no permission (status 403): ask for the role Storage Object User")],
)  # fmt: skip
def test_a_job_that_is_refused_fails_with_one_line_and_is_resumed(
    bucket, tmp_path, status, words, impatient, capsys
) -> None:
    argv, local = small(bucket, tmp_path)
    capsys.readouterr()
    uploads = 0

    def later(number: int, method: str, path: str) -> int | None:
        nonlocal uploads
        uploads += method == "PUT"
        return status if uploads > 12 and method == "PUT" else None

    with refusing(later):
        assert main(argv) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"corpusbeam: error: {bucket}/corpus/")
    assert words in err
    assert err.count("\n") == 1
    assert not storage.exists(f"{bucket}/corpus/_SUCCESS")
    assert main(["verify", f"{bucket}/corpus"]) == 2
    assert "has no _SUCCESS: nothing finished is here" in capsys.readouterr().err
    done = storage.expand(f"{bucket}/corpus/_work/scan/*.json")
    assert done
    with refusing(lambda *_: None) as seen:
        assert main([*argv, "--resume"]) == 0
    assert Corpus(get(f"{bucket}/corpus", tmp_path / "copy")).hashes() == local.hashes()
    uploaded = "".join(unquote(path) for method, path, _ in seen if method == "PUT")
    assert "corpus/_work/tokens/" in uploaded
    assert not [path for path, _ in done if path.removeprefix(f"{bucket}/") in uploaded]


@pytest.mark.parametrize("remote", ["recipe", "tokenizer"])
def test_beams_options_say_as_whom_files_are_read(
    bucket, inputs, tmp_path, remote, monkeypatch
) -> None:
    put(inputs, bucket)
    recipe = f"{bucket}/recipe.yaml"
    if remote == "tokenizer":
        source = {"name": "s", "domain": "web", "weight": 1.0, "synthetic": {"documents": 20}}
        asked = recipe_of([source], tokenizer={"file": f"{bucket}/tokenizer.json"})
        recipe = str(tmp_path / "recipe.yaml")
        Path(recipe).write_text(yaml.safe_dump(asked))
    given = []
    credentials = auth.get_service_credentials

    def recorded(options: PipelineOptions) -> object:
        given.append(options.view_as(GoogleCloudOptions).impersonate_service_account)
        return credentials(PipelineOptions([]))

    monkeypatch.setattr(auth, "get_service_credentials", recorded)
    # What a process has before it is told anything.
    FileSystems.set_options(PipelineOptions([]))
    argv = ["build", recipe, "--output", str(tmp_path / "out"), *OPTIONS]
    assert main([*argv, "--impersonate_service_account=builder@project"]) == 0
    FileSystems.set_options(PipelineOptions([]))
    # Beam keeps for a process the credentials that the first reading asked for.
    assert given[0] == "builder@project"


def test_mistakes_are_one_line(bucket, tmp_path, capsys) -> None:
    argv, _ = small(bucket, tmp_path)
    recipe, typo = argv[1], str(tmp_path / "typo.yaml")
    source = source_of("web", "gs://corpusbeam-typo/web.jsonl")
    (tmp_path / "typo.yaml").write_text(yaml.safe_dump(recipe_of([source])))
    for command, words in (
        (["build", recipe, "--output", "gs://corpusbeam-typo/x"], "there is no bucket"),
        (["build", recipe, "--output", "gss://bucket/x"], "neither a local path nor on Google"),
        (["build", "gs://corpusbeam-typo/recipe.yaml", "--output", "x"], "there is no bucket"),
        (["build", f"{bucket}/typo.yaml", "--output", "x"], "no recipe gs://"),
        (["build", typo, "--output", "x"], "there is no bucket gs://corpusbeam-typo"),
        (["build", "s3://bucket/recipe.yaml", "--output", "x"], "neither a local path"),
        (["verify", "gs://corpusbeam-typo/x"], "there is no bucket gs://corpusbeam-typo"),
        (["show", f"{bucket}/nothing"], "has no _SUCCESS: nothing finished is here"),
    ):
        capsys.readouterr()
        options = OPTIONS if command[0] == "build" else ()
        assert main([*command, *options]) == 2, command
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1, err
    assert not Path("x").exists()
