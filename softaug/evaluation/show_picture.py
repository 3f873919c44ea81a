"""The picture of `softaug show transforms`: a row for each image, its versions beside it."""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from softaug.evaluation.show_draws import Version

INK, MUTED, GRID, PAPER, ACCENT = "#1c2024", "#5b626a", "#d9dad5", "#fcfcfa", "#00775a"
DPI = 160
EDGE, GAP, TEXT = 1.3, 0.16, 0.7  # inches: an image, what is between two, what is under it
MARGIN, HEAD, APART = 0.25, 0.72, 0.2  # inches: around all, above all, original to versions
HEAD_WIDTH = 7.4  # inches: the longest description has room
ACROSS = 8  # versions in a line; more go into the next
MOST_LINES = 150  # an image of more than 65,535 pixels cannot be drawn
LETTERS = 18  # of a file's name, which fit under its image


@dataclass(frozen=True)
class Row:
    """An image, how it is called, and its versions."""

    name: str
    original: Tensor  # [3, H, W] uint8
    versions: Sequence[Version]


def num_lines(draws: int) -> int:
    """Lines of versions that an image takes."""
    return math.ceil(draws / ACROSS)


def draw_picture(rows: Sequence[Row], title: str, about: str, ending: str) -> bytes:
    """The content of a PNG or SVG file, by `ending`; the same bytes for the same rows."""
    canvas = Canvas(rows)
    with rc_context({"svg.hashsalt": "softaug", "font.family": "DejaVu Sans"}):
        canvas.write_head(title, about)
        line = 0
        for row in rows:
            canvas.draw_row(row, line)
            line += num_lines(len(row.versions))
        return canvas.content(ending)


class Canvas:
    """A figure that is measured in inches from its top left corner."""

    def __init__(self, rows: Sequence[Row]) -> None:
        across = max(min(len(row.versions), ACROSS) for row in rows)
        lines = sum(num_lines(len(row.versions)) for row in rows)
        self.width = max(2 * MARGIN + EDGE + APART + across * (EDGE + GAP), HEAD_WIDTH)
        self.height = HEAD + lines * (EDGE + TEXT) + MARGIN / 2
        self.figure = Figure(figsize=(self.width, self.height), dpi=DPI, facecolor=PAPER)

    def write_head(self, title: str, about: str) -> None:
        """The title, and under it what was done."""
        self._write(title, 0.2, color=INK, fontsize=12, weight="bold")
        self._write(about, 0.43, color=MUTED, fontsize=8.5)

    def draw_row(self, row: Row, line: int) -> None:
        """The original at the left, the versions beside it."""
        draw_original(self._axes(line, MARGIN), row)
        start = MARGIN + EDGE + APART + GAP
        for place, version in enumerate(row.versions):
            down, across = divmod(place, ACROSS)
            draw_version(self._axes(line + down, start + across * (EDGE + GAP)), version)

    def content(self, ending: str) -> bytes:
        """The picture as a file holds it."""
        packed = io.BytesIO()
        metadata = {"Date": None} if ending == "svg" else {"Software": None}
        self.figure.savefig(packed, format=ending, metadata=metadata)
        return packed.getvalue()

    def _write(self, text: str, down: float, **style: Any) -> None:
        place = (MARGIN / self.width, 1 - down / self.height)
        self.figure.text(*place, text, va="top", parse_math=False, **style)

    def _axes(self, line: int, left: float) -> Axes:
        bottom = self.height - HEAD - line * (EDGE + TEXT) - EDGE
        box = (left / self.width, bottom / self.height, EDGE / self.width, EDGE / self.height)
        axes: Axes = self.figure.add_axes(box)
        return axes


def draw_original(axes: Axes, row: Row) -> None:
    """The image with its name."""
    _draw_image(axes, row.original, INK)
    _write_under(axes, -8, shorten(row.name), color=INK)
    _write_under(axes, -20, "original", color=MUTED)


def draw_version(axes: Axes, version: Version) -> None:
    """The image, a bar as long as its label is sure, and the numbers."""
    _draw_image(axes, version.image, GRID)
    bar: dict[str, Any] = {
        "transform": axes.transAxes,
        "clip_on": False,
        "solid_capstyle": "butt",
        "linewidth": 3,
    }
    axes.plot([0, 1], [-0.035, -0.035], color=GRID, **bar)
    axes.plot([0, version.confidence], [-0.035, -0.035], color=ACCENT, **bar)
    _write_under(axes, -8, f"confidence {version.confidence:.2f}", color=INK, weight="bold")
    _write_under(axes, -20, f"visible {100 * version.visible:.0f} %", color=MUTED)
    _write_under(axes, -31, f"retained {version.retained:.2f}", color=MUTED)


def _draw_image(axes: Axes, image: Tensor, frame: str) -> None:
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(image.permute(1, 2, 0).numpy(), extent=centred(*image.shape[1:]))
    axes.set(xticks=[], yticks=[], xlim=limits[0], ylim=limits[1])
    axes.spines[:].set(color=frame, linewidth=0.8)


def centred(height: int, width: int) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of an image of this shape in a square of edge 1.

    >>> centred(224, 224), centred(200, 400)
    ((0.0, 1.0, 0.0, 1.0), (0.0, 1.0, 0.25, 0.75))
    """
    x, y = ((1 - edge / max(height, width)) / 2 for edge in (width, height))
    return x, 1 - x, y, 1 - y


def _write_under(axes: Axes, points: float, text: str, **style: Any) -> None:
    where: dict[str, Any] = {
        "xycoords": "axes fraction",
        "textcoords": "offset points",
        "va": "top",
    }
    # A name may hold two dollar signs.
    axes.annotate(text, (0, 0), (0, points), **where, fontsize=8, parse_math=False, **style)


def shorten(name: str) -> str:
    """A name that fits under its image: both ends stay, which tell files apart.

    >>> shorten("n02085782_Japanese_spaniel.JPEG")
    'n020857…aniel.JPEG'
    """
    return name if len(name) <= LETTERS else f"{name[:7]}…{name[-(LETTERS - 8) :]}"
