"""Picks the documents of the demo corpus that ships with the package.

    python tools/make_demo_data.py BENCH_FOLDER PAIRS_TSV_GZ

BENCH_FOLDER holds {web,synthetic,code,math}.jsonl.gz, whose rows name their source and licence;
PAIRS_TSV_GZ lists their natural duplicates. The same input gives the same documents.
"""

import argparse
import collections
import csv
import gzip
import hashlib
from pathlib import Path

import orjson

DEMO = Path(__file__).parent.parent / "beam_pipeline" / "recipes" / "demo"

# Bytes of text. Together about 2.6 MB compressed, in proportions near those of a real recipe.
BYTES_OF_DOMAIN = {"web": 3_600_000, "synthetic": 1_900_000, "code": 1_100_000, "math": 750_000}
LARGEST_DOCUMENT = 16_000
NEAR_DUPLICATE = 0.8
PAIRS_PER_DOMAIN = 40

# A repository's licence does not cover the crawled pages in it.
CRAWLED = ("repo;", "via LLaMA-Factory")

HOLDERS = {
    "18F/18f.gsa.gov": "18F, U.S. General Services Administration",
    "18F/handbook": "18F, U.S. General Services Administration",
    "Django==5.1.4": "Copyright (c) Django Software Foundation and individual contributors",
    "EleutherAI/lm-evaluation-harness": "Copyright (c) EleutherAI",
    "GSA/digitalgov.gov": "U.S. General Services Administration",
    "HoTT/book": "The Univalent Foundations Program",
    "MicrosoftDocs/PowerShell-Docs": "Microsoft Corporation and contributors",
    "OWASP/CheatSheetSeries": "OWASP Cheat Sheet Series contributors",
    "OWASP/wstg": "OWASP Web Security Testing Guide contributors",
    "OpenLogicProject/OpenLogic": "The Open Logic Project",
    "fastapi/fastapi": "Copyright (c) 2018 Sebastián Ramírez",
    "golang/website": "Copyright (c) The Go Authors",
    "huggingface/datatrove": "The HuggingFace Inc. team",
    "modelscope/data-juicer": "Alibaba Inc. and contributors",
    "networkx==3.4.2": "Copyright (c) NetworkX Developers, A. Hagberg, D. Schult, P. Swart",
    "nodejs/nodejs.org": "Copyright Node.js Website WG contributors",
    "open-telemetry/opentelemetry.io": "OpenTelemetry Authors",
    "open-thought/reasoning-gym": "Reasoning Gym contributors",
    "openai/grade-school-math": "Copyright (c) OpenAI",
    "openstax": "OpenStax, Rice University, and the authors named in each book",
    "reactjs/ar.react.dev": "Meta Platforms, Inc. and translators",
    "rust-lang/blog.rust-lang.org": "The Rust Project contributors",
    "rust-lang/book": "The Rust Project contributors",
    "standardebooks": "Standard Ebooks (edition); text in the public domain",
    "sympy==1.13.3": "Copyright (c) SymPy Development Team",
    "vEnhance/napkin": "Evan Chen",
}


def main() -> None:
    """Writes the four files and the table of their licences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", type=Path)
    parser.add_argument("pairs", type=Path)
    arguments = parser.parse_args()
    rows_of_domain = {
        domain: pick(
            read_rows(arguments.bench / f"{domain}.jsonl.gz"),
            duplicates(arguments.pairs, domain),
            limit,
        )
        for domain, limit in BYTES_OF_DOMAIN.items()
    }
    for domain, rows in rows_of_domain.items():
        lines = b"".join(orjson.dumps(row) + b"\n" for row in rows)
        compressed = gzip.compress(lines, 9, mtime=0)
        (DEMO / f"{domain}.jsonl.gz").write_bytes(compressed)
        print(f"{domain}: {len(rows)} documents, {len(lines)} bytes, {len(compressed)} compressed")
    (DEMO / "LICENSES.md").write_text(licence_table(rows_of_domain))


def read_rows(path: Path) -> dict[str, dict]:
    """The rows that may be shipped, by id, in an order that depends on their ids alone."""
    lines = gzip.decompress(path.read_bytes()).split(b"\n")
    rows = [orjson.loads(line) for line in lines if line]
    free = [row for row in rows if not any(words in row["license"] for words in CRAWLED)]
    small = [row for row in free if size(row) <= LARGEST_DOCUMENT]
    return {row["id"]: row for row in sorted(small, key=lambda row: order(row["id"]))}


def duplicates(path: Path, domain: str) -> list[tuple[str, str]]:
    """Ids of exact and near duplicates inside the domain."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    table = csv.DictReader(lines, delimiter="\t")
    pairs = [
        (row["id_a"], row["id_b"])
        for row in table
        if row["subset_a"] == row["subset_b"] == domain
        and float(row["jaccard_w5"]) >= NEAR_DUPLICATE
    ]
    return sorted(pairs, key=lambda pair: order("\t".join(pair)))


def pick(rows: dict[str, dict], pairs: list[tuple[str, str]], limit: int) -> list[dict]:
    """Some of the duplicates, then others up to the limit, in the order of the rows."""
    whole = [pair for pair in pairs if pair[0] in rows and pair[1] in rows]
    wanted = [id_ for pair in whole[:PAIRS_PER_DOMAIN] for id_ in pair]
    chosen: set[str] = set()
    taken = 0
    for id_ in dict.fromkeys([*wanted, *rows]):
        if taken >= limit:
            break
        chosen.add(id_)
        taken += size(rows[id_])
    return [row for id_, row in rows.items() if id_ in chosen]


def licence_table(rows_of_domain: dict[str, list[dict]]) -> str:
    """What the demo holds of whom, in Markdown."""
    counts = collections.Counter(
        (domain, source(row), row["license"], row["id"].split(":")[0])
        for domain, rows in rows_of_domain.items()
        for row in rows
    )
    table = [
        f"| {domain} | {name} | {count} | {licence} | {holder(name)} | {address(origin)} |"
        for (domain, name, licence, origin), count in sorted(counts.items())
    ]
    return "\n".join(
        [
            "# Licences of the demo documents",
            "",
            "The documents are whole and unchanged but for the conversion to plain text or",
            "Markdown. Each row keeps its own attribution: `id` (repository, commit and path),",
            "`license`, and `source` and `url` (code: `repo_name` and `path`).",
            "",
            "The texts of the licences: [MIT](LICENSE-MIT.txt),",
            "[BSD-3-Clause](LICENSE-BSD-3-Clause.txt),",
            "[Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0),",
            "[CC-BY-4.0](https://creativecommons.org/licenses/by/4.0/),",
            "[CC-BY-SA-4.0](https://creativecommons.org/licenses/by-sa/4.0/),",
            "[CC-BY-SA-3.0](https://creativecommons.org/licenses/by-sa/3.0/),",
            "[CC0-1.0](https://creativecommons.org/publicdomain/zero/1.0/).",
            "",
            "`tools/make_demo_data.py` picked the documents and wrote this file.",
            "",
            "| file | source | documents | licence | by | from |",
            "|---|---|---|---|---|---|",
            *table,
            "",
        ]
    )


def text(row: dict) -> str:
    """The document, in code rows under another name."""
    return row["content"] if "content" in row else row["text"]


def source(row: dict) -> str:
    """The repository or package that the row is from."""
    return row["repo_name"] if "repo_name" in row else row["source"]


def holder(name: str) -> str:
    """Whom to name for a source, or for the organisation that owns it."""
    return HOLDERS[name] if name in HOLDERS else HOLDERS[name.split("/")[0]]


def address(origin: str) -> str:
    """Where a repository at a commit, or a package at a version, can be found."""
    if "==" in origin:
        return "https://pypi.org/project/{}/{}/".format(*origin.split("=="))
    return "https://github.com/{}/tree/{}".format(*origin.split("@"))


def size(row: dict) -> int:
    """Bytes of text."""
    return len(text(row).encode())


def order(key: str) -> bytes:
    """An order that has nothing to do with where documents come from."""
    return hashlib.blake2b(key.encode(), digest_size=8).digest()


if __name__ == "__main__":
    main()
