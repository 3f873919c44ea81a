"""An evaluation or a comparison in the terminal: measures, then what each pair shows."""

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softaug.lab.report.evaluation.calibration_tables import direction
from softaug.lab.report.evaluation.cautions import cautions
from softaug.lab.report.evaluation.reading import read_comparison
from softaug.lab.report.evaluation.shapes import Comparison, Measure, Pair, signed
from softaug.lab.report.evaluation.tables import (
    arrow,
    best_arms,
    difference,
    judged,
    mean_text,
    over_seeds,
    range_text,
)


def print_comparison(path: Path, console: Console) -> None:
    """Print a result file's table and verdicts; plain lines where the console is no terminal."""
    comparison = read_comparison(path)
    if console.is_terminal:
        console.print(_table(comparison))
    else:
        _print_lines(comparison, console)
    best = "; * best mean" if len(comparison["arms"]) > 1 else ""
    _say(console, f"{over_seeds(comparison['arms'])}{best}.")
    for arm in comparison["arms"]:
        _say(console, direction(arm))
    for caution in cautions(comparison):
        _say(console, f"Mind: {caution}")
    for pair in comparison["pairs"]:
        _say(console, f"{pair['arm']} against {pair['against']}:")
        for measure in comparison["measures"]:
            _say(console, f"  {verdict_line(pair, measure)}")


def verdict_line(pair: Pair, measure: Measure) -> str:
    """Measure, difference, interval and verdict."""
    key = measure["key"]
    found, interval, verdict = difference(pair, key), judged(pair, key), pair["verdicts"][key]
    if verdict["over"] == "images" and interval is not None:
        found = interval.value
    shown = "not known" if found is None else signed(measure, found)
    ends = "" if interval is None else f" [{range_text(measure, interval)}]"
    return f"{measure['label']}: {shown}{ends}, {verdict['text']}"


def _say(console: Console, text: str) -> None:
    console.print(Text(text), soft_wrap=True)


def _cell(comparison: Comparison, measure: Measure, place: int) -> tuple[str, bool]:
    arm = comparison["arms"][place]
    return mean_text(measure, arm), arm["name"] in best_arms(comparison, measure)


def _table(comparison: Comparison) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    for arm in comparison["arms"]:
        table.add_column(Text(arm["name"]), justify="right")
    for measure in comparison["measures"]:
        cells = []
        for place in range(len(comparison["arms"])):
            text, best = _cell(comparison, measure, place)
            cells.append(Text(f"{text}{' *' if best else '  '}", "bold" if best else ""))
        table.add_row(Text(f"{measure['label']} {arrow(measure)}"), *cells)
    return table


def _print_lines(comparison: Comparison, console: Console) -> None:
    for place, arm in enumerate(comparison["arms"]):
        _say(console, f"{arm['name']} (n = {len(arm['seeds'])}):")
        for measure in comparison["measures"]:
            text, best = _cell(comparison, measure, place)
            _say(console, f"  {measure['label']}: {text}{' *' if best else ''}")
