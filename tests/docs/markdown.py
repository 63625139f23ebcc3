"""The project's Markdown files, as their tests see them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (".", "docs", "benchmarks", "beam_pipeline/recipes", "tests/data")
    for path in (ROOT / folder).glob("*.md" if folder in (".", "docs", "benchmarks") else "**/*.md")
)

_PARSER = MarkdownIt("commonmark").enable("table")
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
      line: of the page, from 1.
      language: what stands behind the fence.
      note: the comment right before it, which a reader does not see.
    """

    page: str
    line: int
    language: str
    text: str
    note: str

    @property
    def reason(self) -> str | None:
        """Why it is not run; None if it is."""
        return self.note[len("not run:") :].strip() if self.note.startswith("not run:") else None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def tokens(page: str) -> list[Token]:
    """A page, parsed."""
    return _PARSER.parse((ROOT / page).read_text(encoding="utf-8"))


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    before = ""
    for token in tokens(page):
        if token.type == "fence":
            assert token.map is not None
            yield Block(page, token.map[0] + 1, token.info.strip(), token.content, before)
        comment = _COMMENT.fullmatch(token.content.strip()) if token.type == "html_block" else None
        before = comment[1] if comment else ""


def links(page: str) -> Iterator[str]:
    """Where a page's links and pictures lead."""
    for token in tokens(page):
        for inline in token.children or ():
            target = inline.attrGet("href") or inline.attrGet("src")
            if target:
                yield str(target)


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    parsed = tokens(page)
    for token, inline in pairwise(parsed):
        if token.type == "heading_open":
            text = "".join(
                part.content
                for part in inline.children or ()
                if part.type in ("text", "code_inline")
            )
            plain = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = 0
            anchor = plain
            while anchor in found:
                number += 1
                anchor = f"{plain}-{number}"
            found.add(anchor)
    return found
