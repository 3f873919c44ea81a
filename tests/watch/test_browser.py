"""The page in a real browser: it follows the folder without a reload."""

import pytest
from browser import CHROMIUM, browser
from hand_made import add_rows, entry, grid, row, serving, table, write

from softaug.training.run_folder import locked
from softaug.watch import glance

TEXT = "document.body.innerText"
ROWS = """[...document.querySelectorAll('#runs tr:not(.group)')].map(row =>
    [...row.cells].map(cell => cell.innerText.replace(/\\s+/g, ' ').trim()).join(' | '))"""
GROUPS = "[...document.querySelectorAll('#runs .group')].map(row => row.innerText.trim().slice(2))"
SCROLL = "document.documentElement.scrollWidth"
EVIL = "<img src=x onerror=document.body.remove()>"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(autouse=True)
def look_each_time(monkeypatch):
    monkeypatch.setattr(glance, "SECONDS", 0)
    monkeypatch.setattr(glance, "SHARE", 0)


def change(field, value, event):
    """JavaScript that changes a field as a reader would."""
    found = f"document.getElementById({field!r})"
    return f"{found}.value = {value!r}, {found}.dispatchEvent(new Event({event!r}))"


def test_a_run_goes_from_waiting_to_finished_before_ones_eyes(page, tmp_path):
    run = tmp_path / "runs/a-seed0"
    with serving(tmp_path) as server:
        page.open(server.url)
        page.wait(f"{TEXT}.includes('No runs yet')")
        page.run("window.sameAsBefore = true")
        write(grid(entry("a-seed0"), entry("b-seed0")), tmp_path / "grid.json")
        page.wait(f"{TEXT}.includes('0 of 2 runs finished')")
        with locked(run):
            add_rows(run, row(1), row(2, test_error=0.5))
            page.wait("document.querySelectorAll('.curve').length === 2")
            assert "a-seed0 | ▶ running | 2 of 4 | " in page.run(ROWS)[0]
            write({"split": "test", "error": 0.25}, run / "result.json")
            write({"split": "test", "sets": {"test": {"error": 0.125}}}, run / "evaluation.json")
        write(table(12.5), tmp_path / "table1.json")
        page.wait(f"{TEXT}.includes('12.50 (partial)')")
        assert page.run(ROWS)[1] == "a-seed0 | ✓ finished | 2 of 4 |  | 12.50 % test error"
    assert page.run("document.title").startswith("1/2 ")
    assert page.run("document.getElementById('news').textContent") == "a-seed0: finished."
    assert page.run("window.sameAsBefore")  # never reloaded
    assert page.told == []


def many(tmp_path):
    """300 runs: three begun, one failed with a message that would be markup."""
    runs = [entry(f"a{EVIL if seed == 7 else ''}-seed{seed}") for seed in range(300)]
    for seed, one in enumerate(runs):
        one |= {"folder": f"runs/{seed}", "exhibits": ["table1"] if seed < 200 else ["table2"]}
    for seed in (7, 8, 9):
        add_rows(tmp_path / f"runs/{seed}", row(1, test_error=0.1 * (10 - seed)))
    write({"message": f"refused: {EVIL}"}, tmp_path / "runs/5/failure.json")
    write(grid(*runs), tmp_path / "grid.json")
    write(table(12.5, label=EVIL), tmp_path / "table1.json")


def test_300_runs_can_be_grouped_filtered_and_sorted(page, tmp_path):
    many(tmp_path)
    with serving(tmp_path) as server:
        page.open(server.url)
        page.wait(f"{TEXT}.includes('0 of 300 runs finished')")
        page.wait("document.querySelectorAll('.curve').length === 6")
        assert [group.split()[0] for group in page.run(GROUPS)] == ["Failed", "Begun", "Waiting"]
        assert len(page.run(ROWS)) == 4  # the many that wait are folded away
        page.run("document.querySelector('[data-column=error] button').click()")
        assert [text[-14:] for text in page.run(ROWS)[1:]] == [
            "10.00 % so far",
            "20.00 % so far",
            "30.00 % so far",
        ]
        page.run(change("find", "seed29 wait", "input"))
        assert page.run("document.getElementById('shown').textContent") == "11 of 300 runs"
        page.run(change("find", "", "input"))
        page.run(change("group", "exhibits", "change"))
        words = ["Table 1 0 of 200 runs finished, 1 failed", "Table 2 0 of 100 runs finished"]
        assert page.run(GROUPS) == words


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_fits_and_names_are_only_text(page, tmp_path, width):
    many(tmp_path)
    with serving(tmp_path) as server:
        page.open(server.url, width)
        page.wait("document.querySelectorAll('.curve').length === 6")
        page.run("document.querySelector('details').open = true")
        page.wait("document.querySelector('details table')")
        shown = page.run(TEXT)
        assert shown.count(EVIL) >= 3  # a name, a reason, a row of the table
        assert page.run("document.querySelectorAll('img').length") == 0
        assert page.run(SCROLL) <= width
    assert page.told == []


def test_a_tick_draws_a_run_and_keeps_the_focus_when_rows_move(page, tmp_path):
    many(tmp_path)
    with serving(tmp_path) as server:
        page.open(server.url)
        page.wait("document.querySelectorAll('.curve').length === 6")
        ticks = "document.querySelectorAll('#runs input:checked')"
        page.run(f"{ticks}[0].focus(), {ticks}[0].click()")
        page.wait("document.querySelectorAll('.curve').length === 4")
        name = "document.activeElement.getAttribute('aria-label')"
        assert page.run(name) == f"Draw the curves of a{EVIL}-seed7"
        write({"message": "no memory"}, tmp_path / "runs/7/failure.json")
        page.wait(f"{TEXT}.includes('2 failed')")
        assert page.run(name) == f"Draw the curves of a{EVIL}-seed7"


def test_a_server_that_goes_away_is_missed_and_found_again(page, tmp_path):
    write(grid(entry("a-seed0")), tmp_path / "grid.json")
    with serving(tmp_path) as server:
        page.open(server.url)
        page.wait(f"{TEXT}.includes('Live: ')")
        port = server.server_port
    page.wait(f"{TEXT}.includes('The server has not answered since')")
    assert "a-seed0" in page.run(TEXT)  # what was known is still shown
    add_rows(tmp_path / "runs/a-seed0", row(1))
    with serving(tmp_path, port):
        page.wait(f"{TEXT}.includes('1 begun')")
        assert "has not answered" not in page.run(TEXT)
