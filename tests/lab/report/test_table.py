"""The table in the terminal."""

import io
import json

from rich.console import Console

from softaug.lab.report import print_table, summarise
from softaug.lab.report.table import run_rows, table_rows


def printed(results):
    console = Console(file=io.StringIO(), width=80)
    print_table(results, console)
    return console.file.getvalue()


def test_rows_carry_mean_standard_error_and_the_best(results):
    error = table_rows(summarise(results))[0]
    assert [(cell.mean, cell.se, cell.best) for cell in error.cells] == [
        ("5.00", "0.58", False),
        ("5.00", "0.00", False),
        ("3.00", "0.64", True),
    ]


def test_the_terminal_shows_every_row_and_the_verdicts_in_80_columns(results):
    text = printed(results)
    for row in table_rows(summarise(results)):
        assert row.name in text
    assert "3.00 ± 0.64 *" in text
    assert "n = 3" in text
    assert "better in 4 of 7 measures" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_markup_in_names_is_printed_as_it_is(results):
    results["arms"][0]["name"] = "[red]x[/red]"
    assert "[red]x[/red]" in printed(results)


def test_a_result_file_prints_the_same(results, tmp_path):
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results))
    assert printed(file) == printed(results)


def test_every_run_has_a_row(results):
    rows = run_rows(results["arms"])
    assert len(rows) == 9
    assert rows[0].shown[:3] == ("4.00", "0.080", "2.00")
