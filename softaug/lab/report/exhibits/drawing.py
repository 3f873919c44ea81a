"""A figure of the paper: drawn for print as PNG and PDF, and panel by panel for the page."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from softaug.lab.report.evaluation.drawing import ON_WHITE, Colours, no_glyph_warnings, one_line
from softaug.lab.report.evaluation.examples import Card
from softaug.lab.report.palette import light, series
from softaug.lab.report.svg import draw_svg

COLUMN, PAGE = 3.25, 6.875  # inches: one and two columns of the paper
_DPI = 300
_LETTERS = 7.0  # points
_PRINT = {
    **ON_WHITE,
    "pdf.fonttype": 42,  # TrueType, embedded: text stays text, and publishers take it
    "font.size": _LETTERS,
    "axes.titlesize": _LETTERS + 0.5,
    "legend.fontsize": _LETTERS,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.5,
}


def legend_above(figure: Figure, handles: list[Any], labels: list[str]) -> Legend:
    """In two columns where there is room for them; else in one, on a higher figure."""
    look: dict[str, Any] = {"loc": "outside upper left", "handlelength": 3.2}
    legend = figure.legend(handles, labels, ncols=2, **look)
    if legend.get_window_extent().width <= figure.bbox.width:
        return legend
    before = legend.get_window_extent().height
    legend.remove()
    legend = figure.legend(handles, labels, ncols=1, **look)
    more = (legend.get_window_extent().height - before) / figure.dpi
    figure.set_figheight(figure.get_figheight() + more)
    return legend


@dataclass(frozen=True)
class Plate:
    """One panel as the page shows it; `draw` puts its data on axes in given colours.

    `entries` gives handles and labels of its legend.
    """

    name: str
    alt: str
    caption: str
    height: int
    draw: Callable[[Axes, Colours], None]
    entries: Callable[[Axes], tuple[list[Any], list[str]]] | None = None

    def inline(self) -> Markup:
        """SVG that follows the page's light and dark colours."""

        def draw(figure: Figure) -> None:
            axes = figure.add_subplot()
            self.draw(axes, series)
            if self.entries is not None:
                legend_above(figure, *self.entries(axes))

        with no_glyph_warnings():
            return draw_svg(self.name, self.alt, self.height, draw)


@dataclass(frozen=True)
class Drawing:
    """A whole figure: how it is printed, and the plates or cards that the page shows instead."""

    alt: str
    caption: str
    width: float
    height: float
    draw: Callable[[Figure, Colours], None]
    plates: tuple[Plate, ...] = ()
    cards: tuple[tuple[Card, ...], ...] = ()

    def figure(self, mark: str = "") -> Figure:
        """The printed figure; `mark` stands small at its top right."""
        with style.context(["default", _PRINT]), no_glyph_warnings():
            size = (self.width, self.height)
            figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
            self.draw(figure, light)
            if mark:
                figure.suptitle(mark, x=0.99, ha="right", fontsize=_LETTERS, fontstyle="italic")
            for _ in range(2):  # axes of fixed shape find their place in the second
                figure.draw_without_rendering()
            figure.set_layout_engine("none")  # laid out once: the same in every format
        return figure

    def files(self, mark: str = "") -> Mapping[str, bytes]:
        """{"pdf": ..., "png": ...}: on white, letters of 7 points, 300 dots an inch."""
        found, figure = {}, self.figure(mark)
        with style.context(["default", _PRINT]), no_glyph_warnings():
            for kind, metadata in self._metadata().items():
                buffer = io.BytesIO()
                figure.savefig(buffer, format=kind, dpi=_DPI, metadata=metadata)
                found[kind] = buffer.getvalue()
        return found

    def _metadata(self) -> dict[str, dict[str, str | None]]:
        told = one_line(self.alt)
        latin = told.encode("latin-1", "replace").decode("latin-1")
        nothing = dict.fromkeys(("Creator", "Producer", "CreationDate"))
        return {
            "pdf": {**nothing, "Subject": told},
            "png": {"Software": None, "Description": latin},
        }
