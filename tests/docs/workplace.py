"""A folder as a reader of the docs has it, in which blocks are run once for all tests."""

import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from beam_pipeline.cli import main
from tests.jobs import DEMO

WIDTH = "80"

# What a reader of any page has done: the commands are those of the README and of recipes.md.
_DONE = (
    "corpusbeam build demo --output out/demo",
    "corpusbeam traces demo-traces --output out/demo-traces",
)


@dataclass(frozen=True)
class Ran:
    """A command that came to its end."""

    code: int
    out: str
    err: str


class Workplace:
    """Runs commands in one folder, each text once, whichever test or process asks first."""

    def __init__(self, shared: Path) -> None:
        self.folder = shared / "workplace"
        self._ran = shared / "ran"
        self._lock = FileLock(shared / "lock")
        with self._lock:
            if not self.folder.exists():
                self._furnish()
        for command in _DONE:
            assert self._kept(command, self._run_in_shell).code == 0

    def _furnish(self) -> None:
        self._ran.mkdir(parents=True)
        data = self.folder / "data"
        data.mkdir(parents=True)
        # Documents of the reader's own.
        for path in DEMO.glob("*.jsonl.gz"):
            shutil.copy(path, data)
        # The demo with another threshold.
        recipe = yaml.safe_load((DEMO.parent / "demo.yaml").read_text())
        strict = self.folder / "strict"
        shutil.copytree(DEMO, strict / "demo")
        recipe["dedup"] = {"threshold": 0.9}
        (strict / "demo.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))

    def run(self, command: str) -> Ran:
        """Runs a command; one of the project's in this process, which spares it the imports."""
        in_here = command.startswith("corpusbeam ")
        return self._kept(command, self._run_here if in_here else self._run_in_shell)

    def _kept(self, command: str, run: Callable[[str], Ran]) -> Ran:
        kept = self._ran / hashlib.sha256(command.encode()).hexdigest()
        with self._lock:
            if not kept.exists():
                kept.write_text(json.dumps(astuple(run(command))))
            return Ran(*json.loads(kept.read_text()))

    def _run_in_shell(self, command: str) -> Ran:
        """Runs what is installed beside the interpreter of the tests."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "COLUMNS": WIDTH},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def _run_here(self, command: str) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.chdir(self.folder)
            patch.setenv("COLUMNS", WIDTH)
            code = main(shlex.split(command)[1:])
        return Ran(code, out.getvalue(), err.getvalue())


def is_shown(shown: str, printed: str) -> bool:
    """Whether a block shows what was printed.

    White space at the end of a line does not count. A line of the block that is … stands for any
    lines, and … in a line for any text.
    """
    pattern = ""
    for line in shown.rstrip().splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
    plain = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, plain) is not None
