"""Colors and type of pages and figures, for light and dark paper.

Figures for the page are drawn in stand-in colors that become CSS variables, so that one SVG
follows the reader's color scheme. Hues are those of Okabe and Ito, which color-blind readers can
tell apart, darkened or lightened to a contrast of at least 4.5 : 1 with either paper.
"""

from dataclasses import dataclass
from typing import Any

from softaug.lab.report.model import Colors

INK = "#010203"  # becomes currentColor
GRID = "#010204"

_LINE_STYLES = ("--", ":", "-", "-.")
MARKERS = ("s", "^", "o", "D", "v", "P")


@dataclass(frozen=True)
class Color:
    """A CSS variable with its value on light and on dark paper."""

    variable: str
    light: str
    dark: str


SERIES = (
    Color("--series-0", "#0067a3", "#63b8ee"),  # blue
    Color("--series-1", "#b84e00", "#f29555"),  # vermilion
    Color("--series-2", "#00775a", "#3ac9a0"),  # bluish green
    Color("--series-3", "#8a4b86", "#d898d3"),  # reddish purple
    Color("--series-4", "#7c6200", "#e0c04a"),  # yellow
    Color("--series-5", "#5a6068", "#a3abb5"),  # grey
)
PAGE = (
    Color("--paper", "#fcfcfa", "#15181b"),
    Color("--panel", "#f3f3ef", "#1e2226"),
    Color("--ink", "#1c2024", "#e6e8ea"),
    Color("--muted", "#5b626a", "#a4abb3"),
    Color("--grid", "#d9dad5", "#3a4047"),
)
GRAY = len(SERIES) - 1
_GRID_COLOR = PAGE[-1]

INLINE: dict[str, Any] = {
    "svg.fonttype": "none",
    "savefig.dpi": 120,  # of photographs inside
    "svg.hashsalt": "softaug",  # else ids are random
    "font.family": "DejaVu Sans",  # for the layout only: the page's font takes its place
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.color": INK,
    "hatch.linewidth": 0.7,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}
FILE = {
    **INLINE,
    "grid.color": _GRID_COLOR.light,
    "svg.fonttype": "path",
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # TrueType, embedded: text stays text, and publishers take it
    "savefig.facecolor": "white",
}


def page_color(index: int) -> str:
    """Return the stand-in color of the arm at `index`; arms beyond the palette start over."""
    return f"#0102f{index % len(SERIES)}"


def paper_color(index: int) -> str:
    """Return the color of the arm at `index` on light paper."""
    return SERIES[index % len(SERIES)].light


def line_style(index: int, colors: Colors) -> dict[str, Any]:
    """Return color, dash and marker of an arm: arms also differ without color."""
    return {
        "color": colors(index),
        "linestyle": _LINE_STYLES[index % len(_LINE_STYLES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def css_colors() -> dict[str, str]:
    """Map stand-in colors to CSS, with the light value for a viewer without the page's CSS."""
    stand_ins = {page_color(index): color for index, color in enumerate(SERIES)}
    stand_ins[GRID] = _GRID_COLOR
    css = {key: f"var({color.variable}, {color.light})" for key, color in stand_ins.items()}
    return {INK: "currentColor", **css}
