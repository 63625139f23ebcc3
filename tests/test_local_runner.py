"""The runner of one machine gives what Beam's does, and leaves Beam as it was."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import apache_beam as beam
import pytest
from apache_beam.internal import cloudpickle_pickler
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.worker import statesampler

from beam_pipeline.lean_beam import lean
from beam_pipeline.local_runner import LocalRunner


class _Count(beam.DoFn):
    def __init__(self) -> None:
        self.seen = Metrics.counter("test", "seen")

    def process(self, element: int, offset: int) -> Iterator[tuple[int, int]]:
        self.seen.inc()
        yield element % 7, element + offset


def _results(runner: beam.runners.PipelineRunner, workers: int) -> tuple[dict[int, int], int]:
    written: list[tuple[int, int]] = []
    _SINKS.append(written)
    pipeline = beam.Pipeline(runner, PipelineOptions([f"--direct_num_workers={workers}"]))
    numbers = pipeline | beam.Create(range(1000))
    offset = pipeline | "One" >> beam.Create([1])
    sums = numbers | beam.ParDo(_Count(), beam.pvalue.AsSingleton(offset)) | beam.CombinePerKey(sum)
    _ = sums | beam.Map(_keep)
    result = pipeline.run()
    result.wait_until_finish()
    [counter] = result.metrics().query()["counters"]
    return dict(_SINKS.pop()), counter.committed


_SINKS: list[list[tuple[int, int]]] = []


def _keep(pair: tuple[int, int]) -> None:
    _SINKS[-1].append(pair)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_gives_what_beams_runner_gives(workers: int) -> None:
    wanted = Counter()
    for number in range(1000):
        wanted[number % 7] += number + 1
    assert _results(LocalRunner(), workers) == (dict(wanted), 1000)


def test_replayed_bundles_add_nothing() -> None:
    written: list[tuple[int, int]] = []
    _SINKS.append(written)
    options = PipelineOptions(["--direct_num_workers=2", "--direct_runner_bundle_repeat=1"])
    with beam.Pipeline(LocalRunner(), options) as pipeline:
        _ = (
            pipeline
            | beam.Create(range(9))
            | beam.Map(lambda n: (n % 2, 1))
            | beam.CombinePerKey(sum)
            | beam.Map(_keep)
        )
    _SINKS.pop()
    # A replayed bundle writes again; what it gives to the next step is dropped.
    assert set(written) == {(0, 5), (1, 4)}


class _Meet(beam.DoFn):
    """Passes only when two elements are here at once."""

    barrier = threading.Barrier(2)

    def process(self, element: int) -> Iterator[int]:
        type(self).barrier.wait(timeout=30)
        yield element


def test_two_threads_work_on_one_stage() -> None:
    options = PipelineOptions(["--direct_num_workers=2"])
    with beam.Pipeline(LocalRunner(), options) as pipeline:
        _ = pipeline | beam.Create(range(8)) | beam.ParDo(_Meet())


class _Slowly(beam.DoFn):
    """Takes long enough for other threads to join in, and gives and takes in turn with them."""

    def process(self, element: int) -> Iterator[tuple[int, int]]:
        time.sleep(0.001)
        yield element % 3, 1


def test_bundles_of_several_threads_do_not_take_each_others_elements() -> None:
    written: list[tuple[int, int]] = []
    _SINKS.append(written)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        options = PipelineOptions(["--direct_num_workers=8"])
        with beam.Pipeline(LocalRunner(), options) as pipeline:
            counted = (
                pipeline
                | beam.Create(range(3000))
                | beam.ParDo(_Slowly())
                | beam.CombinePerKey(sum)
            )
            _ = counted | beam.Map(_keep)
    finally:
        sys.setswitchinterval(interval)
        _SINKS.pop()
    assert sorted(written) == [(0, 1000), (1, 1000), (2, 1000)]


class _FailLate(beam.DoFn):
    running: ClassVar[Counter[str]] = Counter()

    def process(self, element: int) -> Iterator[int]:
        running = type(self).running
        running["now"] += 1
        try:
            time.sleep(0.02)
            if element == 3:
                raise ValueError("element 3 is wrong")
        finally:
            running["now"] -= 1
        yield element


def test_an_error_ends_the_run_when_no_thread_is_at_work() -> None:
    options = PipelineOptions(["--direct_num_workers=3"])
    pipeline = beam.Pipeline(LocalRunner(), options)
    _ = pipeline | beam.Create(range(50)) | beam.ParDo(_FailLate())
    with pytest.raises(Exception, match="element 3 is wrong"):
        pipeline.run()
    assert _FailLate.running["now"] == 0


def test_beam_is_itself_again_afterwards() -> None:
    usual = (statesampler.StateSampler, cloudpickle_pickler.bz2)
    with lean():
        assert statesampler.StateSampler is not usual[0]
        assert cloudpickle_pickler.bz2 is not usual[1]
    assert (statesampler.StateSampler, cloudpickle_pickler.bz2) == usual
