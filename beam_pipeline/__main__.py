"""`python -m beam_pipeline` is `corpusbeam`."""

from beam_pipeline.cli import command_line

if __name__ == "__main__":
    command_line()
