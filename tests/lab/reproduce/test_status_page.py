"""index.html of a grid: what it says, and that a browser shows it."""

import re
import shutil
import subprocess
import threading

import pytest
from run_files import finish, planned

from softaug.checks import NotFiniteError
from softaug.lab.reproduce import status_page
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.run_one import save_divergence, save_failure
from softaug.lab.reproduce.status_page import StatusPage

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture
def grid(tmp_path):
    """A grid with runs in every end state, and its page."""
    plan = planned(tmp_path, "table6", "demo", seeds=1)
    finished, failed, diverged, *_ = (one.run for one in plan.runs)
    finish(finished.folder, error=0.2)
    save_failure(failed.folder, "out of <memory>")
    (failed.folder / "log.txt").write_text("\n".join(f"line {number}" for number in range(50)))
    save_divergence(diverged.folder, diverged.recipe, NotFiniteError("the loss is nan"))
    collector = Collector(plan, tmp_path)
    collector.collect([table.name for table in plan.tables])
    return StatusPage(plan, collector)


def words(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.read_text()))


def test_the_page_has_states_failures_time_left_and_tables(grid):
    page = grid.write(754.0, live=True)
    assert 'http-equiv="refresh"' in page.read_text()
    told = words(page)
    assert "2 of 11 runs have ended , about 13 min left" in told
    assert "1 finished , 1 diverged , 1 failed , 8 waiting" in told
    assert "out of &lt;memory&gt;" in told
    assert "line 49" in told
    assert "line 5 " not in told
    assert "the loss is nan" in told
    assert "Baseline 20.00 (n = 1) 20.80 ± 0.11" in told
    assert 'href="table6.json"' in page.read_text()


def test_the_page_of_a_grid_at_rest_does_not_reload(grid):
    page = grid.write(live=False)
    assert "refresh" not in page.read_text()
    assert "no command is at work" in words(page)


def test_the_page_is_written_again_while_runs_go_on(grid, monkeypatch):
    monkeypatch.setattr(status_page, "RELOAD_SECONDS", 0.05)
    written = threading.Event()

    def seconds_left():
        written.set()

    with grid.keep_updated(seconds_left):
        assert written.wait(30)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("width", [500, 1200])
def test_a_browser_shows_the_page_without_sideways_scrolling(grid, tmp_path, width):
    page = grid.write(754.0, live=True)
    root = "document.documentElement"
    measure = f"<script>document.title = {root}.scrollWidth + ' of ' + innerWidth</script></body>"
    copy = tmp_path / "copy.html"
    copy.write_text(page.read_text().replace("</body>", measure))
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    command = [CHROMIUM, *quiet, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    shown = subprocess.run([*command, copy.as_uri()], capture_output=True, text=True, timeout=120)
    needed, there = re.search(r"<title>(\d+) of (\d+)</title>", shown.stdout).groups()
    assert int(needed) <= int(there)
    assert "out of &lt;memory&gt;" in shown.stdout
