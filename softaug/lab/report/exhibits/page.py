"""An exhibit as one self-contained HTML page."""

from softaug.lab.report import palette
from softaug.lab.report.exhibits.drawing import Drawing
from softaug.lab.report.exhibits.markdown import numbered
from softaug.lab.report.exhibits.shapes import Exhibit
from softaug.lab.report.exhibits.sheet import sheet
from softaug.lab.report.page import environment


def render(exhibit: Exhibit, drawing: Drawing | None, mark: str) -> str:
    """The page as text: figure, table, notes, and where it was made; no network, no script."""
    return (
        environment()
        .get_template("exhibit.html")
        .render(
            exhibit=exhibit,
            title=f"{numbered(exhibit['name'])}. {exhibit['title']}",
            sheet=sheet(exhibit, mark),
            drawing=drawing,
            colours=(*palette.PAGE, *palette.SERIES),
        )
    )
