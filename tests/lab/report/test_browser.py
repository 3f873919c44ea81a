"""The page in a real browser: no console message, no sideways scrolling, figures drawn."""

import json

import pytest

# The page itself forbids scripts; the frame around it measures it.
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
  document.getElementById("measured").textContent = JSON.stringify({{
    inner: right,
    scroll: page.documentElement.scrollWidth,
    outside: out.filter(e => e.getBoundingClientRect().right > right + 1).length,
    figures: [...page.querySelectorAll("figure > svg")].map(e => e.getBoundingClientRect().height),
    letters: [...page.querySelectorAll("figure > svg text")].map(letter),
  }});
}};
frame.srcdoc = {page};
</script>"""


@pytest.mark.parametrize("width", [360, 1200])
def test_page_fits_and_is_silent(browse, page_text, tmp_path, width):
    shown, told = browse(FRAME, page_text, width, tmp_path)
    measured = json.loads(shown)
    assert "CONSOLE" not in told
    assert measured["scroll"] <= measured["inner"] <= width
    assert measured["outside"] == 0
    assert len(measured["figures"]) == 8
    assert min(measured["figures"]) > 150
    assert min(measured["letters"]) > 10.5  # pixels
