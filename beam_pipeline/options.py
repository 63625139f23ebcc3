"""The options of the jobs, beside Beam's own."""

import argparse

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.job_options import add_job_options


class CorpusOptions(PipelineOptions):
    """Options of the corpus job."""

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group("corpus")
        group.add_argument("--recipe", help="a recipe's file, or the name of a shipped one")
        group.add_argument("--output", help="folder for the corpus, local or gs://")
        add_job_options(parser)
