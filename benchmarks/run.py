"""Runs corpusbeam beside its peers and reports.

    python -m benchmarks.run --scales 1 4 16 --peer-scales 1 4

All programs run on the same cores, one after the other, with their input in the page cache. The
tables and every single run go to benchmarks/results.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.contenders import Contender, Corpusbeam, Datatrove, Sequential
from benchmarks.inputs import Bench, Input, scale_of
from benchmarks.make_inputs import DATA, HERE, add_bench_arguments, make_input
from benchmarks.measure import measure
from benchmarks.records import Floor, Floors, Run
from benchmarks.report import as_markdown, print_tables, tables
from benchmarks.stress import SHAPES

RESULTS = HERE / "results"
# Floors are found with all texts in memory, several times over.
_LARGEST_OF_FLOORS = 16
_READ = 1 << 24


def run_once(contender: Contender, given: Input, cores: int) -> Run:
    """Runs a contender on an input; its output is removed."""
    output = DATA / "out" / contender.name
    log = output.with_suffix(".log")
    shutil.rmtree(output, ignore_errors=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    _into_page_cache(given.files())
    # What the run before left to be written must not be written during this one.
    os.sync()
    load = os.getloadavg()[0]
    usage = measure(contender.command(given, output, cores), log)
    outcome = contender.outcome(output, log)
    shutil.rmtree(output)
    return Run(
        contender.name,
        given.name,
        usage.wall,
        usage.cpu,
        usage.rss,
        outcome.documents,
        outcome.tokens,
        load,
    )


def find_floors(given: Input) -> Floors:
    """Measures the floors in a process of their own, which has one thread."""
    command = [sys.executable, "-m", "benchmarks.floors", str(given.recipe)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(printed)
    return Floors(found["megabytes"], [Floor(**step) for step in found["steps"]])


def machine(cores: int) -> dict[str, Any]:
    """Where the figures are from."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(": ")[2] for line in info if line.startswith("model name")]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "processor": models[0] if models else platform.machine(),
        "cores": cores,
        "memory_gb": round(memory / 1e9, 1),
        "python": platform.python_version(),
        **{name: version(name) for name in ("corpusbeam", "apache-beam", "fastokens", "numba")},
    }


def _into_page_cache(files: Sequence[Path]) -> None:
    for path in files:
        with path.open("rb", buffering=0) as raw:
            while raw.read(_READ):
                pass


def _save(
    stem: Path, where: dict[str, Any], inputs: list[Input], runs: list[Run], floors: Floors
) -> None:
    record = {
        "machine": where,
        "inputs": [asdict(given) for given in inputs],
        "runs": [asdict(run) for run in runs],
        "floors": asdict(floors),
    }
    stem.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")
    facts = ", ".join(f"{name} {value}" for name, value in where.items())
    markdown = f"{facts}\n\n{as_markdown(tables(inputs, runs, floors))}"
    stem.with_suffix(".md").write_text(markdown)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", type=int, nargs="*", default=[1, 4, 16], help="of corpusbeam")
    parser.add_argument("--peer-scales", type=int, nargs="*", default=[1, 4], help="of the peers")
    parser.add_argument("--stress", action="store_true", help="the stress inputs too")
    parser.add_argument("--repeats", type=int, default=5, help="of corpusbeam (default: 5)")
    parser.add_argument("--peer-repeats", type=int, default=1, help="of the peers (default: 1)")
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=("sequential", "sequential-1-thread", "datatrove"),
        default=["sequential", "sequential-1-thread", "datatrove"],
    )
    parser.add_argument(
        "--datatrove-python",
        type=Path,
        default=Path(sys.prefix) / "datatrove" / "bin" / "python",
        help="of the environment that has datatrove (default: %(default)s)",
    )
    available = len(os.sched_getaffinity(0))
    parser.add_argument("--cores", type=int, default=available, help="how many to use")
    add_bench_arguments(parser)
    return parser


def _schedule(
    arguments: argparse.Namespace, inputs: list[Input]
) -> Iterator[tuple[Contender, Input]]:
    """Who runs on what, in order."""
    everyone: dict[str, Contender] = {
        "sequential": Sequential(),
        "sequential-1-thread": Sequential(one_thread=True),
        "datatrove": Datatrove(arguments.datatrove_python),
    }
    for given in inputs:
        for _ in range(arguments.repeats):
            yield Corpusbeam(), given
        if scale_of(given.name) in arguments.peer_scales:
            for name in arguments.peers:
                for _ in range(arguments.peer_repeats):
                    yield everyone[name], given


def main(argv: Sequence[str] | None = None) -> None:
    parser = _parser()
    arguments = parser.parse_args(argv)
    if "datatrove" in arguments.peers and not arguments.datatrove_python.exists():
        parser.error(
            f"no {arguments.datatrove_python}: make an environment with "
            "benchmarks/datatrove-requirements.txt, or leave it out with --peers sequential"
        )
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cores])
    console = Console(width=200)
    bench = Bench(arguments.bench, arguments.tokenizer)
    names = [f"{scale}x" for scale in arguments.scales]
    names += ["web_gz", *SHAPES] if arguments.stress else []
    with console.status("making inputs"):
        plain = make_input("1x", bench)
        inputs = [make_input(name, bench) for name in names]
    with console.status("warming up"):
        run_once(Corpusbeam(), plain, arguments.cores)
    of_floors = [scale for scale in arguments.scales if scale <= _LARGEST_OF_FLOORS]
    with console.status("floors"):
        floors = find_floors(make_input(f"{max(of_floors, default=1)}x", bench))

    where = machine(arguments.cores)
    RESULTS.mkdir(exist_ok=True)
    stem = RESULTS / where["time"][:19].replace(":", "")
    runs: list[Run] = []
    for contender, given in _schedule(arguments, inputs):
        with console.status(f"{contender.name} on {given.name}"):
            run = run_once(contender, given, arguments.cores)
        runs.append(run)
        console.print(
            f"{run.input:>24} {run.contender:<20} {run.wall:8.1f} s {run.cpu:8.1f} CPU s "
            f"{run.rss / 1e6:8,.0f} MB",
            highlight=False,
        )
        # After each run, as the next may take an hour or fail.
        _save(stem, where, inputs, runs, floors)
    print_tables(tables(inputs, runs, floors), console)
    console.print(f"{stem}.md and .json", highlight=False)


if __name__ == "__main__":
    main()
