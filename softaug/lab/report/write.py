"""Write and print the reports of evaluations and comparisons."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from softaug.lab import schema
from softaug.lab.io import write_bytes
from softaug.lab.report.evaluation import comparison_of_one, evaluation_page
from softaug.lab.report.model import Figure, Page
from softaug.lab.report.render import figure_files, render_html
from softaug.lab.report.text import print_page
from softaug.lab.schema import Comparison, Evaluation


def write_report(file: Path, title: str = "", opening: tuple[Figure, ...] = ()) -> Path:
    """Write report.html and figures/NAME.svg, NAME.png beside a result file; return the page.

    `file` is a comparison.json or an evaluation.json. The page has this title, if any is given,
    and begins with the figures of `opening`.
    """
    page = _read_page(file)
    page = replace(page, title=title or page.title, figures=(*opening, *page.figures))
    for figure in page.all_figures():
        for kind, content in figure_files(figure).items():
            write_bytes(content, file.parent / "figures" / f"{figure.name}.{kind}")
    return write_bytes(render_html(page).encode(errors="replace"), file.parent / "report.html")


def print_report(file: Path, console: Console) -> None:
    """Print the tables and findings of a comparison or an evaluation; Markdown if piped."""
    print_page(_read_page(file), console)


def print_findings(file: Path, console: Console) -> None:
    """Print what a comparison or an evaluation shows, in sentences."""
    for finding in _read_page(file).findings:
        console.print(finding, markup=False, highlight=False)


def _read_page(file: Path) -> Page:
    if file.name == "evaluation.json":
        comparison = comparison_of_one(schema.read(file, Evaluation))
    else:
        comparison = schema.read(file, Comparison)
    return evaluation_page(comparison, file.name)
