"""Writing and printing reports of result files."""

from pathlib import Path

from rich.console import Console

from softaug.checks import refuse
from softaug.lab import schema
from softaug.lab.io import write_bytes
from softaug.lab.report import latex
from softaug.lab.report.evaluation import comparison_of_one, evaluation_page
from softaug.lab.report.html import render_html
from softaug.lab.report.markdown import render_markdown
from softaug.lab.report.model import Page, sentence
from softaug.lab.report.paper import describe_progress, number_table, paper_page
from softaug.lab.report.paper_figures import PAGE, print_figure
from softaug.lab.report.render import figure_files, print_files
from softaug.lab.report.terminal import print_page
from softaug.lab.schema import CollectedTable, Comparison, Evaluation

REPORT, FIGURES = "report.html", "figures"
_FILES = ("comparison.json", "evaluation.json")


def write_report(path: Path) -> Path:
    """Write report.html and figures/NAME.svg, NAME.png beside a result file; return the page.

    `path` is a comparison.json or an evaluation.json, or a folder that holds one.
    """
    file = _find_file(path)
    page = _read_page(file)
    for figure in page.all_figures():
        for kind, content in figure_files(figure).items():
            write_bytes(content, file.parent / FIGURES / f"{figure.name}.{kind}")
    return write_bytes(render_html(page).encode(errors="replace"), file.parent / REPORT)


def print_report(path: Path, console: Console) -> None:
    """Print the tables and findings of a comparison or an evaluation; Markdown if piped."""
    print_page(_read_page(_find_file(path)), console)


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


def write_paper_table(file: Path) -> list[Path]:
    """Write NAME.md, .tex and .html beside NAME.json, for a figure also .pdf and .png.

    `file` is a table or figure of a grid. Each file is whole at any time, needs no network, and
    is the same for the same results.
    """
    table = schema.read(file, CollectedTable)
    page = paper_page(table, file.parent)
    mark = describe_progress(table, file.parent)
    figure = print_figure(table, file.parent)
    picture = (f"{table.name}.png", figure.alt) if figure else ()
    found = {
        "md": render_markdown(page, *picture).encode(errors="replace"),
        "tex": _render_latex(table, file.parent, page, mark).encode(errors="replace"),
        "html": render_html(page).encode(errors="replace"),
    }
    if figure is not None:
        found |= print_files(figure, mark)
    return [write_bytes(content, file.with_suffix(f".{kind}")) for kind, content in found.items()]


def _render_latex(table: CollectedTable, folder: Path, page: Page, mark: str) -> str:
    """Return a figure where there is one, or will be; else a table."""
    title, progress = f"{table.title.rstrip('.')}.", sentence(mark) if mark else ""
    figure = print_figure(table, folder)
    if figure is not None:
        caption = f"{title} {figure.caption} {progress}"
        return latex.render_figure(table.name, caption, wide=figure.width == PAGE)
    if table.name.startswith("figure"):
        return latex.render_figure(table.name, f"{title} {progress}", wide=False, drawn=False)
    remarks = [*page.cautions, *map(sentence, table.notes)]
    return latex.render_table(number_table(table), title, remarks)


def print_paper_table(file: Path, console: Console) -> None:
    """Print a table or figure of a grid; Markdown if no terminal reads."""
    print_page(paper_page(schema.read(file, CollectedTable), file.parent), console)
