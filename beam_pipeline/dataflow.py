"""What Google Cloud Dataflow needs to be told, and what it tells; see docs/dataflow.md.

Beam's Dataflow modules are imported only where the job goes there: they take half a second.
"""

from collections.abc import Iterator

from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    SetupOptions,
    StandardOptions,
    WorkerOptions,
)
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.runner import PipelineResult, create_runner

from beam_pipeline.options import CorpusOptions
from transforms import storage
from transforms.errors import CorpusError

RUNNER = "DataflowRunner"


def is_chosen(options: PipelineOptions) -> bool:
    """Whether the job runs on Dataflow, on workers that see no file of this machine."""
    runner = options.view_as(StandardOptions).runner or ""
    return runner.rpartition(".")[2].lower() == RUNNER.lower()


def check_options(options: PipelineOptions) -> None:
    """Refuses at once what would fail after minutes.

    Raises:
      CorpusError: an option is missing or cannot be right, a folder is on this machine, or the
        workers would not have this package.
    """
    cloud = options.view_as(GoogleCloudOptions)
    temp = cloud.temp_location or cloud.staging_location
    needed = {"project": cloud.project, "region": cloud.region, "temp_location": temp}
    missing = [f"--{name}" for name, value in needed.items() if not value]
    if missing:
        raise CorpusError(f"--runner={RUNNER} needs {' and '.join(missing)}: see docs/dataflow.md")
    for name, path in _folders(options):
        if not storage.is_remote(path):
            raise CorpusError(
                f"--{name}={path} is on this machine, where Dataflow's workers cannot reach it: "
                "give a gs:// path"
            )
    validator = PipelineOptionsValidator(options, create_runner(RUNNER))
    mistakes = validator.validate_cloud_options(cloud) if validator.is_service_runner() else []
    if mistakes:
        raise CorpusError(f"--runner={RUNNER}: {mistakes[0].splitlines()[0]}")
    if not _workers_have_package(options):
        raise CorpusError(
            f"--runner={RUNNER}: the workers would have no corpusbeam: give "
            "--sdk_container_image=IMAGE, or --setup_file=./setup.py in a clone (slower)"
        )


def _folders(options: PipelineOptions) -> Iterator[tuple[str, str]]:
    cloud, ours = options.view_as(GoogleCloudOptions), options.view_as(CorpusOptions)
    for view, names in (
        (cloud, ("temp_location", "staging_location")),
        (ours, ("output", "work_dir")),
    ):
        for name in names:
            if path := getattr(view, name):
                yield name, path


def _workers_have_package(options: PipelineOptions) -> bool:
    setup, worker = options.view_as(SetupOptions), options.view_as(WorkerOptions)
    return any(
        (
            worker.sdk_container_image,
            worker.worker_harness_container_image,
            setup.setup_file,
            setup.requirements_file,
            setup.extra_packages,
        )
    )


def submitted(result: PipelineResult, options: PipelineOptions) -> str:
    """What was made of a job, as a line: its id and link, or where its template is."""
    from apache_beam.runners.dataflow.dataflow_runner import DataflowPipelineResult

    assert isinstance(result, DataflowPipelineResult)
    cloud = options.view_as(GoogleCloudOptions)
    if not result.has_job:
        return f"template written to {cloud.template_location}; no job was started"
    return f"Dataflow job {result.job_id()}: {_link(result.job_id(), cloud)}"


def explain(error: BaseException, options: PipelineOptions) -> str | None:
    """What a failure to start or to finish a job comes to, as a line; None if it is none."""
    from apache_beam.runners.dataflow.dataflow_runner import DataflowRuntimeException
    from apache_beam.runners.dataflow.internal.apiclient import DataflowJobAlreadyExistsError
    from google.api_core.exceptions import GoogleAPICallError

    if isinstance(error, DataflowRuntimeException):
        result = error.result
        job_id = result.job_id()
        link = _link(job_id, options.view_as(GoogleCloudOptions))
        reason = _last_line(str(error).partition("Error:\n")[2])
        return f"Dataflow job {job_id} ended as {result.state}: {reason}; see {link}"
    if isinstance(error, GoogleAPICallError):
        return f"Dataflow did not take the job: {_last_line(error.message)}"
    if isinstance(error, (OSError, DataflowJobAlreadyExistsError)):
        return f"the job could not be started on Dataflow: {_last_line(str(error))}"
    return None


def _link(job_id: str, cloud: GoogleCloudOptions) -> str:
    place = f"{cloud.region}/{job_id}?project={cloud.project}"
    return f"https://console.cloud.google.com/dataflow/jobs/{place}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines and lines[-1] != "None" else "Dataflow gave no reason"
