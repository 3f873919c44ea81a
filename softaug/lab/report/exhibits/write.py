"""Writing an exhibit beside its file, in every format."""

from pathlib import Path

from softaug.lab.io import write_bytes
from softaug.lab.report.exhibits.draw import draw_exhibit
from softaug.lab.report.exhibits.drawing import PAGE, Drawing
from softaug.lab.report.exhibits.latex import latex_figure, latex_table
from softaug.lab.report.exhibits.markdown import markdown
from softaug.lab.report.exhibits.page import render
from softaug.lab.report.exhibits.progress import unfinished
from softaug.lab.report.exhibits.reading import read_exhibit
from softaug.lab.report.exhibits.shapes import Exhibit
from softaug.lab.report.headline import capital


def write_exhibit(file: Path) -> list[Path]:
    """Write NAME.md, .tex and .html beside NAME.json, for a figure also .pdf and .png.

    `file` is a table or figure of a grid. Each file is whole at any time, needs no network, and
    is the same for the same results.
    """
    exhibit = read_exhibit(file)
    mark = unfinished(exhibit, file.parent)
    drawing = draw_exhibit(exhibit, file.parent)
    contents = _texts(exhibit, drawing, mark)
    found = {kind: text.encode(errors="replace") for kind, text in contents.items()}
    if drawing is not None:
        found |= drawing.files(mark)
    return [write_bytes(content, file.with_suffix(f".{kind}")) for kind, content in found.items()]


def _texts(exhibit: Exhibit, drawing: Drawing | None, mark: str) -> dict[str, str]:
    picture = None if drawing is None else (f"{exhibit['name']}.png", drawing.alt)
    return {
        "md": markdown(exhibit, mark, picture),
        "tex": _latex(exhibit, drawing, mark),
        "html": render(exhibit, drawing, mark),
    }


def _latex(exhibit: Exhibit, drawing: Drawing | None, mark: str) -> str:
    """A figure where there is something drawn, or will be; else a table."""
    told = f"{capital(mark)}." if mark else ""
    if drawing is None and not exhibit["name"].startswith("figure"):
        return latex_table(exhibit, mark)
    if drawing is None:
        return latex_figure(exhibit, told, wide=False, drawn=False)
    return latex_figure(exhibit, f"{drawing.caption} {told}", wide=drawing.width == PAGE)
