"""Beam's runner for one machine, with work that is pulled instead of dealt out.

`FnApiRunner` splits the input of a stage once, into as many bundles as there are workers: one of
them waits while another has the longer half. Here threads take a few elements at a time until none
is left. Kernels release the GIL, so this keeps all cores busy.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from apache_beam.metrics import monitoring_infos
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_fn_api_pb2, beam_runner_api_pb2, metrics_pb2
from apache_beam.runners.portability.fn_api_runner import execution, fn_runner
from apache_beam.runners.portability.fn_api_runner.worker_handlers import WorkerHandler
from apache_beam.transforms.environments import EmbeddedPythonEnvironment

from transforms import counter_names

# Into how many parts the elements of a stage are cut at most.
MAX_PARTS = 256
# What a helper waits before it joins in; most stages are done by then.
_HELP_AFTER_SECONDS = 0.01
# How long a bundle should take: parts that are quicker are taken several at a time. With bundles of
# 0.03 seconds 1 GB of text takes 5% more CPU, with those of 1 second 3%.
_BUNDLE_SECONDS = 0.5


class Observer(Protocol):
    """Is told what a run does. A call may come from any thread, and the run waits for it."""

    def stage_started(self, transforms: Sequence[str]) -> None:
        """A fused stage of these transforms begins."""

    def stage_cut(self, size: int) -> None:
        """Its input has so many bytes, encoded, and is in parts, each of which will be reported."""

    def parts_done(self, size: int, counts: Mapping[str, int]) -> None:
        """Parts of so many bytes are done, in which `transforms.counters` counted this."""

    def stage_done(self) -> None:
        """All of it is done."""


class LocalRunner(fn_runner.FnApiRunner):
    """Runs a graph in this process, in `--direct_num_workers` threads.

    With another environment for workers (`--direct_running_mode`) it is `FnApiRunner`, and the
    parts of a stage are not reported.

    Attributes:
      observer: is told what the run does.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.observer: Observer | None = None
        self._in_memory = False
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Makes the run end by `KeyboardInterrupt` when the bundles that are under way are done."""
        self._stopped.set()

    def run_via_runner_api(
        self, pipeline_proto: beam_runner_api_pb2.Pipeline, options: PipelineOptions
    ) -> fn_runner.RunnerResult:
        """See `PipelineRunner.run_via_runner_api`."""
        self._in_memory = isinstance(self._default_environment, EmbeddedPythonEnvironment)
        return super().run_via_runner_api(pipeline_proto, options)

    def _execute_bundle(
        self,
        runner_execution_context: execution.FnApiRunnerExecutionContext,
        bundle_context_manager: execution.BundleContextManager,
        bundle_input: fn_runner.DataInput,
    ) -> beam_fn_api_pb2.InstructionResponse:
        if self._stopped.is_set():
            raise KeyboardInterrupt
        if self.observer is None:
            return super()._execute_bundle(
                runner_execution_context, bundle_context_manager, bundle_input
            )
        stage = bundle_context_manager.stage
        self.observer.stage_started([transform.unique_name for transform in stage.transforms])
        result = super()._execute_bundle(
            runner_execution_context, bundle_context_manager, bundle_input
        )
        if not self._in_memory:
            self.observer.parts_done(0, counted(result.process_bundle.monitoring_infos))
        self.observer.stage_done()
        return result

    def _get_bundle_manager(
        self, bundle_context_manager: execution.BundleContextManager
    ) -> fn_runner.BundleManager:
        given = super()._get_bundle_manager(bundle_context_manager)
        if not self._in_memory or bundle_context_manager.stage.is_stateful():
            return given
        pulled = PulledBundles(
            bundle_context_manager,
            self._progress_frequency,
            cache_token_generator=given._cache_token_generator,
        )
        pulled.observer, pulled.stopped = self.observer, self._stopped
        return pulled


def counted(infos: Iterable[metrics_pb2.MonitoringInfo]) -> Counter[str]:
    """What `transforms.counters` counted, by name."""
    found: Counter[str] = Counter()
    for info in infos:
        labels = info.labels
        if (
            info.urn == monitoring_infos.USER_COUNTER_URN
            and labels[monitoring_infos.NAMESPACE_LABEL] == counter_names.NAMESPACE
        ):
            value = monitoring_infos.extract_counter_value(info)
            found[labels[monitoring_infos.NAME_LABEL]] += value
    return found


class _OneWorker:
    """The context of a stage, with one of its workers.

    A worker must not have two bundles at once: the list through which its data go drops what one
    thread appends while another reads.
    """

    def __init__(self, context: execution.BundleContextManager, worker: WorkerHandler) -> None:
        self._context = context
        self.worker_handlers = [worker]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class PulledBundles(fn_runner.BundleManager):
    """Processes the input of a stage in bundles that workers take as they get done.

    Attributes:
      observer: as of `LocalRunner`.
      stopped: no further bundle is begun once it is set.
    """

    observer: Observer | None = None
    stopped = threading.Event()

    def process_bundle(
        self,
        inputs: Mapping[str, execution.PartitionableBuffer],
        expected_outputs: fn_runner.DataOutput,
        fired_timers: Mapping[Any, execution.PartitionableBuffer],
        expected_output_timers: fn_runner.OutputTimers,
        dry_run: bool = False,
    ) -> fn_runner.BundleProcessResult:
        """See `BundleManager.process_bundle`."""
        context = self.bundle_context_manager
        results: list[beam_fn_api_pb2.InstructionResponse] = []
        observer = None if dry_run else self.observer
        cut = _parts(inputs)
        if observer is not None:
            observer.stage_cut(_size(cut))

        def process(parts: list[_Part], worker: WorkerHandler) -> None:
            if self.stopped.is_set():
                raise KeyboardInterrupt
            part: dict[str, list[bytes]] = {name: [] for name in inputs}
            for name, encoded in parts:
                part[name] += encoded
            manager = fn_runner.BundleManager(
                _OneWorker(context, worker),  # type: ignore[arg-type]  # seems to be one
                self._progress_frequency,
                cache_token_generator=self._cache_token_generator,
            )
            # Beam calls for buffers, of which it does no more than iterate over them.
            result, _ = manager.process_bundle(
                part,  # type: ignore[arg-type]
                expected_outputs,
                fired_timers,
                expected_output_timers,
                dry_run,
            )
            results.append(result)
            if observer is not None:
                observer.parts_done(_size(parts), counted(result.process_bundle.monitoring_infos))

        _Crew(process, cut, context.worker_handlers).work()
        # One response for all bundles; what they count is summed.
        return (
            beam_fn_api_pb2.InstructionResponse(
                process_bundle=beam_fn_api_pb2.ProcessBundleResponse(
                    monitoring_infos=monitoring_infos.consolidate(
                        itertools.chain.from_iterable(
                            result.process_bundle.monitoring_infos for result in results
                        )
                    )
                )
            ),
            [],
        )


# The name of an input, and encoded elements of it.
_Part = tuple[str, list[bytes]]


def _parts(inputs: Mapping[str, execution.PartitionableBuffer]) -> list[_Part]:
    return [
        (name, part)
        for name, buffer in inputs.items()
        for part in buffer.partition(MAX_PARTS)
        if any(part)
    ]


def _size(parts: Iterable[_Part]) -> int:
    return sum(len(element) for _, encoded in parts for element in encoded)


class _Crew:
    """Workers that take parts from the front of one list, a few at a time, each in a thread."""

    def __init__(
        self,
        process: Callable[[list[_Part], WorkerHandler], None],
        parts: list[_Part],
        workers: Sequence[WorkerHandler],
    ) -> None:
        self._process = process
        self._parts = parts
        self._workers = workers
        self._taken = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._errors: list[BaseException] = []

    def work(self) -> None:
        """Processes all parts; at least once, with none.

        Raises:
          BaseException: what the first part that failed raised; the others have come to an end.
        """
        helpers = [
            threading.Thread(target=self._help, args=(worker,), daemon=True)
            for worker in self._workers[1 : len(self._parts)]
        ]
        for helper in helpers:
            helper.start()
        self._pull(self._workers[0], self._take(1))
        self._stop.set()
        for helper in helpers:
            helper.join()
        if self._errors:
            raise self._errors[0]

    def _help(self, worker: WorkerHandler) -> None:
        if not self._stop.wait(_HELP_AFTER_SECONDS) and (parts := self._take(1)):
            self._pull(worker, parts)

    def _pull(self, worker: WorkerHandler, parts: list[_Part]) -> None:
        try:
            while True:
                started = time.monotonic()
                self._process(parts, worker)
                each = (time.monotonic() - started) / max(1, len(parts))
                parts = self._take(min(4 * len(parts), int(_BUNDLE_SECONDS / max(each, 1e-9))))
                if not parts or self._errors:
                    return
        except BaseException as error:
            self._errors.append(error)

    def _take(self, wanted: int) -> list[_Part]:
        """The next parts; towards the end fewer than are wanted, to leave some for the others."""
        with self._lock:
            left = len(self._parts) - self._taken
            fair = -(-left // len(self._workers))
            taken = self._parts[self._taken :][: max(1, min(wanted, fair))]
            self._taken += len(taken)
            return taken
