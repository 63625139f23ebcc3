"""The page as a whole: no script, no font, no request, so it opens offline and stays as it is."""

from importlib import resources
from typing import Any

import yaml

from beam_pipeline.report import distributions, duplicates, flow, passages
from beam_pipeline.report.contents import Report
from beam_pipeline.report.markup import Html, join, tag
from beam_pipeline.report.numbers import count


def render(report: Report) -> bytes:
    """The report as HTML in UTF-8; equal reports give equal bytes."""
    manifest = report.manifest
    name = manifest["recipe"]["name"]
    sections = (
        ("documents", "What became of every document", flow.overview(report)),
        ("steps", "Step by step", flow.steps(report)),
        ("mix", "Mix of the train split", flow.mix(report)),
        ("tokens", "Tokens per byte", flow.tokens_per_byte(report)),
        ("lengths", "Length of documents", distributions.lengths(report)),
        ("filters", "What the filters measured", distributions.filters(report)),
        ("duplicates", "Duplicates", duplicates.section(report)),
        ("windows", "Some windows of train", passages.windows(report)),
        ("rejected", "Rejected documents", passages.rejects(report)),
        ("made", "How it was made", _made(manifest)),
    )
    body = tag(
        "body",
        tag("a", "To the content", href="#documents", class_="skip"),
        tag(
            "header",
            tag("p", "corpusbeam report", class_="kicker"),
            tag("h1", name),
            _tiles(manifest),
            _warnings(manifest["warnings"]),
            tag(
                "nav",
                *(tag("a", key.capitalize(), href=f"#{key}") for key, _, _ in sections),
                aria_label="Sections",
            ),
        ),
        tag(
            "main",
            *(
                tag("section", tag("h2", title), content, id=key)
                for key, title, content in sections
            ),
        ),
    )
    style = resources.files(__package__).joinpath("style.css").read_text()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        # Browsers ask for an icon unless the page has one.
        tag("link", rel="icon", href="data:,"),
        tag("title", f"{name}: corpusbeam report"),
        tag("style", Html(style)),
    )
    page = join(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), Html("\n"))
    return page.encode()


def _tiles(manifest: dict[str, Any]) -> Html:
    splits, total = manifest["splits"], manifest["ledger"]["total"]
    tiles = (
        ("documents read", count(total["read"]["documents"])),
        ("tokens in train", count(splits["train"]["n_document_tokens"])),
        ("tokens in val", count(splits["val"]["n_document_tokens"])),
        (f"windows of {manifest['seq_len']:,}", count(manifest["n_sequences"])),
        ("shards", count(manifest["n_shards"])),
    )
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in tiles),
        class_="tiles",
    )


def _warnings(found: list[dict[str, Any]]) -> Html:
    if not found:
        return tag("p", "No warnings.", class_="calm")
    return tag(
        "section",
        tag("h2", f"{len(found)} warning{'' if len(found) == 1 else 's'}"),
        tag("ul", *(tag("li", warning["message"]) for warning in found)),
        class_="warnings",
    )


def _given(recipe: Any) -> Any:
    """A part of a recipe without the keys that say nothing."""
    if isinstance(recipe, list):
        return [_given(part) for part in recipe]
    if isinstance(recipe, dict):
        return {key: _given(part) for key, part in recipe.items() if part not in (None, {})}
    return recipe


def _made(manifest: dict[str, Any]) -> Html:
    damaged = [
        tag("li", f"{entry['file']}: {entry['kind']}, {entry['detail']}")
        for entry in manifest["damaged_files"]
    ]
    facts = {
        "recipe sha256": manifest["recipe_sha256"],
        "filter hash": manifest["filter_config_hash"],
        "tokenizer": f"{manifest['tokenizer']['name']}, sha256 {manifest['tokenizer']['sha256']}",
        **manifest["versions"],
    }
    rows = [tag("tr", tag("th", key, scope="row"), tag("td", facts[key])) for key in facts]
    return join(
        tag("p", "Hub sources were replaced by generated documents.")
        if manifest["offline_synthetic"]
        else None,
        join(tag("h3", "Damaged files"), tag("ul", *damaged)) if damaged else None,
        tag("h3", "Recipe"),
        tag("pre", yaml.safe_dump(_given(manifest["recipe"]), sort_keys=False, allow_unicode=True)),
        tag("h3", "Versions"),
        tag("table", tag("tbody", *rows), class_="facts"),
    )
