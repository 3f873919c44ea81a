import io
import json

import pytest
from rich.console import Console

from benchmarks import SUITES, run_bench
from benchmarks.run import as_markdown, print_tables, write_markdown
from benchmarks.timing import MISSING, Bound, Row, Spread, Table

ROWS = [
    Row("base", Spread(1, 1, 1), 0.5),
    Row("ours", Spread(2.345, 2.1, 2.6), 1.17),
    Row("kornia", note=MISSING),
]
TABLE = Table("Crop", "base", "ms", ROWS, [Bound("ours / base", 2.345, 8)], ["A remark."])
WHERE = {"commit": "abc", "cpu": "EPYC"}


def quiet():
    return Console(file=io.StringIO(), width=120)


def test_markdown_holds_rows_bounds_remarks_and_stamp():
    lines = as_markdown([TABLE], WHERE).splitlines()
    assert lines[0] == "**Crop (1 = base)**"
    assert "| ours | 2.35 | 2.1 - 2.6 | 1.17 |" in lines
    assert f"| kornia: {MISSING} |  |  |  |" in lines
    assert "- pass: ours / base = 2.35, must be at most 8" in lines
    assert "- A remark." in lines
    assert lines[-1] == "<sub>commit abc; cpu EPYC</sub>"


def test_markdown_replaces_only_what_is_between_the_suites_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Prose.\n<!-- bench:crop -->\nold\n<!-- /bench:crop -->\nMore.\n"
        "<!-- bench:loss -->\nkept\n<!-- /bench:loss -->\nEnd.\n"
    )
    for _ in range(2):  # a second run changes nothing more
        write_markdown({"crop": [TABLE]}, WHERE, page)
    text = page.read_text()
    assert text.startswith("Prose.\n<!-- bench:crop -->\n**Crop (1 = base)**")
    assert "old" not in text
    assert text.endswith(
        "<!-- /bench:crop -->\nMore.\n<!-- bench:loss -->\nkept\n<!-- /bench:loss -->\nEnd.\n"
    )
    assert text.count("**Crop") == 1


def test_a_page_without_markers_is_refused_and_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Prose.\n")
    with pytest.raises(ValueError, match="<!-- bench:crop -->"):
        write_markdown({"crop": [TABLE]}, WHERE, page)
    assert page.read_text() == "Prose.\n"


def test_a_terminal_shows_a_failed_bound_in_capitals():
    console = quiet()
    print_tables([Table("T", "base", "ms", ROWS, [Bound("a / b", 9, 8)])], console)
    shown = console.file.getvalue()
    assert "FAIL: a / b = 9, must be at most 8" in shown
    assert MISSING in shown


def test_run_writes_json_with_environment_and_verdicts(tmp_path):
    out = tmp_path / "bench.json"
    run_bench(("memory",), rounds=1, out=out, console=quiet())
    written = json.loads(out.read_text())
    assert {"commit", "cpu", "date", "torch", "kornia", "threads"} <= set(written["environment"])
    (table,) = written["suites"]["memory"]
    assert table["bounds"][0]["passed"] is True


def test_every_suite_has_its_place_in_the_page(request):
    page = (request.config.rootpath / "docs" / "performance.md").read_text()
    for suite in SUITES:
        assert page.count(f"<!-- bench:{suite} -->") == page.count(f"<!-- /bench:{suite} -->") == 1


def test_an_unknown_suite_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'crop'"):
        run_bench(("crops",), console=quiet())


def test_no_rounds_are_refused():
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        run_bench(("memory",), rounds=0, console=quiet())
