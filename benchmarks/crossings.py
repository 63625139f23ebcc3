"""Counts what crosses each shuffle and side input of the corpus job, in the coders' own bytes.

    python -m benchmarks.crossings 1x 4x 16x

Runs the job in this process with one worker and looks at what Beam's local runner groups and hands
out. A portable runner is given the same bytes.
"""

import argparse
import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from apache_beam.runners.portability.fn_api_runner import execution
from apache_beam.runners.portability.fn_api_runner.translations import split_buffer_id
from rich.console import Console
from rich.table import Table

from beam_pipeline import run
from beam_pipeline.corpus_job import CORPUS
from benchmarks.inputs import Bench, Input
from benchmarks.make_inputs import DATA, HERE, add_bench_arguments, make_input

MEASURED = HERE / "crossings.json"


@dataclass
class Crossing:
    """What crosses one shuffle.

    Attributes:
      elements, bytes: of all of it, as encoded.
      groups: how many keys.
      largest_group: bytes of the values of one key, the most there are.
    """

    elements: int = 0
    bytes: int = 0
    groups: int = 0
    largest_group: int = 0


@dataclass
class Crossings:
    """What crosses shuffles, and bytes of side inputs, by the name of the step."""

    shuffles: dict[str, Crossing] = field(default_factory=dict)
    side_inputs: dict[str, int] = field(default_factory=dict)


@contextlib.contextmanager
def counted() -> Iterator[Crossings]:
    """Counts what crosses in jobs that the local runner runs meanwhile, with one worker."""
    found = Crossings()
    names: dict[int, str] = {}
    get_buffer = execution.BundleContextManager.get_buffer
    append = execution.GroupingBuffer.append
    partition = execution.GroupingBuffer.partition
    commit = execution.FnApiRunnerExecutionContext.commit_side_inputs_to_state

    def named_buffer(self: Any, buffer_id: bytes, transform_id: str) -> Any:
        buffer = get_buffer(self, buffer_id, transform_id)
        kind, name = split_buffer_id(buffer_id)
        if kind == "group":
            transform = self.execution_context.pipeline_components.transforms[name]
            names[id(buffer)] = transform.unique_name
        return buffer

    def counted_append(self: Any, data: bytes) -> None:
        found.shuffles.setdefault(names[id(self)], Crossing()).bytes += len(data)
        append(self, data)

    def counted_partition(self: Any, parts: int) -> list[list[bytes]]:
        crossing = found.shuffles.get(names[id(self)])
        if crossing and not crossing.groups:
            coder = self._pre_grouped_coder.wrapped_value_coder.value_coder()
            crossing.groups = len(self._table)
            crossing.elements = sum(map(len, self._table.values()))
            crossing.largest_group = max(
                sum(coder.estimate_size(getattr(value, "value", value)) for value in values)
                for values in self._table.values()
            )
        return partition(self, parts)

    def counted_commit(self: Any, data_side_input: Any) -> None:
        for (consumer, tag), (buffer_id, _) in data_side_input.items():
            size = sum(map(len, self.pcoll_buffers.get(buffer_id, ())))
            found.side_inputs[f"{consumer} {tag}"] = size
        commit(self, data_side_input)

    with (
        mock.patch.object(execution.BundleContextManager, "get_buffer", named_buffer),
        mock.patch.object(execution.GroupingBuffer, "append", counted_append),
        mock.patch.object(execution.GroupingBuffer, "partition", counted_partition),
        mock.patch.object(
            execution.FnApiRunnerExecutionContext, "commit_side_inputs_to_state", counted_commit
        ),
    ):
        yield found


def crossings_of(given: Input, output: Path, options: Sequence[str] = ()) -> Crossings:
    """Builds an input's corpus, removes it, and tells what crossed meanwhile."""
    shutil.rmtree(output, ignore_errors=True)
    with counted() as found:
        run.build(
            CORPUS, str(given.recipe), str(output), ["--direct_num_workers=1", *options], quiet=True
        )
    shutil.rmtree(output)
    return found


def print_crossings(given: Input, found: Crossings, console: Console) -> None:
    """Prints what crosses, in all and a document."""
    table = Table(title=f"{given.name}: {given.documents:,} documents, {given.megabytes:,.0f} MB")
    table.add_column("shuffle")
    for heading in ("elements", "bytes", "bytes a document", "groups", "largest group"):
        table.add_column(heading, justify="right")
    for name, crossing in found.shuffles.items():
        table.add_row(
            name,
            f"{crossing.elements:,}",
            f"{crossing.bytes:,}",
            f"{crossing.bytes / given.documents:.2f}",
            f"{crossing.groups:,}",
            f"{crossing.largest_group:,}",
        )
    console.print(table)
    table = Table("side input", "bytes")
    for name, size in found.side_inputs.items():
        table.add_row(name, f"{size:,}")
    console.print(table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inputs", nargs="+", metavar="INPUT")
    parser.add_argument("--piece_bytes", help="as of corpusbeam build")
    parser.add_argument("--save", action="store_true", help=f"to {MEASURED.name}")
    add_bench_arguments(parser)
    arguments = parser.parse_args(argv)
    bench = Bench(arguments.bench, arguments.tokenizer)
    options = [f"--piece_bytes={arguments.piece_bytes}"] if arguments.piece_bytes else []
    console = Console(width=140)
    measured = []
    for name in arguments.inputs:
        given = make_input(name, bench)
        found = crossings_of(given, DATA / "out" / "crossings", options)
        print_crossings(given, found, console)
        size = {"input": name, "documents": given.documents, "text_bytes": given.text_bytes}
        measured.append(size | asdict(found))
    if arguments.save:
        MEASURED.write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
