"""Jobs that run on this machine and on Dataflow: recipes, flags, and what came out of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from beam_pipeline.corpus_job import CORPUS
from beam_pipeline.run import Job
from beam_pipeline.traces_job import TRACES
from tests import jobs, traces_jobs
from tests.jobs import DEMO
from transforms import storage

IMAGE = "example.com/corpusbeam/corpusbeam:1.0"
FLAGS = (
    "--runner=DataflowRunner",
    "--project=my-project",
    "--region=europe-west4",
    f"--sdk_container_image={IMAGE}",
    "--no_auth",
)
TOKENIZER = DEMO / "tokenizer.json"
CONTENTS = (".bin", ".parquet", ".jsonl")


@dataclass(frozen=True)
class Case:
    """A job and how to make its recipe.

    Attributes:
      name: "corpus" or "traces".
      command: of the command line.
      recipe: its content, from where its inputs and its tokenizer are, local or on gs://.
    """

    name: str
    command: str
    job: Job
    recipe: Callable[[str, str], dict[str, Any]]

    def write_inputs(self, folder: Path) -> None:
        """Writes the inputs of the recipe, and the tokenizer beside them."""
        if self is TRACES_CASE:
            jobs.write_rows(folder / "rows.jsonl", traces_jobs.trace_rows())
            return
        folder.mkdir(parents=True)
        (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
        for domain, count in (("web", 150), ("code", 100), ("math", 100)):
            rows = jobs.read_rows(DEMO / f"{domain}.jsonl.gz")
            jobs.write_rows(folder / f"{domain}.jsonl.gz", rows[:count])

    def yaml(self, inputs: str, tokenizer: str = str(TOKENIZER)) -> str:
        """The recipe's text."""
        return yaml.safe_dump(self.recipe(inputs, tokenizer))


def _corpus_recipe(inputs: str, tokenizer: str) -> dict[str, Any]:
    code = {"domain": "code", "text_column": "content", "id_column": "id", "filter": {}}
    return jobs.recipe_of(
        [
            jobs.source_of("web", f"{inputs}/web.jsonl.gz", 0.5, id_column="id", filter={}),
            jobs.source_of("python", f"{inputs}/code.jsonl.gz", 0.25, **code),
            jobs.source_of("math", f"{inputs}/math.jsonl.gz", 0.25, domain="math", filter={}),
        ],
        train_tokens=150_000,
        tokenizer={"file": tokenizer, "bos": "<s>", "eos": "</s>", "pad": "<pad>"},
    )


def _traces_recipe(inputs: str, _: str) -> dict[str, Any]:
    return traces_jobs.recipe_of(f"{inputs}/rows.jsonl")


CORPUS_CASE = Case("corpus", "build", CORPUS, _corpus_recipe)
TRACES_CASE = Case("traces", "traces", TRACES, _traces_recipe)
CASES = (CORPUS_CASE, TRACES_CASE)


def upload(folder: Path, to: str) -> None:
    """Copies the files of a folder to one on gs://."""
    for path in folder.iterdir():
        storage.write_whole(storage.join(to, path.name), path.read_bytes())


def contents(output: str) -> dict[str, bytes]:
    """What a job made of its input, by path below its output, local or on gs://."""
    pattern = storage.join(output, "**")
    return {
        path.removeprefix(output).lstrip("/"): storage.read_bytes(path)
        for path, _ in storage.expand(pattern)
        if path.endswith(CONTENTS) and "/rejects/" not in path
    }


def finished(output: str) -> bool:
    """Whether the job wrote its manifest and `_SUCCESS`, and cleared its work."""
    left = [path.removeprefix(output) for path, _ in storage.expand(storage.join(output, "**"))]
    assert not [path for path in left if "_work" in path]
    return "/_SUCCESS" in left and "/manifest.json" in left
