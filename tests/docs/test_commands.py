"""Every command and every piece of Python in the docs runs, and prints what is shown."""

import difflib
import re
import shlex
from pathlib import Path

import pytest
import yaml

from beam_pipeline import recipe_file as recipes
from beam_pipeline.recipe import Recipe
from beam_pipeline.traces_recipe import TracesRecipe
from tests.docs.markdown import PAGES, Block, blocks
from tests.docs.workplace import Workplace, is_shown
from tests.jobs import DEMO

BLOCKS = [block for page in PAGES for block in blocks(page)]
LANGUAGES = {"sh", "console", "python", "yaml", "json", "text"}
PROGRAMS = re.compile(r"^\$? ?(corpusbeam|python3?|pip|make|git|gcloud|docker|ruff) ", re.M)


def running(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages and block.reason is None]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_is_of_a_kind_that_is_checked_or_says_why_not(block):
    assert block.language in LANGUAGES, f"{block}: which language is it?"
    assert block.reason != "", f"{block}: not run, but why?"
    if block.language in ("text", "json"):
        assert not PROGRAMS.search(block.text), f"{block}: commands go into sh or console"


@pytest.mark.parametrize("block", running("sh"), ids=str)
def test_commands_run(workplace, block):
    _write_files(workplace, block.page)
    # Line by line, so that a command that several pages have is run once.
    for command in block.text.replace("\\\n", " ").splitlines():
        if words := shlex.split(command, comments=True):
            ran = workplace.run(shlex.join(words))
            assert ran.code == 0, f"{block}: {command}\n{ran.out}{ran.err}"


@pytest.mark.parametrize("block", running("console"), ids=str)
def test_commands_print_what_is_shown(workplace, block):
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, shown = part.split("\n", 1)
        if "out/strict" in command:
            workplace.run("corpusbeam build strict/demo.yaml --output out/strict --quiet")
        ran = workplace.run(command)
        assert ran.code == (1 if command.startswith("corpusbeam diff") else 0), ran.err
        if not is_shown(shown, ran.out):
            lines = difflib.unified_diff(
                [line.rstrip() for line in shown.splitlines()],
                [line.rstrip() for line in ran.out.splitlines()],
                str(block),
                command,
                lineterm="",
            )
            pytest.fail("\n".join(lines))


@pytest.mark.parametrize("page", sorted({block.page for block in running("python")}))
def test_python_runs(workplace, page, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(workplace.folder)
    variables = {"__name__": "__main__"}
    for block in running("python"):
        if block.page == page:
            # So that a traceback names the line of the page.
            program = "\n" * block.line + block.text
            exec(compile(program, page, "exec"), variables)


@pytest.mark.parametrize("block", running("yaml"), ids=str)
def test_recipes_are_recipes(block):
    text = block.text
    given = yaml.safe_load(text)
    if shipped := re.fullmatch(r"the shipped recipe (\S+)", block.note):
        kind = TracesRecipe if "source" in given else Recipe
        path = str(DEMO.parent / f"{shipped[1]}.yaml")
        assert recipes.parse(text.encode(), path, kind) == recipes.load(path, kind)
        return
    name, kind = ("demo-traces", TracesRecipe) if block.note == "of traces" else ("demo", Recipe)
    whole = {**yaml.safe_load((DEMO.parent / f"{name}.yaml").read_text()), **given}
    recipes.parse(yaml.safe_dump(whole).encode(), str(block), kind)


def test_what_is_not_run_is_commands():
    """A note that is not before a block, or before one that is not run anyway, is a mistake."""
    for page in PAGES:
        text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
        outside_of_fences = re.sub(r"^```.*?^```$", "```\n", text, flags=re.M | re.S)
        noted = [block for block in BLOCKS if block.page == page and block.reason is not None]
        assert len(re.findall(r"^<!-- not run:", outside_of_fences, re.M)) == len(noted), page
        assert all(block.language in ("sh", "console", "python") for block in noted)


def _write_files(workplace: Workplace, page: str) -> None:
    for block in blocks(page):
        if block.note.startswith("file: "):
            (workplace.folder / block.note[len("file: ") :]).write_text(block.text)


@pytest.mark.parametrize(
    ("shown", "right"),
    [
        ("a 1\nb 2\nc 3", True),
        ("a 1\n…\nc 3", True),
        ("…\nc 3", True),
        ("a …\nb 2\nc 3", True),
        ("a 1\nb 2", False),
        ("a 1\n…\nc 4", False),
        ("a 1\nb … 2\nc 3", False),
    ],
)
def test_what_counts_as_shown(shown, right):
    assert is_shown(shown, "a 1  \nb 2\nc 3\n\n") is right
