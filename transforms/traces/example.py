"""One reasoning trace, as every layout takes it."""

from dataclasses import dataclass

import orjson


@dataclass(frozen=True)
class Example:
    """A problem, how it is thought through, and the answer; all squeezed, none empty.

    Attributes:
      notes: oddities of the row that it was kept with, `transforms.traces.parsers.NOTES`.
    """

    problem: str
    thoughts: tuple[str, ...]
    answer: str
    notes: tuple[str, ...] = ()

    def texts(self) -> tuple[str, ...]:
        """What is encoded: the problem, each thought, the answer."""
        return (self.problem, *self.thoughts, self.answer)

    def to_json(self) -> bytes:
        """The example without its notes: equal bytes for equal examples, and for no others."""
        return orjson.dumps(self.texts())

    @classmethod
    def from_json(cls, raw: bytes) -> "Example":
        """What `to_json` wrote."""
        problem, *thoughts, answer = orjson.loads(raw)
        return cls(problem, tuple(thoughts), answer)


@dataclass(frozen=True)
class Malformed:
    """A row that gives no example; the reason is one of `transforms.traces.parsers.REASONS`."""

    reason: str
