"""Run suites, show them, keep their numbers."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from benchmarks.crop import crop_suite, scaling_suite
from benchmarks.evaluation import evaluation_suite
from benchmarks.input import input_suite
from benchmarks.loss import loss_suite, memory_suite
from benchmarks.pairs import pairs_suite
from benchmarks.timing import Bound, Row, Table
from benchmarks.training import training_suite
from benchmarks.transforms import noise_erase_suite, policy_suite, two_views_suite
from softaug.checks import check_choice, refuse
from softaug.lab.io import write_json
from softaug.lab.training.logging import environment, package_version

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
    left_out = ("python", "scikit-learn", "platform", "cores")  # bench.json has them
    named = (f"{name} {value}" for name, value in environment.items() if name not in left_out)
    shown = "; ".join(named)
    return f"<sub>{shown}</sub>"


SUITES: Mapping[str, Callable[[int], list[Table]]] = {
    "crop": crop_suite,
    "scaling": scaling_suite,
    "loss": loss_suite,
    "memory": memory_suite,
    "noise-erase": noise_erase_suite,
    "policy": policy_suite,
    "input": input_suite,
    "two-views": two_views_suite,
    "pairs": pairs_suite,
    "training": training_suite,
    "evaluation": evaluation_suite,
}


def run_bench(
    names: tuple[str, ...] = (),
    rounds: int = 25,
    out: Path | None = None,
    markdown: Path | None = None,
    console: Console | None = None,
) -> dict[str, list[Table]]:
    """Run the suites `names` (none means all) and show their tables on `console`.

    All numbers go to `out` as JSON; the tables of `markdown`, such as docs/performance.md,
    are replaced by the new ones.
    """
    for name in names:
        check_choice("bench", "suites", name, tuple(SUITES))
    if rounds < 1:
        refuse("bench", "rounds must be at least 1", rounds)
    if markdown is not None:
        check_markers(names or tuple(SUITES), markdown)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    console = console or Console()
    results = {name: _run_suite(name, rounds, console) for name in names or SUITES}
    where = bench_environment(rounds)
    if out is not None:
        suites = {name: [table.as_json() for table in found] for name, found in results.items()}
        write_json({"environment": where, "suites": suites}, out, indent=2)
    if markdown is not None:
        write_markdown(results, where, markdown)
    return results


def _run_suite(name: str, rounds: int, console: Console) -> list[Table]:
    with console.status(f"{name}: {rounds} rounds"):
        tables = SUITES[name](rounds)
    print_tables(tables, console)
    return tables


def bench_environment(rounds: int) -> dict[str, Any]:
    """Where and how it was measured."""
    peers = {name: package_version(name) for name in ("kornia", "albumentations")}
    return {**environment(), **peers, "threads": 1, "rounds": rounds}
