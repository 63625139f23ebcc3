"""The report of whole traces jobs."""

import hashlib
import re

import pytest
from rich.console import Console

from beam_pipeline.traces_summary import print_traces_summary
from beam_pipeline.verify import problems
from tests.report.pages import EVIL, Outline, assert_harmless, assert_pictures_have_words, page_of
from tests.traces_jobs import Traces, build, build_rows, trace_rows


def evil_rows():
    """Markup where a report shows text: in problems, thoughts, answers and rejected rows."""
    rows = [
        {"prompt": f"{EVIL}{k}", "response": f"<think>{EVIL}\n\n{EVIL}{k}</think>{EVIL}"}
        for k in range(300)
    ]
    return [*rows, {"prompt": f"{EVIL}rejected", "response": EVIL}]


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    rows = [*trace_rows(), *evil_rows()]
    folder = tmp_path_factory.mktemp("traces")
    return build_rows(folder, rows, "--direct_num_workers=1", limit=400)


@pytest.mark.parametrize(
    "options",
    [
        ("--piece_bytes=3000", "--direct_num_workers=2"),
        ("--piece_bytes=20000", "--direct_runner_bundle_repeat=2"),
    ],
    ids=["pieces", "replayed"],
)
def test_the_same_report_however_it_is_built(traces, tmp_path, options):
    other = build(tmp_path, traces.manifest["recipe"], *options)
    assert page_of(other.folder) == page_of(traces.folder)
    assert other.manifest == traces.manifest


def test_no_text_of_a_row_becomes_markup_and_the_page_asks_for_nothing(traces):
    assert_harmless(page_of(traces.folder))


def test_pictures_have_words(traces):
    assert_pictures_have_words(page_of(traces.folder), more_than=20)


def test_the_page_shows_what_became_of_rows_and_examples(traces):
    page = page_of(traces.folder)
    account = traces.ledger()
    assert account["over_limit"] > 0
    for words in (
        f"over the limit {account['over_limit'] / account['read']:.1%}",
        f"duplicates of a problem {account['duplicate'] / account['read']:.1%}",
        "several regions",
        "no region (",
        "&lt;end_of_thought&gt;",
        traces.manifest["recipe_sha256"],
    ):
        assert words in page, words
    for folder in traces.manifest["layouts"]:
        kept = traces.encoding(folder)["encoded"] / traces.encoding(folder)["read"]
        article = page.partition(f"<h3>{folder}</h3>")[2].partition("</article>")[0]
        assert f"kept {kept:.1%}" in article


def test_lengths_count_every_text_of_both_splits(traces):
    account = traces.ledger()
    examples = account["train"] + account["validation"]
    page = page_of(traces.folder)
    for title in ("Tokens of a problem", "Tokens of an answer", "Thoughts of an example"):
        assert f"<b>{title}</b> <span>{examples:,} examples," in page, title


def test_stretches_of_a_window_make_all_of_it(traces):
    page = page_of(traces.folder)
    cards = re.findall(r"<summary>Window [^<]*<span>.*?</details>", page, re.DOTALL)
    assert len(cards) == 9
    for card in cards:
        titles = re.findall(r"</span>[^<:]*: (\d+) tokens(?: and (\d+) of \w+)?<", card)
        assert sum(int(tokens) + int(filler or 0) for tokens, filler in titles) == 256


def test_the_manifest_tells_warnings_and_checksum_of_the_report(traces):
    assert ("validation_examples", None) in {
        (warning["kind"], warning["source"]) for warning in traces.manifest["warnings"]
    }
    told = traces.manifest["report"]
    page = (traces.folder / told["file"]).read_bytes()
    assert hashlib.sha256(page).hexdigest() == told["sha256"]
    assert list(problems(str(traces.folder))) == []


def test_the_terminal_tells_warnings_and_where_the_report_is(traces):
    console = Console(record=True, width=200)
    print_traces_summary(str(traces.folder), console)
    shown = console.export_text().splitlines()
    for warning in traces.manifest["warnings"]:
        assert f"warning: {warning['message']}" in shown
    assert f"report: {traces.folder}/report.html" in shown


def test_one_layout_when_to_warn_is_no_part_of_it_and_verify_sees_another_report(tmp_path):
    plain = build_rows(tmp_path, trace_rows(), layouts=["flat"])
    Outline(page_of(plain.folder))
    assert "Flat has no blocks." in page_of(plain.folder)
    recipe = {**plain.manifest["recipe"], "warn": {"validation_examples": 0}}
    calm = build(tmp_path / "calm", recipe)
    assert calm.hashes() == plain.hashes()
    assert calm.manifest["recipe_sha256"] == plain.manifest["recipe_sha256"]
    assert len(calm.manifest["warnings"]) == len(plain.manifest["warnings"]) - 1
    _spoil(calm)
    assert [line.partition("report.html")[2] for line in problems(str(calm.folder))] == [
        ": its sha256 is not that of the manifest"
    ]


def _spoil(traces: Traces) -> None:
    path = traces.folder / "report.html"
    path.write_bytes(path.read_bytes() + b" ")
