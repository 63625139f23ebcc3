"""Runs jobs: options, launch, graph, and what the terminal shows of them."""

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    SetupOptions,
    StandardOptions,
    TestOptions,
)
from apache_beam.runners.runner import PipelineRunner, create_runner
from apache_beam.transforms.environments import SubprocessSDKEnvironment
from rich.console import Console

from beam_pipeline import dataflow, failures, interrupts
from beam_pipeline.job_arguments import JobArguments
from beam_pipeline.lean_beam import lean
from beam_pipeline.local_runner import LocalRunner
from beam_pipeline.manifest import versions
from beam_pipeline.options import CorpusOptions
from beam_pipeline.progress import remote, steps
from beam_pipeline.progress.watch import Watch, watched
from transforms.errors import CorpusError

# `DirectRunner` would try to download another runner first, and use it if it can.
LOCAL_RUNNER = "beam_pipeline.local_runner.LocalRunner"


_View = TypeVar("_View", bound=PipelineOptions)


class Launched(Protocol):
    """A job that is ready to be built into a graph."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines to tell the user at launch."""


_Launched = TypeVar("_Launched", bound=Launched)


@dataclass(frozen=True)
class Job(Generic[_Launched]):
    """What tells one job from another.

    Attributes:
      launch: settles and checks everything.
      build: adds what was launched to a pipeline.
      print_summary: tells of a finished output folder.
      steps: what people are shown of its progress.
    """

    launch: Callable[[JobArguments], _Launched]
    build: Callable[[beam.Pipeline, _Launched], beam.PCollection[str]]
    print_summary: Callable[[str, Console], None]
    steps: Sequence[steps.Step]


def build(
    job: Job[_Launched],
    recipe: str,
    output: str,
    beam_options: Sequence[str],
    *,
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Runs a job and prints what became of every row.

    Args:
      recipe: a recipe's file or the name of a shipped one.
      output: folder for what is built.
      beam_options: of Apache Beam and of `CorpusOptions`.
      quiet: say nothing but errors.
      verbose: also say versions, each fused stage, and Beam's warnings.

    Raises:
      CorpusError: a mistake in what was asked for, or in the input.
      KeyboardInterrupt: the run was stopped; `--resume` goes on with it.
    """
    console = Console(stderr=True, quiet=quiet)
    options = use_options(recipe, output, beam_options)
    if verbose:
        console.print(", ".join(" ".join(item) for item in versions().items()), highlight=False)
    # What runs elsewhere cannot be seen from here.
    seen = not quiet and options.view_as(StandardOptions).runner == LOCAL_RUNNER
    watching = watched(job.steps, console, verbose=verbose) if seen else contextlib.nullcontext()
    with watching as watch:
        launched = launch_from(options, job)
        for remark in launched.remarks:
            console.print(remark, highlight=False, soft_wrap=True)
        interrupts.advise_resume()
        finished = run(
            launched,
            options,
            job,
            tell=lambda line: console.print(line, soft_wrap=True),
            watch=watch,
            warnings=verbose,
        )
    if finished:
        interrupts.advise(f"{output} is finished")
        if not quiet:
            job.print_summary(output, Console())
    return 0


def use_options(recipe: str, output: str, beam_options: Sequence[str]) -> PipelineOptions:
    """Parses the options of a job, and reads and writes files as they say from here on.

    A pipeline does so too, but files are read before there is one, and Beam keeps for a process the
    credentials that the first of them asked for.

    Raises:
      CorpusError: see `parse_options`.
    """
    options = parse_options([*beam_options, f"--recipe={recipe}", f"--output={output}"])
    FileSystems.set_options(options)
    return options


def parse_options(argv: Sequence[str]) -> PipelineOptions:
    """Parses Beam's options and ours; without a runner, the one on this machine is taken.

    Raises:
      CorpusError: an option that neither has.
    """
    known = _Options(list(argv))
    if unknown := unknown_options(known):
        raise CorpusError(
            f"unknown option --{unknown[0]}: neither corpusbeam (see corpusbeam build --help) nor "
            "Apache Beam has it"
        )
    piece_bytes = known.view_as(CorpusOptions).piece_bytes
    if piece_bytes is not None and piece_bytes < 1:
        raise CorpusError("--piece_bytes must be at least 1")
    standard = known.view_as(StandardOptions)
    if standard.runner is None:
        standard.runner = LOCAL_RUNNER
        direct = known.view_as(DirectOptions)
        if direct.direct_num_workers == 1 and not _names(argv, "direct_num_workers"):
            direct.direct_num_workers = os.cpu_count() or 1
    try:
        create_runner(standard.runner)
    except (ValueError, ImportError) as error:
        raise CorpusError(f"--runner={standard.runner}: there is no such runner here") from error
    if dataflow.is_chosen(known):
        dataflow.check_options(known)
    # All code is in packages; a pickled main module would only be a burden.
    known.view_as(SetupOptions).save_main_session = False
    return known


def launch_from(options: PipelineOptions, job: Job[_Launched]) -> _Launched:
    """Launches with parsed options; see the `launch` of each job."""
    ours = options.view_as(CorpusOptions)
    return job.launch(
        JobArguments(
            ours.recipe,
            ours.output,
            work_dir=ours.work_dir,
            offline=ours.offline,
            resume=ours.resume,
            piece_bytes=ours.piece_bytes,
            backend=ours.tokenizer_backend,
            elsewhere=dataflow.is_chosen(options),
        )
    )


def run(
    launched: _Launched,
    options: PipelineOptions,
    job: Job[_Launched],
    *,
    tell: Callable[[str], None] = lambda _: None,
    watch: Watch | None = None,
    warnings: bool = True,
) -> bool:
    """Runs the graph of what a job launched.

    Args:
      tell: takes lines about a job that runs elsewhere: what it is, then what it has counted.
      watch: is told what a job does that runs here.
      warnings: let Beam's be seen.

    Returns:
      whether the corpus is finished now; a template launcher does not wait for its job.

    Raises:
      CorpusError: a worker met a mistake that the user can mend, or died; or Dataflow gave up.
      KeyboardInterrupt: the run was stopped.
    """
    here = _in_process(options)
    with failures.held(warnings=warnings) as held, lean() if here else contextlib.nullcontext():
        try:
            runner = _runner(options, held.worker_stderr)
            pipeline = beam.Pipeline(runner=runner, options=options)
            job.build(pipeline, launched)
            with _following(pipeline.runner, watch, stoppable=here):
                result = pipeline.run()
            if options.view_as(TestOptions).dry_run:
                return False
            if dataflow.is_chosen(options):
                line = dataflow.submitted(result, options)
                tell(line)
                interrupts.advise(f"the job goes on; {line}")
                with remote.reporting(result, job.steps, tell):
                    result.wait_until_finish()
            else:
                result.wait_until_finish()
        except Exception as error:
            mistake = failures.user_mistake(error) or held.death()
            if mistake is None and dataflow.is_chosen(options):
                mistake = dataflow.explain(error, options)
            if mistake is None:
                held.replay()
                raise
            raise CorpusError(mistake) from error
        held.replay()
    return bool(getattr(result, "has_job", True))


@contextlib.contextmanager
def _following(runner: PipelineRunner, watch: Watch | None, *, stoppable: bool) -> Iterator[None]:
    """The runner tells `watch` what it does, and an interrupt makes it stop."""
    if not isinstance(runner, LocalRunner):
        yield
        return
    runner.observer = watch

    def stop() -> None:
        runner.stop()
        if watch is not None:
            watch.stopping()

    with interrupts.stopping(stop) if stoppable else contextlib.nullcontext():
        yield


class _Options(PipelineOptions):
    """Options that make each view of themselves once.

    Views share their values. Beam asks for one at every transform, and makes a parser each time:
    more than half of what it takes to build a graph.
    """

    def __init__(self, flags: list[str]) -> None:
        super().__init__(flags)
        # Other attributes would be taken for options.
        object.__setattr__(self, "_views", {})

    def view_as(self, cls: type[_View]) -> _View:
        if cls not in self._views:
            self._views[cls] = super().view_as(cls)
        return self._views[cls]


def _in_process(options: PipelineOptions) -> bool:
    return (
        options.view_as(StandardOptions).runner == LOCAL_RUNNER
        and options.view_as(DirectOptions).direct_running_mode == "in_memory"
    )


def _runner(options: PipelineOptions, worker_stderr: Path) -> PipelineRunner | None:
    """A runner whose worker processes print to a file; None: the one that the options name."""
    direct = options.view_as(DirectOptions)
    local = options.view_as(StandardOptions).runner == LOCAL_RUNNER
    if not local or direct.direct_running_mode != "multi_processing":
        return None
    # Else the runner would start workers with a command of its own.
    direct.direct_running_mode = "in_memory"
    python, file = shlex.quote(sys.executable), shlex.quote(str(worker_stderr))
    command = f"{python} -m apache_beam.runners.worker.sdk_worker_main 2>>{file}"
    return LocalRunner(SubprocessSDKEnvironment.from_command_string(command))


def _names(argv: Sequence[str], option: str) -> bool:
    return any(re.match(rf"--{option}(=|$)", argument) for argument in argv)


def unknown_options(options: PipelineOptions) -> list[str]:
    """Names of the options that neither Beam nor corpusbeam has.

    Raises:
      CorpusError: an option has a value that it cannot take.
    """
    # argparse prints the hundred options of Beam before it says what is wrong.
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        try:
            given = options.get_all_options(retain_unknown_options=True)
        except SystemExit as error:
            reason = printed.getvalue().strip().rpartition("error: ")[2]
            raise CorpusError(f"{reason}: see corpusbeam build --help") from error
    return sorted(given.keys() - PipelineOptions([]).get_all_options().keys())
