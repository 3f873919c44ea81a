"""A figure of the page, and the same figure as SVG and PNG files for a paper."""

import io
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib import style
from matplotlib.figure import Figure

from softaug.lab.report.evaluation.tables import Table
from softaug.lab.report.palette import LINE_STYLES, MARKERS, PAGE, light, series
from softaug.lab.report.svg import STYLE, WIDTH, draw_svg

Colours = Callable[[int], str]
_DPI = 200
_GRID = next(colour.light for colour in PAGE if colour.variable == "--grid")
ON_WHITE = {**STYLE, "grid.color": _GRID, "svg.fonttype": "path", "savefig.facecolor": "white"}


@dataclass(frozen=True)
class Picture:
    """What is drawn, said and tabled of one figure; `name` is that of its files.

    `draw` puts it on a figure in given colours (of the page, or of paper).
    """

    name: str
    alt: str
    caption: str
    height: int
    draw: Callable[[Figure, Colours], None]
    table: Table | None = None
    width: int = WIDTH
    summary: str = "Numbers and files"

    def inline(self) -> Markup:
        """SVG for the page: follows its light and dark colours."""
        with no_glyph_warnings():
            return draw_svg(self.name, self.alt, self.height, lambda f: self.draw(f, series))

    def files(self) -> Mapping[str, bytes]:
        """{"svg": ..., "png": ...}: on white; equal input gives equal SVG."""
        found = {}
        with style.context(["default", ON_WHITE]), no_glyph_warnings():
            size = (self.width / 72, self.height / 72)
            figure = Figure(figsize=size, layout="constrained")
            self.draw(figure, light)
            for kind in ("svg", "png"):  # laid out once, by the first
                buffer = io.BytesIO()
                figure.savefig(buffer, format=kind, dpi=_DPI, metadata=self._metadata(kind))
                found[kind] = buffer.getvalue()
                figure.set_layout_engine("none")
        return found

    def _metadata(self, kind: str) -> dict[str, Any]:
        told = one_line(self.alt)
        if kind == "png":
            return {
                "Software": None,
                "Description": told.encode("latin-1", "replace").decode("latin-1"),
            }
        return {"Date": None, "Creator": None, "Title": self.name, "Description": told}


@contextmanager
def no_glyph_warnings() -> Any:
    """Class names may be in any script; DejaVu draws a box for what it lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def line(index: int, colours: Colours) -> dict[str, Any]:
    """Colour, dash and marker of an arm."""
    return {
        "color": colours(index),
        "linestyle": LINE_STYLES[index % len(LINE_STYLES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def literal(text: str, limit: int = 44) -> str:
    """Text as matplotlib shall draw it: one line, no mathematics, not too long."""
    shown = one_line(text)
    cut = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return cut.replace("$", r"\$")


def one_line(text: str) -> str:
    """Text without what a picture or XML cannot hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def slug(text: str) -> str:
    """Part of a file name.

    >>> slug("../Soft crop, k = 2")
    'soft-crop-k-2'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "arm"
