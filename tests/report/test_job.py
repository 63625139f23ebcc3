"""The report of whole jobs."""

import hashlib
from pathlib import Path

import pytest
from rich.console import Console

from beam_pipeline.summary import print_summary
from beam_pipeline.verify import problems
from tests import jobs
from tests.jobs import DEMO, build, recipe_of, source_of
from tests.report.pages import EVIL, Outline, assert_harmless, assert_pictures_have_words, page_of
from tests.test_same_bytes import math_rows, web_rows


def evil_rows():
    """Markup where a report shows text: in windows, rejects, copies and clusters."""
    rows = [{"text": EVIL + f"kept {k} " * 30} for k in range(20)]
    rows += [{"text": EVIL + "copied " * 30}] * 3
    rows += [{"text": EVIL + f"near {'word ' * 300}{k}"} for k in range(3)]
    return [*rows, {"text": EVIL + "short"}, {"text": 7}]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    jobs.write_rows(folder / "web.jsonl", web_rows())
    jobs.write_rows(folder / "math.jsonl", math_rows())
    jobs.write_rows(folder / "evil.jsonl", evil_rows())
    no_filter = {**jobs.NO_FILTER, "min_words": 12}
    return recipe_of(
        [
            source_of("web", folder / "web.jsonl", 0.6, filter={}),
            source_of("math", folder / "math.jsonl", 0.3, domain="math", filter={}),
            source_of("evil", folder / "evil.jsonl", 0.1, filter=no_filter),
            source_of("aside", folder / "web.jsonl", 0, domain="code", filter={}),
        ],
        train_tokens=200_000,
        seq_len=2048,
    )


@pytest.fixture(scope="module")
def corpus(recipe, tmp_path_factory):
    return build(tmp_path_factory.mktemp("corpus"), recipe, "--direct_num_workers=1")


@pytest.mark.parametrize(
    "options",
    [("--piece_bytes=3000",), ("--piece_bytes=10000", "--direct_runner_bundle_repeat=2")],
    ids=["pieces", "replayed"],
)
def test_the_same_report_however_it_is_built(corpus, recipe, tmp_path, options):
    other = build(tmp_path, recipe, *options)
    assert page_of(other.folder) == page_of(corpus.folder)
    assert other.manifest == corpus.manifest


def test_no_text_of_a_document_becomes_markup_and_the_page_asks_for_nothing(corpus):
    assert_harmless(page_of(corpus.folder))


def test_pictures_have_words(corpus):
    assert_pictures_have_words(page_of(corpus.folder), more_than=20)


def test_the_page_shows_what_became_of_documents(corpus):
    page = page_of(corpus.folder)
    account = corpus.ledger("aside")
    assert account["exact_duplicate"] > 300
    for words in (
        f"exact duplicates {account['exact_duplicate'] / account['read']:.1%}",
        "aside loses",
        " different texts",
        " copies",
        "began in an earlier window",
        "94.7% at 0.8",
        "min 50",
        corpus.manifest["recipe_sha256"],
    ):
        assert words in page, words


def test_the_manifest_tells_warnings_and_checksum_of_the_report(corpus):
    kinds = {(w["kind"], w["source"]) for w in corpus.manifest["warnings"]}
    assert ("step_loss", "aside") in kinds
    told = corpus.manifest["report"]
    page = (corpus.folder / told["file"]).read_bytes()
    assert hashlib.sha256(page).hexdigest() == told["sha256"]
    assert list(problems(str(corpus.folder))) == []


def test_the_terminal_tells_warnings_and_where_the_report_is(corpus):
    console = Console(record=True, width=200)
    print_summary(str(corpus.folder), console)
    shown = console.export_text().splitlines()
    assert corpus.manifest["warnings"]
    for warning in corpus.manifest["warnings"]:
        assert f"warning: {warning['message']}" in shown
    assert f"report: {corpus.folder}/report.html" in shown


def test_verify_sees_another_report(recipe, tmp_path):
    corpus = build(tmp_path, recipe)
    path = corpus.folder / "report.html"
    path.write_bytes(path.read_bytes() + b" ")
    assert [line.partition("report.html")[2] for line in problems(str(corpus.folder))] == [
        ": its sha256 is not that of the manifest"
    ]
    path.unlink()
    assert [line.partition("report.html")[2] for line in problems(str(corpus.folder))] == [
        " is missing"
    ]


@pytest.mark.parametrize("rows", [[], [{"text": "too short"}]])
def test_a_corpus_of_nothing_has_a_report(tmp_path, rows):
    path = jobs.write_rows(tmp_path / "in.jsonl", rows)
    corpus = build(tmp_path, recipe_of([source_of("web", path, filter={})]))
    assert "There are no windows." in page_of(corpus.folder)
    Outline(page_of(corpus.folder))


def test_when_to_warn_is_no_part_of_a_corpus(tmp_path):
    source = source_of("web", Path(DEMO) / "web.jsonl.gz", filter={})
    plain = build(tmp_path, recipe_of([source]))
    strict = build(tmp_path, recipe_of([source], warn={"step_loss": 0}))
    assert strict.hashes() == plain.hashes()
    assert strict.manifest["recipe_sha256"] == plain.manifest["recipe_sha256"]
    assert len(strict.manifest["warnings"]) > len(plain.manifest["warnings"])
