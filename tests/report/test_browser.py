"""The report in a browser: nothing sticks out or lies on something else at any width."""

import json
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

from tests.report.pages import page_of
from tests.report.test_job import corpus, recipe  # noqa: F401 (fixtures)
from tests.report.test_traces_job import traces  # noqa: F401 (a fixture)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
)
WIDTHS = (380, 800, 1400)

# Frames, as a window of a headless browser cannot be made as narrow as a phone.
MEASURE = """
const found = {};
for (const frame of document.querySelectorAll('iframe')) {
  const page = frame.contentDocument, wide = page.documentElement.clientWidth;
  for (const details of page.querySelectorAll('details')) details.open = true;
  const out = [...page.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect();
    return !e.closest('.skip') && box.width && (box.right > wide + 1 || box.left < -1);
  });
  const overlaps = [];
  for (const svg of page.querySelectorAll('svg.chart')) {
    const texts = [...svg.querySelectorAll('text')];
    texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
      const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
      if (p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom)
        overlaps.push(a.textContent + ' | ' + b.textContent);
    }));
  }
  found[frame.width] = {
    scroll: page.documentElement.scrollWidth - wide,
    out: out.slice(0, 5).map(e => e.outerHTML.slice(0, 99)),
    overlaps: overlaps,
    charts: page.querySelectorAll('svg.chart').length,
  };
}
document.body.textContent = 'FOUND' + JSON.stringify(found) + 'END';
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize(("kind", "charts"), [("corpus", 20), ("traces", 5)])
def test_the_page_fits_phones_tablets_and_screens(request, kind, charts, tmp_path):
    page = page_of(request.getfixturevalue(kind).folder)
    frames = "".join(
        f'<iframe width={width} height=900 srcdoc="{escape(page)}"></iframe>' for width in WIDTHS
    )
    holder = tmp_path / "holder.html"
    holder.write_text(
        f"<!doctype html><meta charset=utf-8><body>{frames}"
        f"<script>onload = () => {{ {MEASURE} }}</script>"
    )
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", str(holder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(unescape(re.search(r"FOUND(.*)END", done.stdout)[1]))
    assert list(found) == [str(width) for width in WIDTHS]
    for measured in found.values():
        assert measured.pop("charts") > charts
        assert measured == {"scroll": 0, "out": [], "overlaps": []}
