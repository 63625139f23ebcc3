"""Links of the docs lead somewhere."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.markdown import PAGES, ROOT, anchors, links


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_to_files_and_headings(page):
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (ROOT / page).parent / unquote(parts.path) if parts.path else ROOT / page
        assert target.exists(), f"{page}: {link}"
        inside = Path(target).resolve().relative_to(ROOT).as_posix()
        if parts.fragment:
            assert parts.fragment in anchors(inside), f"{page}: {link}"


def test_every_page_of_docs_is_named_in_the_readme():
    named = set(links("README.md"))
    assert {page for page in PAGES if page.startswith("docs/")} <= named
