"""The first sign of life, before anything is imported that could draw more."""

import sys

_SIGN = "Starting ..."


def show_start(*, quiet: bool) -> None:
    """Tells whoever watches a terminal that the command has begun; the next line covers it."""
    if not quiet and sys.stderr.isatty():
        print(_SIGN, end="\r", file=sys.stderr, flush=True)
