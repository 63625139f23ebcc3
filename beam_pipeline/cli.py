"""The commands. What a command needs is imported when it runs, so that help comes at once."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from beam_pipeline import interrupts
from beam_pipeline.job_options import add_job_options
from beam_pipeline.process import importing, leave
from beam_pipeline.progress.starting import show_start
from transforms.errors import CorpusError

if TYPE_CHECKING:
    from beam_pipeline.recipe_file import AnyRecipe
    from beam_pipeline.run import Job


def command_line() -> NoReturn:
    """The `corpusbeam` command; does not return."""
    interrupts.install(_as_typed())
    try:
        leave(main())
    except KeyboardInterrupt:
        interrupts.leave()


def _as_typed() -> list[str]:
    program, *arguments = sys.argv
    if os.path.basename(program) == "__main__.py":
        return [_short(sys.executable), "-m", "beam_pipeline", *arguments]
    return [_short(program), *arguments]


def _short(program: str) -> str:
    """A program by its name, if that finds the same one."""
    name = os.path.basename(program)
    return name if shutil.which(name) == program else program


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Returns:
      0; 1 if a check found something wrong; 2 for a mistake in what was asked for.
    """
    # google-auth otherwise looks three times for a server that only machines on Google Cloud have,
    # seconds each time; it reads this when it is imported, also in worker processes.
    os.environ.setdefault("GCE_METADATA_DETECT_RETRIES", "1")
    parser = _parser()
    try:
        arguments, beam_options = parser.parse_known_args(argv)
        if beam_options and not arguments.takes_beam_options:
            parser.error(f"unknown option: {' '.join(beam_options)}")
        command: Callable[[argparse.Namespace, list[str]], int] = arguments.command
        _check_places(arguments)
        return command(arguments, beam_options)
    except CorpusError as error:
        print(f"corpusbeam: error: {error}", file=sys.stderr)
        return 2


def _check_places(arguments: argparse.Namespace) -> None:
    """Tells of a mistyped scheme, or of no credentials, before what takes seconds to import."""
    for name in ("recipe", "folder", "output"):
        place = getattr(arguments, name, None) or ""
        if "://" in place:
            from transforms import credentials, storage

            if storage.is_remote(place):
                credentials.require()


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"corpusbeam {version('corpusbeam')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="corpusbeam",
        description="Turns raw documents into training-ready token shards.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    build = commands.add_parser(
        "build",
        help="build a corpus",
        description="Filters, deduplicates, tokenizes, mixes and packs a recipe's documents.",
        **_job_help(),
    )
    _add_job_arguments(build, "corpus")
    build.set_defaults(command=_build, takes_beam_options=True)

    traces = commands.add_parser(
        "traces",
        help="lay out reasoning traces",
        description="Parses, deduplicates, tokenizes and lays out reasoning traces.",
        **_job_help(),
    )
    _add_job_arguments(traces, "windows")
    traces.set_defaults(command=_traces, takes_beam_options=True)

    plan = commands.add_parser(
        "plan",
        help="estimate a corpus and its run from a sample",
        allow_abbrev=False,
        description="Reads a sample of the sources and says what `build` will give and take. "
        "Nothing is written. Exit code 0 also where the budget cannot be met.",
    )
    _add_recipe(plan)
    plan.add_argument(
        "--offline", action="store_true", help="replace hub sources by generated documents"
    )
    plan.add_argument("--json", action="store_true", help="print JSON, for programs")
    plan.set_defaults(command=_plan, takes_beam_options=False)

    verify = commands.add_parser(
        "verify",
        help="check a finished corpus or finished traces",
        allow_abbrev=False,
        description="Checks sizes, checksums, ids, document boundaries, splits and the account. "
        "Exit code: 0 all is as promised, 1 something is not, 2 a mistake.",
    )
    verify.add_argument("folder", help="folder that build or traces has written")
    verify.set_defaults(command=_verify, takes_beam_options=False)

    _add_show(commands)
    _add_diff(commands)

    train = commands.add_parser(
        "train-tokenizer",
        help="train a byte-level BPE tokenizer on a recipe's sources",
        allow_abbrev=False,
        description="Trains on the first 256 MB of a recipe's texts, an equal share from each "
        "source. The tokenizer that the recipe names need not exist yet.",
    )
    _add_recipe(train)
    train.add_argument(
        "--vocab-size",
        type=int,
        required=True,
        metavar="N",
        help="entries of the vocabulary, bytes and control tokens included",
    )
    train.add_argument(
        "--output", required=True, metavar="FILE", help="the tokenizer.json to write"
    )
    train.add_argument(
        "--offline", action="store_true", help="replace hub sources by generated documents"
    )
    train.set_defaults(command=_train_tokenizer, takes_beam_options=False)
    return parser


def _job_help() -> dict[str, Any]:
    """How a parser whose options are Beam's too tells of them; Beam is not asked."""
    of_job = argparse.ArgumentParser(add_help=False, usage=argparse.SUPPRESS)
    add_job_options(of_job)
    return {
        "allow_abbrev": False,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "epilog": f"{of_job.format_help()}\nOther options go to Apache Beam, such as "
        "--runner DataflowRunner (docs/dataflow.md).",
    }


def _add_show(commands: Any) -> None:
    show = commands.add_parser(
        "show",
        help="look at windows, documents, rejected rows and duplicates",
        allow_abbrev=False,
        description="Prints what a finished output holds; the first window if nothing is named.",
    )
    show.add_argument("folder", help="folder that build or traces has written")
    what = show.add_mutually_exclusive_group()
    what.add_argument("--window", type=int, metavar="N", help="a window, decoded; from 0")
    what.add_argument(
        "--document", metavar="KEY", help="a document by its id, or by how its digest begins"
    )
    what.add_argument("--search", metavar="TEXT", help="documents that hold a text, in any case")
    what.add_argument("--rejects", action="store_true", help="samples of the rows that were lost")
    what.add_argument(
        "--cluster",
        nargs="?",
        const="",
        metavar="N|DIGEST",
        help="near duplicates side by side; without a value, a table of the largest clusters",
    )
    show.add_argument(
        "--split",
        choices=("train", "val", "validation"),
        help="where to look (default: train for a window, both for documents)",
    )
    show.add_argument("--layout", help="of traces (default: the first of the recipe)")
    show.add_argument("--source", help="of rejected rows")
    show.add_argument("--reason", help="of rejected rows, such as too_few_words or filtered")
    show.add_argument(
        "--first",
        type=int,
        default=10,
        metavar="N",
        help="how many of a list to print (default: %(default)s)",
    )
    show.set_defaults(command=_show, takes_beam_options=False)


def _add_diff(commands: Any) -> None:
    diff = commands.add_parser(
        "diff",
        help="compare two finished outputs",
        allow_abbrev=False,
        description="Says how two outputs differ. Exit code: 0 the same, 1 they differ, 2 a "
        "mistake.",
    )
    diff.add_argument("before", help="folder that build or traces has written")
    diff.add_argument("after", help="another one")
    diff.add_argument("--json", action="store_true", help="print JSON, for programs")
    diff.set_defaults(command=_diff, takes_beam_options=False)


class _GoesWithoutFlag(argparse.Action):
    """Tells whoever gives a positional argument as an option, as other tools have it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> NoReturn:
        """Raises CorpusError."""
        value = values or self.dest.upper()
        raise CorpusError(
            f"the {self.dest} goes without {option_string}: {parser.prog} {value} ..."
        )


def _add_recipe(command: argparse.ArgumentParser) -> None:
    command.add_argument("recipe", help="a recipe's YAML file, or the name of a shipped recipe")
    command.add_argument("--recipe", nargs="?", action=_GoesWithoutFlag, help=argparse.SUPPRESS)


def _add_job_arguments(command: argparse.ArgumentParser, made: str) -> None:
    _add_recipe(command)
    command.add_argument(
        "--output", required=True, metavar="DIR", help=f"folder for the {made}, local or gs://"
    )
    talk = command.add_mutually_exclusive_group()
    talk.add_argument("--quiet", action="store_true", help="print errors only")
    talk.add_argument(
        "--verbose", action="store_true", help="also print versions, stages and Beam's warnings"
    )


def _build(arguments: argparse.Namespace, beam_options: list[str]) -> int:
    show_start(quiet=arguments.quiet)
    from beam_pipeline.recipe import Recipe
    from beam_pipeline.specs import tokenizer_spec
    from transforms.tokenizers.ahead import prepare_ahead

    path, recipe = _load(arguments, beam_options, Recipe)
    prepare_ahead(tokenizer_spec(recipe, path))
    with importing(cloud=_is_remote(recipe.canonical(), path, arguments.output, *beam_options)):
        from beam_pipeline.corpus_job import CORPUS
    return _run(CORPUS, arguments, beam_options)


def _load(
    arguments: argparse.Namespace, beam_options: list[str], kind: "type[AnyRecipe]"
) -> "tuple[str, AnyRecipe]":
    """A recipe and where it is; what is wrong with it is told before Beam's second of imports.

    One that Beam has to read is read with its options.
    """
    from beam_pipeline.recipe_file import find, load

    if _is_remote(arguments.recipe):
        with importing():
            from beam_pipeline.run import use_options
        use_options(arguments.recipe, arguments.output, beam_options)
    path = find(arguments.recipe)
    return path, load(path, kind)


def _is_remote(*settings: object) -> bool:
    """Whether a setting has a path with a scheme, or names a runner."""
    return any("://" in str(setting) or "--runner" in str(setting) for setting in settings)


def _traces(arguments: argparse.Namespace, beam_options: list[str]) -> int:
    show_start(quiet=arguments.quiet)
    from beam_pipeline.traces_recipe import TracesRecipe

    path, recipe = _load(arguments, beam_options, TracesRecipe)
    with importing(cloud=_is_remote(recipe.canonical(), path, arguments.output, *beam_options)):
        from beam_pipeline.traces_job import TRACES
    return _run(TRACES, arguments, beam_options)


def _run(job: "Job", arguments: argparse.Namespace, beam_options: list[str]) -> int:
    from beam_pipeline.run import build

    talk = {"quiet": arguments.quiet, "verbose": arguments.verbose}
    return build(job, arguments.recipe, arguments.output, beam_options, **talk)


def _plan(arguments: argparse.Namespace, _: list[str]) -> int:
    with importing():
        from beam_pipeline.plan import plan

    return plan(arguments.recipe, offline=arguments.offline, as_json=arguments.json)


def _verify(arguments: argparse.Namespace, _: list[str]) -> int:
    from beam_pipeline.verify import verify

    return verify(arguments.folder)


def _show(arguments: argparse.Namespace, _: list[str]) -> int:
    with importing():
        from beam_pipeline.show import Asked, Within, show

    return show(
        arguments.folder,
        Asked(
            arguments.window,
            arguments.document,
            arguments.search,
            arguments.rejects,
            arguments.cluster,
        ),
        Within(
            arguments.split, arguments.layout, arguments.source, arguments.reason, arguments.first
        ),
    )


def _diff(arguments: argparse.Namespace, _: list[str]) -> int:
    with importing():
        from beam_pipeline.diff import diff

    return diff(arguments.before, arguments.after, as_json=arguments.json)


def _train_tokenizer(arguments: argparse.Namespace, _: list[str]) -> int:
    from beam_pipeline import recipe_file as recipes
    from beam_pipeline.recipe import Recipe
    from beam_pipeline.specs import source_spec
    from beam_pipeline.train_tokenizer import train_from_sources
    from transforms.readers import planning

    path = recipes.find(arguments.recipe)
    recipe = recipes.load(path, Recipe)
    specs = [source_spec(recipe, source, path) for source in recipe.sources]
    if arguments.offline:
        specs = [planning.offline(spec) for spec in specs]
    train_from_sources(specs, arguments.vocab_size, arguments.output)
    return 0
