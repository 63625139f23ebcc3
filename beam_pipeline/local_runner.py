"""Beam's runner for one machine, with work that is pulled instead of dealt out.

`FnApiRunner` splits the input of a stage once, into as many bundles as there are workers: one of
them waits while another has the longer half. Here threads take a few elements at a time until none
is left. Kernels release the GIL, so this keeps all cores busy.
"""

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apache_beam.metrics import monitoring_infos
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.portability.api import beam_fn_api_pb2, beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner import execution, fn_runner
from apache_beam.runners.portability.fn_api_runner.worker_handlers import WorkerHandler

# Into how many parts the elements of a stage are cut at most.
MAX_PARTS = 256
# What a helper waits before it joins in; most stages are done by then.
_HELP_AFTER_SECONDS = 0.01
# Parts that are quicker than this are taken several at a time.
_BUNDLE_SECONDS = 0.03


class LocalRunner(fn_runner.FnApiRunner):
    """Runs a graph in this process, in `--direct_num_workers` threads.

    With another `--direct_running_mode` it is `FnApiRunner` as it comes.
    """

    _in_memory = False

    def run_via_runner_api(
        self, pipeline_proto: beam_runner_api_pb2.Pipeline, options: PipelineOptions
    ) -> fn_runner.RunnerResult:
        """See `PipelineRunner.run_via_runner_api`."""
        self._in_memory = options.view_as(DirectOptions).direct_running_mode == "in_memory"
        return super().run_via_runner_api(pipeline_proto, options)

    def _get_bundle_manager(
        self, bundle_context_manager: execution.BundleContextManager
    ) -> fn_runner.BundleManager:
        given = super()._get_bundle_manager(bundle_context_manager)
        if self._in_memory and isinstance(given, fn_runner.ParallelBundleManager):
            return PulledBundles(
                bundle_context_manager,
                self._progress_frequency,
                cache_token_generator=given._cache_token_generator,
            )
        return given


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
    """Processes the input of a stage in bundles that workers take as they get done."""

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

        def process(parts: list[_Part], worker: WorkerHandler) -> None:
            part: dict[str, list[bytes]] = {name: [] for name in inputs}
            for name, encoded in parts:
                part[name] += encoded
            manager = fn_runner.BundleManager(
                _OneWorker(context, worker),
                self._progress_frequency,
                cache_token_generator=self._cache_token_generator,
            )
            result, _ = manager.process_bundle(
                part, expected_outputs, fired_timers, expected_output_timers, dry_run
            )
            results.append(result)

        _Crew(process, _parts(inputs), context.worker_handlers).work()
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
