"""Google Cloud Dataflow on loopback: its REST service, and workers that run what was staged."""

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import python_urns
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from transforms import storage

JOB_ID = "2026-01-01_00_00_00-1234567890"
_WORKER = f"{sys.executable} -m apache_beam.runners.worker.sdk_worker_main"


class Service:
    """What the service was asked for, and how it answers.

    Attributes:
      endpoint: for `--dataflow_endpoint`; Beam wants "localhost" in it.
      jobs: jobs that were posted.
      launches: Flex Template launches that were posted.
      run: called with each job that was posted, before it is answered.
      states: of a job, one after the other; the last one stays.
      error: what an error message of a job says.
      refusal: HTTP status and message with which jobs are refused.
      launcher: called with the parameters of each Flex Template launch.
    """

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://localhost:{port}"
        self.jobs: list[dict[str, Any]] = []
        self.launches: list[dict[str, Any]] = []
        self.run: Callable[[dict[str, Any]], None] = lambda _: None
        self.states = ["JOB_STATE_DONE"]
        self.error: str | None = None
        self.refusal: tuple[int, str] | None = None
        self.launcher: Callable[[dict[str, Any]], None] = lambda _: None

    def state(self) -> dict[str, Any]:
        """The job as it is now."""
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"id": JOB_ID, "name": "job", "currentState": state}

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to a request."""
        where = re.sub(r"^/v1b3/projects/[^/]+/locations/[^/]+/", "", path.partition("?")[0])
        match method, where:
            case "POST", "jobs":
                if self.refusal is not None:
                    code, message = self.refusal
                    return code, {"error": {"code": code, "message": message}}
                self.jobs.append(body)
                self.run(body)
                return 200, self.state()
            case "POST", "flexTemplates:launch":
                self.launches.append(body["launchParameter"])
                self.launcher(body["launchParameter"])
                return 200, {"job": self.state()}
            case "GET", _ if where == f"jobs/{JOB_ID}":
                return 200, self.state()
            case "GET", _ if where == f"jobs/{JOB_ID}/messages":
                return 200, {"jobMessages": self._messages()}
        return 404, {"error": {"code": 404, "message": f"{method} {path}"}}

    def _messages(self) -> list[dict[str, Any]]:
        if self.error is None:
            return []
        return [
            {
                "id": "1",
                "time": "2026-01-01T00:00:00Z",
                "messageText": self.error,
                "messageImportance": "JOB_MESSAGE_ERROR",
            }
        ]


@contextmanager
def dataflow_service() -> Iterator[Service]:
    """Runs the service."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", {})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer("POST", orjson.loads(raw))

        def _answer(self, method: str, body: dict[str, Any]) -> None:
            status, found = service.answer(method, self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(orjson.dumps(found))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = Service(server.server_port)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()


def pipeline_of(job: dict[str, Any]) -> beam_runner_api_pb2.Pipeline:
    """The graph that a posted job names, as it was staged."""
    url = job["environment"]["sdkPipelineOptions"]["options"]["pipelineUrl"]
    return beam_runner_api_pb2.Pipeline.FromString(storage.read_bytes(url))


def execute(job: dict[str, Any]) -> None:
    """Runs what was staged in worker processes, which know nothing of the launcher's memory."""
    pipeline = pipeline_of(job)
    for environment in pipeline.components.environments.values():
        environment.urn = python_urns.SUBPROCESS_SDK
        environment.payload = _WORKER.encode()
        del environment.dependencies[:]
    options = PipelineOptions(["--direct_num_workers=2"])
    FnApiRunner().run_via_runner_api(pipeline, options).wait_until_finish()
