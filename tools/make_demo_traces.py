"""Picks the reasoning traces that ship with the package.

    python tools/make_demo_traces.py REASONING_GYM_RL_TRACES_JSONL_GZ

The file holds completions of open-thought/reasoning-gym-eval, one a row. The same input gives the
same traces.
"""

import argparse
import collections
import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path

import orjson

from transforms.traces.example import Malformed
from transforms.traces.parsers import ParserSpec, parse

DEMO = Path(__file__).parent.parent / "beam_pipeline" / "recipes" / "demo-traces"
PARSER = ParserSpec("glaive", (("prompt", "question"), ("response", "full_model_response")))
COLUMNS = ("id", "dataset", "model", "question", "full_model_response", "expected_answer")

LONGEST_RESPONSE = 9000
MANY_THOUGHTS = 3
# All traces of many thoughts are taken, these of few, and these of each way to be malformed.
FEW_THOUGHTS_TAKEN, MALFORMED_TAKEN = 200, 15

ORIGIN = "open-thought/reasoning-gym-eval"
COMMIT = "5f09fecc34"


def main() -> None:
    """Writes the traces and the table of their licences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=Path)
    arguments = parser.parse_args()
    lines = gzip.decompress(arguments.traces.read_bytes()).split(b"\n")
    rows = pick([orjson.loads(line) for line in lines if line])
    raw = b"".join(orjson.dumps({name: row[name] for name in COLUMNS}) + b"\n" for row in rows)
    DEMO.mkdir(parents=True, exist_ok=True)
    (DEMO / "traces.jsonl.gz").write_bytes(gzip.compress(raw, 9, mtime=0))
    (DEMO / "LICENSES.md").write_text(licence_table(rows))
    print(f"{len(rows)} traces, {len(raw)} bytes")


def pick(rows: list[dict]) -> list[dict]:
    """The rows to ship, by id."""
    many: list[dict] = []
    few: list[dict] = []
    malformed: dict[str, list[dict]] = collections.defaultdict(list)
    for row in rows:
        example = parse(PARSER, row)
        if isinstance(example, Malformed):
            malformed[example.reason].append(row)
        elif len(row["full_model_response"]) < LONGEST_RESPONSE:
            (many if len(example.thoughts) >= MANY_THOUGHTS else few).append(row)
    chosen = [*many, *first(few, FEW_THOUGHTS_TAKEN)]
    for of_reason in malformed.values():
        chosen += [
            row
            for row in first(of_reason, MALFORMED_TAKEN)
            if len(row["full_model_response"]) < LONGEST_RESPONSE
        ]
    by_id = {row["id"]: row for row in chosen}
    return [by_id[id_] for id_ in sorted(by_id)]


def first(rows: Iterable[dict], count: int) -> list[dict]:
    """Some of the rows, in an order that depends on their ids alone."""
    return sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).digest())[:count]


def licence_table(rows: list[dict]) -> str:
    """What the demo holds of whom, in Markdown."""
    counts = collections.Counter(row["model"] for row in rows)
    return "\n".join(
        [
            "# Licences of the demo traces",
            "",
            "The completions are whole and unchanged; the columns are those that tell where a row",
            "is from and what the recipe reads. `id` names the file in the repository, the data",
            "set of reasoning-gym and the row. All are under",
            "[Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0), by the Reasoning Gym",
            f"contributors, from [{ORIGIN}](https://github.com/{ORIGIN}/tree/{COMMIT}).",
            "",
            "`tools/make_demo_traces.py` picked the traces and wrote this file.",
            "",
            "| model | traces | licence |",
            "|---|---|---|",
            *(f"| {model} | {count} | Apache-2.0 |" for model, count in sorted(counts.items())),
            "",
        ]
    )


if __name__ == "__main__":
    main()
