"""index.html of a grid: what it says, and when it is written."""

import re
import threading

import pytest
from grid_runs import finish, planned

from softaug.checks import NotFiniteError
from softaug.lab.reproduce import status_page
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.run_one import save_divergence, save_failure
from softaug.lab.reproduce.status_page import StatusPage


@pytest.fixture
def grid(tmp_path):
    """A grid with runs in every end state, and its page."""
    plan = planned(tmp_path, "table6", "demo", seeds=1)
    finished, failed, diverged, *_ = plan.runs
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
    for part in (
        "2 of 11 runs have ended , about 13 min left",
        "1 finished , 1 diverged , 1 failed , 8 waiting",
        "out of &lt;memory&gt;",
        "line 49",
        "the loss is nan",
        "Baseline error 20.00 (n = 1) 20.80 ± 0.11",
    ):
        assert part in told
    assert "line 5 " not in told
    assert 'href="table6.json"' in page.read_text()


def test_the_page_is_written_again_while_runs_go_on_and_then_does_not_reload(grid, monkeypatch):
    monkeypatch.setattr(status_page, "RELOAD_SECONDS", 0.05)
    written = threading.Event()
    with grid.keep_updated(written.set):
        assert written.wait(30)
    page = grid.write(live=False)
    assert "refresh" not in page.read_text()
    assert "no command is at work" in words(page)
