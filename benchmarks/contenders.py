"""Who takes part: how each is started on an input, and what it says it kept."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.inputs import Input


@dataclass(frozen=True)
class Outcome:
    """What a run left: documents, and their tokens with end markers."""

    documents: int
    tokens: int


class Contender(Protocol):
    """A program that builds a corpus."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def command(self, given: Input, output: Path, cores: int) -> list[str]:
        """The command that builds the input's corpus in an empty folder."""
        ...

    def outcome(self, output: Path, log: Path) -> Outcome:
        """What the command left in the folder and in its log."""
        ...


class Corpusbeam:
    """This project, as its users start it."""

    name = "corpusbeam"

    def command(self, given: Input, output: Path, cores: int) -> list[str]:
        """See `Contender`."""
        program = str(Path(sys.executable).with_name("corpusbeam"))
        workers = f"--direct_num_workers={cores}"
        return [program, "build", str(given.recipe), "--output", str(output), workers]

    def outcome(self, output: Path, log: Path) -> Outcome:
        """See `Contender`."""
        manifest = json.loads((output / "manifest.json").read_text())
        return Outcome(manifest["n_documents"], manifest["n_document_tokens"])


@dataclass(frozen=True)
class Sequential:
    """The plain program in `benchmarks.sequential`.

    Attributes:
      one_thread: `tokenizers` encodes in one thread, as all the rest of the program runs.
    """

    one_thread: bool = False

    @property
    def name(self) -> str:
        """See `Contender`."""
        return "sequential, 1 thread" if self.one_thread else "sequential"

    def command(self, given: Input, output: Path, cores: int) -> list[str]:
        """See `Contender`."""
        threads = ["env", "TOKENIZERS_PARALLELISM=false"] if self.one_thread else []
        program = [sys.executable, "-m", "benchmarks.sequential"]
        return [*threads, *program, str(given.recipe), str(output)]

    def outcome(self, output: Path, log: Path) -> Outcome:
        """See `Contender`."""
        return _last_line(log)


@dataclass(frozen=True)
class Datatrove:
    """The pipelines in `benchmarks.datatrove_peer`, run by the Python of another environment."""

    python: Path
    name: str = "datatrove"

    def command(self, given: Input, output: Path, cores: int) -> list[str]:
        """See `Contender`."""
        module = ["-m", "benchmarks.datatrove_peer", str(given.recipe), str(output)]
        return [str(self.python), *module, "--workers", str(cores)]

    def outcome(self, output: Path, log: Path) -> Outcome:
        """See `Contender`."""
        return _last_line(log)


def _last_line(log: Path) -> Outcome:
    found = json.loads(log.read_text(errors="replace").splitlines()[-1])
    return Outcome(found["documents"], found["tokens"])
