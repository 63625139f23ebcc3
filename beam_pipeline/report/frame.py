"""The frame of a report's page: no script, no font, no request, so it opens offline."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import yaml

from beam_pipeline.report.markup import Html, join, tag


class Section(NamedTuple):
    """A section of a page.

    Attributes:
      key: its anchor, also its name in the navigation.
    """

    key: str
    title: str
    content: Html


def page(
    name: str,
    tiles: Iterable[tuple[str, str]],
    warnings: Sequence[dict[str, Any]],
    sections: Sequence[Section],
) -> bytes:
    """A page as HTML in UTF-8.

    Args:
      name: of what is reported on.
      tiles: (what, how much) of the figures to see first.
      warnings: as manifests tell them.
    """
    body = tag(
        "body",
        tag("a", "To the content", href=f"#{sections[0].key}", class_="skip"),
        tag(
            "header",
            tag("p", "corpusbeam report", class_="kicker"),
            tag("h1", name),
            tag(
                "dl",
                *(tag("div", tag("dt", what), tag("dd", value)) for what, value in tiles),
                class_="tiles",
            ),
            _warnings(warnings),
            tag(
                "nav",
                *(tag("a", s.key.capitalize(), href=f"#{s.key}") for s in sections),
                aria_label="Sections",
            ),
        ),
        tag("main", *(tag("section", tag("h2", s.title), s.content, id=s.key) for s in sections)),
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
    whole = join(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), Html("\n"))
    return whole.encode()


def _warnings(found: Sequence[dict[str, Any]]) -> Html:
    if not found:
        return tag("p", "No warnings.", class_="calm")
    return tag(
        "section",
        tag("h2", f"{len(found)} warning{'' if len(found) == 1 else 's'}"),
        tag("ul", *(tag("li", warning["message"]) for warning in found)),
        class_="warnings",
    )


def facts(rows: Mapping[str, object]) -> Html:
    """A table of single facts by name."""
    return tag(
        "table",
        tag(
            "tbody",
            *(tag("tr", tag("th", key, scope="row"), tag("td", rows[key])) for key in rows),
        ),
        class_="facts",
    )


def made(manifest: dict[str, Any], more: Mapping[str, object]) -> Html:
    """How something was made: damage, recipe, versions.

    Args:
      more: further facts for the table of versions.
    """
    damaged = [
        tag("li", f"{entry['file']}: {entry['kind']}, {entry['detail']}")
        for entry in manifest["damaged_files"]
    ]
    tokenizer = manifest["tokenizer"]
    return join(
        join(tag("h3", "Damaged files"), tag("ul", *damaged)) if damaged else None,
        tag("h3", "Recipe"),
        tag("pre", yaml.safe_dump(_given(manifest["recipe"]), sort_keys=False, allow_unicode=True)),
        tag("h3", "Versions"),
        facts(
            {
                "recipe sha256": manifest["recipe_sha256"],
                **more,
                "tokenizer": f"{tokenizer['name']}, sha256 {tokenizer['sha256']}",
                **manifest["versions"],
            }
        ),
    )


def _given(recipe: Any) -> Any:
    """A part of a recipe without the keys that say nothing."""
    if isinstance(recipe, list):
        return [_given(part) for part in recipe]
    if isinstance(recipe, dict):
        return {key: _given(part) for key, part in recipe.items() if part not in (None, {})}
    return recipe
