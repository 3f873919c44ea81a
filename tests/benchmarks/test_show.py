"""Timing and tables: rounds, ratios, bounds, the page's markers, the JSON file."""

import io
import json
import math
from dataclasses import replace

import pytest
import torch
from rich.console import Console

from benchmarks import SUITES, run_bench
from benchmarks.run import as_markdown, print_tables, write_markdown
from benchmarks.timing import MISSING, Bound, Row, Spread, Table, Timing, interleave

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
    console = quiet()
    print_tables([replace(TABLE, bounds=[Bound("a / b", 9, 8)])], console)
    assert "FAIL: a / b = 9, must be at most 8" in console.file.getvalue()
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
    with pytest.raises(ValueError, match="<!-- bench:pairs -->"):
        write_markdown({"pairs": [TABLE]}, WHERE, page)
    assert page.read_text() == text


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


def test_an_unknown_suite_and_no_rounds_are_refused():
    with pytest.raises(ValueError, match="did you mean 'crop'"):
        run_bench(("crops",), console=quiet())
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        run_bench(("memory",), rounds=0, console=quiet())


def test_ratio_compares_within_each_round():
    timing = Timing({"a": [2.0, 20.0, 4.0], "b": [1.0, 10.0, 1.0]})
    assert timing.ratio("a", "b") == Spread(median=2.0, low=2.0, high=3.0)
    assert timing.median("a") == 4.0


def test_variants_take_turns_in_every_round():
    calls = []
    variants = {name: lambda name=name: calls.append(name) for name in "ab"}
    timing = interleave(variants, rounds=3, sample_seconds=0)
    assert "".join(calls)[-6:] == "ababab"
    assert [len(seconds) for seconds in timing.seconds.values()] == [3, 3]


def test_timing_uses_one_thread_and_gives_the_others_back_even_after_an_error():
    before, seen = torch.get_num_threads(), []

    def fail():
        seen.append(torch.get_num_threads())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interleave({"a": fail}, rounds=1)
    assert (seen, torch.get_num_threads()) == ([1], before)


def test_a_bound_passes_up_to_and_at_its_limit():
    for value, limit, at_least, passed in (
        (1.3, 1.3, False, True),
        (1.31, 1.3, False, False),
        (10, 10, True, True),
        (9.9, 10, True, False),
        (math.nan, 10, True, False),
        (math.nan, 10, False, False),
    ):
        assert Bound("rule", value, limit, at_least).passed is passed
