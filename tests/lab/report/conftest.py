"""A real browser for the tests of pages."""

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


@pytest.fixture(scope="session")
def browse():
    """Open `page` in a `frame` that writes what it measures; (what it wrote, stderr)."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")

    def opened(frame, page, width, folder):
        text = json.dumps(page).replace("</", "<\\/")
        (folder / "frame.html").write_text(frame.format(width=width, page=text))
        place = [f"--user-data-dir={folder / 'profile'}", f"--window-size={width + 50},900"]
        command = [CHROMIUM, *QUIET, *place, "--dump-dom", (folder / "frame.html").as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return re.search(r'<pre id="measured">(.*?)</pre>', done.stdout)[1], done.stderr

    return opened
