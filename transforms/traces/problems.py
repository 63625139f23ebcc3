"""A few held-out problems with their answers, to try a model on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import orjson

from transforms import records as packing
from transforms import storage
from transforms.shards import by_piece
from transforms.take_first import first_of
from transforms.traces.example import Example
from transforms.traces.records import UNIQUE, examples_of
from transforms.work import WorkFolder

COUNT = 500
FILE = "validation-problems.jsonl"


def _first(packed: Iterable[bytes]) -> bytes:
    return first_of(packed, UNIQUE, COUNT)


def problem_lines(found: np.ndarray, work: WorkFolder) -> Iterator[bytes]:
    """{problem, expected_answer} of each example, as a line.

    Args:
      found: `UNIQUE`; its order is that of the lines.
    """
    lines: dict[int, bytes] = {}
    for _, which in by_piece(packing.ref_pieces(found["ref"])):
        for place, raw in zip(which.tolist(), examples_of(found[which], work), strict=True):
            example = Example.from_json(raw)
            shown = {"problem": example.problem, "expected_answer": example.answer}
            lines[place] = orjson.dumps(shown) + b"\n"
    return (lines[place] for place in range(len(found)))


@dataclass
class _Write(beam.DoFn):
    output: str
    work: WorkFolder

    def process(self, first: tuple[int, bytes]) -> Iterator[str]:
        path = storage.join(self.output, FILE)
        storage.write_whole(path, problem_lines(np.frombuffer(first[1], UNIQUE), self.work))
        yield path


@dataclass
class WriteProblems(beam.PTransform):
    """Writes the first `COUNT` held-out problems in pick order.

    In: packed `UNIQUE`. Out: the path of the file.
    """

    output: str
    work: WorkFolder

    def expand(self, held_out: beam.PCollection[bytes]) -> beam.PCollection[str]:
        """Wires the choice and the writing."""
        return (
            held_out
            | "OneKey" >> beam.Map(lambda packed: (0, packed)).with_output_types(tuple[int, bytes])
            | "FirstInPickOrder" >> beam.CombinePerKey(_first)
            | "WriteProblems" >> beam.ParDo(_Write(self.output, self.work))
        )
