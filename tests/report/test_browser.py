"""The page in a real browser: no console message, no sideways scrolling, figures drawn."""

import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--enable-logging=stderr",
]

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


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [360, 1200])
def test_page_fits_and_is_silent(page_text, tmp_path, width):
    page = json.dumps(page_text).replace("</", "<\\/")
    (tmp_path / "frame.html").write_text(FRAME.format(width=width, page=page))
    place = [f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width + 50},900"]
    command = [CHROMIUM, *QUIET, *place, "--dump-dom", (tmp_path / "frame.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    measured = json.loads(re.search(r'<pre id="measured">(.*?)</pre>', done.stdout)[1])
    assert "CONSOLE" not in done.stderr
    assert measured["scroll"] <= measured["inner"] <= width
    assert measured["outside"] == 0
    assert len(measured["figures"]) == 8
    assert min(measured["figures"]) > 150
    assert min(measured["letters"]) > 10.5  # pixels
