"""Pages of reports, for tests."""

import re
from html.parser import HTMLParser
from pathlib import Path

EVIL = "</style></pre><script>alert(1)</script><img src=x onerror=alert(2)> \u202egnp.exe \x1b[2J "


def page_of(folder: Path) -> str:
    """The report of something finished."""
    return (folder / "report.html").read_text(encoding="utf-8")


class Outline(HTMLParser):
    """Elements of a page, each of which must be closed in order."""

    VOID = frozenset(("meta", "link"))

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element."""
        self.found.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Checks what it closes."""
        assert self._open.pop() == tag


def assert_harmless(page: str) -> None:
    """`EVIL` is in the page, as text only; nothing is asked for and nothing runs."""
    outline = Outline(page)
    assert not {"script", "img"} & set(outline.found)
    assert outline.found.count("style") == 1
    assert page.count("&lt;script&gt;alert(1)") >= 4
    assert not set(page) & {"\x1b", "\u202e"}
    assert "‹U+202E›gnp.exe ␛[2J" in page
    loads = [(k, v) for k, v in outline.attributes if k in ("src", "href", "srcset", "data")]
    assert loads
    assert all(value.startswith("#") or value == "data:," for _, value in loads)
    assert not [key for key, _ in outline.attributes if key.startswith("on")]
    assert "url(" not in page
    assert "@import" not in page
    ids = [value for key, value in outline.attributes if key == "id"]
    assert len(set(ids)) == len(ids)
    assert {value[1:] for _, value in loads if value.startswith("#")} <= set(ids)


def assert_pictures_have_words(page: str, more_than: int) -> None:
    """Every picture has a label, or is hidden from those who would need one."""
    charts = re.findall(r"<svg [^>]*>", page)
    assert len(charts) > more_than
    assert all("aria-label=" in svg or 'aria-hidden="true"' in svg for svg in charts)
