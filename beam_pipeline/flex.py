"""What a Flex Template starts: a job of which every argument is a flag.

Dataflow's launcher runs one of the files in `templates/`, with each parameter of the template and
Beam's options as `--name=value`. Among them is `--template_location`: Beam then writes the job
there for the service to start, and does not wait for it.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline import run
from beam_pipeline.cli import main
from beam_pipeline.process import leave

COMMANDS = {"corpus": "build", "traces": "traces"}


def launch(job: str, argv: Sequence[str] | None = None) -> NoReturn:
    """Launches a job and ends the process; with 2 if something is wrong with what was asked for.

    Args:
      job: "corpus" or "traces".
      argv: flags; those of the process by default.
    """
    parser = argparse.ArgumentParser(prog=f"templates/{job}_main.py", allow_abbrev=False)
    parser.add_argument("--recipe", required=True)
    parser.add_argument("--output", required=True)
    given, options = parser.parse_known_args(argv)
    leave(main([COMMANDS[job], given.recipe, "--output", given.output, *_known(options)]))


def _known(options: Sequence[str]) -> list[str]:
    """The options but those that neither Beam nor corpusbeam has.

    The service has checked the template's parameters, so only its launcher can have added them.
    """
    unknown = run.unknown_options(PipelineOptions(list(options)))
    for name in unknown:
        print(f"corpusbeam: --{name} is left out: there is no such option", file=sys.stderr)
    return [option for option in options if _name(option) not in unknown]


def _name(option: str) -> str:
    return option.removeprefix("--").partition("=")[0].replace("-", "_")
