"""What is measured: runs of a program, and floors of its steps."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One measured run.

    Attributes:
      wall, cpu: seconds.
      rss: bytes, peak of the process tree.
      documents, tokens: what was kept.
      load: one-minute load average of the machine before the run.
    """

    contender: str
    input: str
    wall: float
    cpu: float
    rss: int
    documents: int
    tokens: int
    load: float


@dataclass(frozen=True)
class Floor:
    """A step's cost.

    Attributes:
      times: how often the job takes the step for a document.
      seconds: CPU of taking it once for all documents.
      megabytes: text that it sees: all, or what passes the filter.
    """

    step: str
    times: int
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Floors:
    """The floors of an input of so many megabytes of text."""

    megabytes: float
    steps: list[Floor]

    @property
    def seconds_per_megabyte(self) -> float:
        """CPU for a megabyte of the input, all steps together."""
        return sum(floor.times * floor.seconds for floor in self.steps) / self.megabytes
