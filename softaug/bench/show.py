"""Tables for a terminal and for docs/performance.md."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from softaug.bench.table import Bound, Row, Table
from softaug.checks import refuse

Results = Mapping[str, list[Table]]


def print_tables(tables: list[Table], console: Console) -> None:
    """Each table, then its bounds with pass or FAIL."""
    for table in tables:
        shown = RichTable(title=_title(table), title_justify="left")
        for name, justify in zip(_heads(table), ("left", "right", "right", "right"), strict=True):
            shown.add_column(name, justify=justify)  # type: ignore[arg-type]
        for row in table.rows:
            shown.add_row(*map(escape, _cells(row)))  # [peers] is no markup
        console.print(shown)
        for line in _remarks(table):
            console.print(line, markup=False, highlight=False)


def _title(table: Table) -> str:
    return f"{table.title} (1 = {table.per})"


def _heads(table: Table) -> list[str]:
    return ["variant", "ratio", "quartiles", table.unit]


def _cells(row: Row) -> list[str]:
    if row.ratio is None or row.amount is None:
        return [f"{row.name}: {row.note}", "", "", ""]
    quartiles = f"{_short(row.ratio.low)} - {_short(row.ratio.high)}"
    return [row.name, _short(row.ratio.median), quartiles, _short(row.amount)]


def _short(number: float) -> str:
    """Three digits: 0.0123, 1.23, 123.

    >>> _short(0.01234), _short(1.2345), _short(123.4), _short(12345.0)
    ('0.0123', '1.23', '123', '12345')
    """
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _remarks(table: Table) -> list[str]:
    return [describe_bound(bound) for bound in table.bounds] + table.notes


def describe_bound(bound: Bound) -> str:
    """The promise, the value measured, and whether it is kept.

    >>> describe_bound(Bound("soft / hard", 1.2, 1.3))
    'pass: soft / hard = 1.2, must be at most 1.3'
    """
    word = "at least" if bound.at_least else "at most"
    verdict = "pass" if bound.passed else "FAIL"
    return f"{verdict}: {bound.rule} = {_short(bound.value)}, must be {word} {bound.limit:g}"


def write_markdown(results: Results, environment: Mapping[str, Any], path: Path) -> None:
    """Put each suite's tables between its two marker comments in `path`; keep the prose."""
    check_markers(tuple(results), path)
    text = path.read_text()
    for suite, tables in results.items():
        text = _between_markers(text, suite, as_markdown(tables, environment))
    path.write_text(text)


def check_markers(suites: Sequence[str], path: Path) -> None:
    """Refuse a page that is not there or lacks a suite's two marker comments."""
    if not path.is_file():
        refuse("bench", "markdown must be a page with marker comments", path)
    for suite in suites:
        first, last = _markers(suite)
        if not _marked(suite).search(path.read_text()):
            refuse("bench", f"{path} must hold the comments {first} and {last}", "neither or one")


def _markers(suite: str) -> tuple[str, str]:
    return f"<!-- bench:{suite} -->", f"<!-- /bench:{suite} -->"


def _marked(suite: str) -> re.Pattern[str]:
    first, last = _markers(suite)
    return re.compile(re.escape(first) + ".*?" + re.escape(last), re.DOTALL)


def _between_markers(text: str, suite: str, block: str) -> str:
    first, last = _markers(suite)
    return _marked(suite).sub(lambda _: f"{first}\n{block}\n{last}", text, count=1)


def as_markdown(tables: list[Table], environment: Mapping[str, Any]) -> str:
    """Tables, bounds and where they were measured."""
    parts = [part for table in tables for part in (*_markdown_table(table), "")]
    return "\n".join([*parts, _stamp(environment)])


def _markdown_table(table: Table) -> list[str]:
    lines = [f"**{_title(table)}**", "", _line(_heads(table)), "|---|---:|---:|---:|"]
    lines += [_line(_cells(row)) for row in table.rows]
    remarks = [f"- {remark}" for remark in _remarks(table)]
    return [*lines, "", *remarks] if remarks else lines


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _stamp(environment: Mapping[str, Any]) -> str:
    shown = "; ".join(f"{name} {value}" for name, value in environment.items())
    return f"<sub>{shown}</sub>"
