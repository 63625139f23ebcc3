"""The options that `build` and `traces` have beside their own and Beam's; imports no Beam."""

import argparse
from typing import Any


def _switch(text: str) -> bool:
    """A template gives every parameter a value, switches too."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options to a parser, as a group of their own."""
    switch: dict[str, Any] = {
        "type": _switch,
        "nargs": "?",
        "const": True,
        "default": False,
        "metavar": "true|false",
    }
    group = parser.add_argument_group("options of the job")
    group.add_argument(
        "--work_dir",
        metavar="DIR",
        help="where to make a folder for work files, removed at the end (default: the output)",
    )
    group.add_argument(
        "--resume",
        **switch,
        help="go on with the work that a run with the same arguments left when it was killed",
    )
    group.add_argument(
        "--offline",
        **switch,
        help="replace every hub source by generated documents, and record it",
    )
    group.add_argument(
        "--piece_bytes",
        metavar="N",
        type=int,
        help="how much input makes a piece of work (default: 4 MiB; from 8 GiB of input on "
        "more, up to 64 MiB)",
    )
    group.add_argument(
        "--tokenizer_backend",
        choices=("auto", "fastokens", "tokenizers"),
        default="auto",
        help="who encodes; auto takes fastokens where its ids equal those of tokenizers",
    )
