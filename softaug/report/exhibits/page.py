"""An exhibit as one self-contained HTML page."""

from softaug.report import palette
from softaug.report.exhibits.drawing import Drawing
from softaug.report.exhibits.markdown import numbered
from softaug.report.exhibits.shapes import Exhibit
from softaug.report.exhibits.sheet import sheet
from softaug.report.page import environment


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
