"""Builds the inputs of the benchmark, once.

    python -m benchmarks.make_inputs 1x 4x 16x

An input is a multiple of the bench corpus (`150x` is about 10 GB), `web_gz`, or a stress input.
"""

import argparse
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.inputs import Bench, Input, finish, load, scale_of
from benchmarks.scaled import FILES, make_scaled
from benchmarks.stress import SHAPES, link_web_file, make_stress

HERE = Path(__file__).parent
DATA = HERE / ".data"
SHARED = HERE.parent.parent / "shared" / "data"

# To be raised when the same files would give other inputs.
_GENERATION = 1


def make_input(name: str, bench: Bench, data: Path = DATA) -> Input:
    """The input of a name, built if it is not there yet from the same files.

    Raises:
      ValueError: there is no such input.
    """
    build = _builder(name)
    folder = data / name
    made_from = {
        "generation": _GENERATION,
        "bench": {domain: bench.file(domain).stat().st_size for domain in FILES},
        "tokenizer": str(bench.tokenizer.resolve()),
    }
    ready = load(folder, made_from)
    if ready:
        return ready
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return finish(folder, made_from, *build(bench, folder))


def _builder(name: str) -> Callable[[Bench, Path], tuple[int, int]]:
    if scale := scale_of(name):
        return lambda bench, folder: make_scaled(bench, scale, folder)
    if name in SHAPES:
        return lambda bench, folder: make_stress(bench, name, folder)
    if name == "web_gz":
        return link_web_file
    raise ValueError(f"no input {name}: give a multiple such as 4x, web_gz, or {', '.join(SHAPES)}")


def add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say what inputs are made from."""
    parser.add_argument("--bench", type=Path, default=SHARED / "bench", help="folder of files")
    parser.add_argument(
        "--tokenizer",
        type=Path,
        default=SHARED / "tokenizers" / "gpt2_50257_tokenizer.json",
        help="a tokenizer.json whose end token is <|endoftext|>",
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="INPUT")
    add_bench_arguments(parser)
    arguments = parser.parse_args(argv)
    make = partial(make_input, bench=Bench(arguments.bench, arguments.tokenizer))
    for name in arguments.names:
        ready = make(name)
        print(f"{name}: {ready.documents:,} documents, {ready.megabytes:,.1f} MB of text")


if __name__ == "__main__":
    main()
