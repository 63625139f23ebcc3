"""What a job that runs elsewhere has counted so far, as lines."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from apache_beam.metrics.metric import MetricsFilter
from apache_beam.runners.runner import PipelineResult

from beam_pipeline.progress.steps import Step, place_of
from transforms import counter_names

EVERY_SECONDS = 60.0


def counts(result: PipelineResult, steps: Sequence[Step]) -> list[str]:
    """A line for each step that has counted something, in order.

    Raises:
      Exception: whatever asking the service raises.
    """
    found: list[Counter[str]] = [Counter() for _ in steps]
    asked = MetricsFilter().with_namespace(counter_names.NAMESPACE)
    for counter in result.metrics().query(asked)["counters"]:
        place = place_of([counter.key.step], steps)
        if place is not None:
            # What is committed is missing while a job runs.
            value = counter.committed if counter.committed is not None else counter.attempted
            found[place[0]][counter.key.metric.name] += value or 0
    return [
        f"{step.title}: {', '.join(_amounts(counted))}"
        for step, counted in zip(steps, found, strict=True)
        if counted[counter_names.DOCUMENTS] or counted[counter_names.RESUMED]
    ]


def _amounts(counted: Counter[str]) -> Iterator[str]:
    yield f"{counted[counter_names.DOCUMENTS] + counted[counter_names.RESUMED]:,} documents"
    if counted[counter_names.TEXT_BYTES]:
        yield f"{counted[counter_names.TEXT_BYTES] / 1e6:,.1f} MB of text"
    if counted[counter_names.TOKENS]:
        yield f"{counted[counter_names.TOKENS]:,} tokens"


@contextlib.contextmanager
def reporting(
    result: PipelineResult,
    steps: Sequence[Step],
    say: Callable[[str], None],
    every: float = EVERY_SECONDS,
) -> Iterator[None]:
    """Says now and then, while the block lasts, what has changed, and once more if it ends well."""
    said: set[str] = set()
    over = threading.Event()

    def report() -> None:
        # The job does not depend on whether its service answers questions.
        with contextlib.suppress(Exception):
            for line in counts(result, steps):
                if line not in said:
                    said.add(line)
                    say(line)

    def look() -> None:
        while not over.wait(every):
            report()

    looking = threading.Thread(target=look, name="progress", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
    looking.join()
    report()
