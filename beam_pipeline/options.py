"""The options of the jobs, beside Beam's own."""

import argparse

from apache_beam.options.pipeline_options import PipelineOptions


def _switch(text: str) -> bool:
    """A template gives every parameter a value, switches too."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


class CorpusOptions(PipelineOptions):
    """Options of the corpus job."""

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        switch = {"type": _switch, "nargs": "?", "const": True, "default": False}
        group = parser.add_argument_group("corpus")
        group.add_argument("--recipe", help="a recipe's file, or the name of a shipped one")
        group.add_argument("--output", help="folder for the corpus, local or gs://")
        group.add_argument(
            "--work_dir",
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
            type=int,
            default=None,
            help="how much input makes a piece of work (default: 4 MiB; from 8 GiB of input on "
            "more, up to 64 MiB)",
        )
        group.add_argument(
            "--tokenizer_backend",
            choices=("auto", "fastokens", "tokenizers"),
            default="auto",
            help="who encodes; auto takes fastokens where its ids equal those of tokenizers",
        )
