"""A page with figure and table in a real browser, on a phone and on a desk."""

import json

import pytest

from softaug.lab.report.exhibits.draw import draw_exhibit
from softaug.lab.report.exhibits.page import render

# The page itself forbids scripts; the frame around it measures it.
FRAME = """<!doctype html><iframe style="width: {width}px; height: 800px; border: 0"></iframe>
<pre id="measured"></pre><script>
const frame = document.querySelector("iframe");
frame.onload = () => {{
  const page = frame.contentDocument, right = page.documentElement.clientWidth;
  const out = [...page.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .skip"));
  document.getElementById("measured").textContent = JSON.stringify({{
    inner: right,
    scroll: page.documentElement.scrollWidth,
    outside: out.filter(e => e.getBoundingClientRect().right > right + 1).length,
    table: page.querySelector("table.exhibit").getBoundingClientRect().width,
    figures: [...page.querySelectorAll("figure > svg")].map(e => e.getBoundingClientRect().height),
  }});
}};
frame.srcdoc = {page};
</script>"""


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_fits_and_is_silent(browse, crops, tmp_path, width):
    page = render(crops, draw_exhibit(crops, tmp_path), "partial: 3 of 6 runs")
    shown, told = browse(FRAME, page, width, tmp_path)
    measured = json.loads(shown)
    assert "CONSOLE" not in told
    assert measured["scroll"] <= measured["inner"] <= width
    assert measured["outside"] == 0
    assert len(measured["figures"]) == 2
    assert min(measured["figures"]) > 150
    if width == 1200:
        assert measured["table"] <= width
