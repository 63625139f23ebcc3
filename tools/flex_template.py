"""Builds and launches the Flex Templates, through gcloud; needs Python and gcloud only.

    python tools/flex_template.py build corpus --image IMAGE --template gs://BUCKET/corpus.json
    python tools/flex_template.py launch gs://BUCKET/corpus.json --job NAME --flags-file FILE

Both know what a person should not have to: that the workers' image is the template's.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

METADATA = Path(__file__).resolve().parent.parent / "templates"
WORKER_IMAGE = "sdk_container_image"

# For launches that name no machine: Dataflow's own choice may lack what kernels are compiled for.
MACHINE = "n2-standard-4"


class ToolError(Exception):
    """A mistake in what was asked for, or an answer of gcloud that is one."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Returns:
      0; 2 for a mistake that the user can mend; else what gcloud exited with.
    """
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
    except ToolError as error:
        print(f"flex_template.py: error: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def build(arguments: argparse.Namespace) -> None:
    """Writes a template file whose default for the workers' image is its own image."""
    metadata = json.loads((METADATA / f"{arguments.job}.json").read_text(encoding="utf-8"))
    (image,) = (each for each in metadata["parameters"] if each["name"] == WORKER_IMAGE)
    if not re.search(image["regexes"][0], arguments.image):
        raise ToolError(f"--image={arguments.image} is no image: give HOST/PROJECT/REPO/NAME:TAG")
    image["defaultValue"] = arguments.image
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(metadata, file)
        file.flush()
        _gcloud(
            "dataflow",
            "flex-template",
            "build",
            arguments.template,
            f"--image={arguments.image}",
            "--sdk-language=PYTHON",
            f"--metadata-file={file.name}",
            f"--worker-machine-type={MACHINE}",
            *_project(arguments),
            *(["--print-only"] if arguments.print_only else []),
        )


def launch(arguments: argparse.Namespace) -> None:
    """Starts a job of a template; the parameters come from a file of gcloud flags."""
    if not Path(arguments.flags_file).is_file():
        raise ToolError(f"--flags-file={arguments.flags_file}: there is no such file")
    template = _gcloud("storage", "cat", arguments.template, *_project(arguments), capture=True)
    try:
        image = json.loads(template)["image"]
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"{arguments.template} is not a template file: build it first") from error
    _gcloud(
        "dataflow",
        "flex-template",
        "run",
        arguments.job,
        f"--template-file-gcs-location={arguments.template}",
        f"--flags-file={arguments.flags_file}",
        f"--parameters={WORKER_IMAGE}={image}",
        *_project(arguments),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Builds and launches corpusbeam's Flex Templates.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    building = commands.add_parser("build", help="write a template file to Cloud Storage")
    building.add_argument("job", choices=("corpus", "traces"))
    building.add_argument("--image", required=True, help="built with --build-arg JOB=(the job)")
    building.add_argument("--template", required=True, type=_object, help="gs:// file to write")
    building.add_argument("--print-only", action="store_true", help="print it, write nothing")
    building.set_defaults(command=build)

    launching = commands.add_parser("launch", help="start a job of a template")
    launching.add_argument("template", type=_object, help="gs:// file that build wrote")
    launching.add_argument("--job", required=True, help="name of the job: a-z, 0-9 and -")
    launching.add_argument(
        "--flags-file",
        required=True,
        help="flags of `gcloud dataflow flex-template run` as YAML; see templates/examples/",
    )
    launching.set_defaults(command=launch)
    for command in (building, launching):
        command.add_argument("--project", help="default: the project of gcloud's configuration")
    return parser


def _object(path: str) -> str:
    if not re.match(r"gs://[^/]+/.+", path):
        raise argparse.ArgumentTypeError(f"must be gs://BUCKET/FILE.json, not {path!r}")
    return path


def _project(arguments: argparse.Namespace) -> list[str]:
    return [f"--project={arguments.project}"] if arguments.project else []


def _gcloud(*arguments: str, capture: bool = False) -> str:
    try:
        done = subprocess.run(
            ["gcloud", *arguments],
            check=True,
            text=True,
            stdout=subprocess.PIPE if capture else None,
        )
    except FileNotFoundError as error:
        raise ToolError("gcloud is not on the PATH: install the Google Cloud CLI") from error
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
