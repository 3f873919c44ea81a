"""The page in a real browser: silent, within its width, figures drawn, tables at work."""

import base64
import json

import pytest

# The page runs only its own script; the frame around it looks and presses buttons.
FRAME = """<!doctype html><iframe style="width: {width}px; height: 800px; border: 0"></iframe>
<pre id="measured"></pre><script>
const letter = text => {{
  const scale = text.getScreenCTM();
  return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b);
}};
const frame = document.querySelector("iframe");
frame.onload = () => {{
  const page = frame.contentDocument, right = page.documentElement.clientWidth;
  page.querySelectorAll("details").forEach(part => part.open = true);
  const out = [...page.querySelectorAll("body *")].filter(e => !e.closest(".scroll, pre, .skip"));
  const table = page.getElementById("every-run"), formats = frame.contentWindow.softaugTables;
  const column = () => [...table.tBodies[0].rows].map(row => row.cells[2].textContent.trim());
  const head = table.tHead.rows[0].cells[2], orders = [column()], states = [];
  for (let turn = 0; turn < 3; turn++) {{
    head.querySelector("button").click();
    orders.push(column());
    states.push(head.getAttribute("aria-sort"));
  }}
  const main = page.getElementById("all-measures");
  const copied = Object.fromEntries(Object.entries(formats).map(([n, f]) => [n, f(main)]));
  const shown = JSON.stringify({{
    inner: right,
    scroll: page.documentElement.scrollWidth,
    outside: out.filter(e => e.getBoundingClientRect().right > right + 1).length,
    figures: [...page.querySelectorAll("figure > svg")].map(e => e.getBoundingClientRect().height),
    letters: [...page.querySelectorAll("figure > svg text")].map(letter),
    pictures: [...page.images].map(image => image.naturalWidth),
    buttons: page.querySelectorAll(".tools button").length,
    tables: page.querySelectorAll("table[data-label]").length,
    orders, states, copied,
  }});
  document.getElementById("measured").textContent = btoa(unescape(encodeURIComponent(shown)));
}};
frame.srcdoc = {page};
</script>"""


@pytest.fixture(scope="module", params=[360, 1200])
def measured(request, browse, page_text, tmp_path_factory):
    shown, told = browse(FRAME, page_text, request.param, tmp_path_factory.mktemp("browser"))
    return {**json.loads(base64.b64decode(shown)), "told": told, "width": request.param}


def test_page_fits_and_is_silent(measured):
    assert "CONSOLE" not in measured["told"]
    assert measured["scroll"] <= measured["inner"] <= measured["width"]
    assert measured["outside"] == 0


def test_all_figures_and_pictures_are_drawn(measured):
    assert len(measured["figures"]) == 12
    assert min(measured["figures"]) > 100
    assert min(measured["letters"]) > 10.5  # pixels
    assert measured["pictures"] == [8] * 5  # three whole, one at two hidden shares


def test_a_heading_sorts_up_down_and_back(measured):
    before, up, down, back = measured["orders"]
    assert before == back == ["10.00", "14.00", "6.00", "9.00"]
    assert up == ["6.00", "9.00", "10.00", "14.00"]
    assert down == up[::-1]
    assert measured["states"] == ["ascending", "descending", "none"]


def test_tables_are_copied_in_three_formats(measured):
    assert measured["buttons"] == 3 * measured["tables"]
    copied = measured["copied"]
    assert copied["Markdown"].splitlines()[:3] == [
        "| Measure | hard | soft |",
        "| --- | ---: | ---: |",
        "| Error, % ↓ | 12.00 ± 2.00 | **7.50 ± 1.50** |",
    ]
    latex = r"Error, \%~$\downarrow$ & 12.00 $\pm$ 2.00 & \textbf{7.50 $\pm$ 1.50} \\"
    assert latex in copied["LaTeX"].splitlines()
    head, first = copied["CSV"].splitlines()[:2]
    assert head.startswith("Measure,hard mean,hard standard error,hard n,soft mean")
    assert first.startswith('"Error, %",12.000000000000002,2.0000000000000004,2,7.5')
