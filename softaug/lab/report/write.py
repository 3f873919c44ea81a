"""Write and print the reports of evaluations and comparisons."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from softaug.checks import refuse
from softaug.lab import schema
from softaug.lab.io import write_bytes
from softaug.lab.report.evaluation import comparison_of_one, evaluation_page
from softaug.lab.report.model import Figure, Page
from softaug.lab.report.render import figure_files, render_html
from softaug.lab.report.text import print_page
from softaug.lab.schema import Comparison, Evaluation

REPORT, FIGURES = "report.html", "figures"
_FILES = ("comparison.json", "evaluation.json")


def write_report(path: Path, title: str = "", opening: tuple[Figure, ...] = ()) -> Path:
    """Write report.html and figures/NAME.svg, NAME.png beside a result file; return the page.

    `path` is a comparison.json or an evaluation.json, or a folder that holds one. The page
    has this title, if any is given, and begins with the figures of `opening`.
    """
    file = _find_file(path)
    page = _read_page(file)
    page = replace(page, title=title or page.title, figures=(*opening, *page.figures))
    for figure in page.all_figures():
        for kind, content in figure_files(figure).items():
            write_bytes(content, file.parent / FIGURES / f"{figure.name}.{kind}")
    return write_bytes(render_html(page).encode(errors="replace"), file.parent / REPORT)


def print_report(path: Path, console: Console) -> None:
    """Print the tables and findings of a comparison or an evaluation; Markdown if piped."""
    print_page(_read_page(_find_file(path)), console)


def print_findings(path: Path, console: Console) -> None:
    """Print what a comparison or an evaluation shows, in sentences."""
    for finding in _read_page(_find_file(path)).findings:
        console.print(finding, markup=False, highlight=False)


def _find_file(path: Path) -> Path:
    """Return `path` itself, or the comparison, else the evaluation, in that folder."""
    if not path.is_dir():
        return path
    found = [path / name for name in _FILES if (path / name).is_file()]
    if not found:
        remedy = "run `softaug evaluate` and `softaug compare` again"
        refuse("report", f"{path} must hold {' or '.join(_FILES)}", "neither", remedy)
    return found[0]


def read_comparison(file: Path) -> Comparison:
    """Read a comparison; one evaluation is a comparison with one arm."""
    if file.name == "evaluation.json":
        return comparison_of_one(schema.read(file, Evaluation))
    return schema.read(file, Comparison)


def _read_page(file: Path) -> Page:
    return evaluation_page(read_comparison(file), file.name)
