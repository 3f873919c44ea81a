"""Colours of the page and its figures, for light and dark paper.

Figures are drawn in stand-in colours that become CSS variables, so that one SVG follows the
reader's colour scheme. Hues are those of Okabe and Ito, which colour-blind readers can tell
apart, darkened or lightened to a contrast of at least 4.5 : 1 with either paper.
"""

from dataclasses import dataclass
from typing import Any

INK = "#010203"  # becomes currentColor
GRID = "#010204"
PAPER = "#010205"

LINE_STYLES = ("--", ":", "-", "-.")
MARKERS = ("s", "^", "o", "D", "v", "P")


@dataclass(frozen=True)
class Colour:
    """A CSS variable with its value on light and on dark paper."""

    variable: str
    light: str
    dark: str


SERIES = (
    Colour("--series-0", "#0067a3", "#63b8ee"),  # blue
    Colour("--series-1", "#b84e00", "#f29555"),  # vermilion
    Colour("--series-2", "#00775a", "#3ac9a0"),  # bluish green
    Colour("--series-3", "#8a4b86", "#d898d3"),  # reddish purple
    Colour("--series-4", "#7c6200", "#e0c04a"),  # yellow
    Colour("--series-5", "#5a6068", "#a3abb5"),  # grey
)
PAGE = (
    Colour("--paper", "#fcfcfa", "#15181b"),
    Colour("--panel", "#f3f3ef", "#1e2226"),
    Colour("--ink", "#1c2024", "#e6e8ea"),
    Colour("--muted", "#5b626a", "#a4abb3"),
    Colour("--grid", "#d9dad5", "#3a4047"),
)


def series(index: int) -> str:
    """The stand-in colour of the arm at `index`; arms beyond the palette start over."""
    return f"#0102f{index % len(SERIES)}"


def light(index: int) -> str:
    """The colour of the arm at `index` on light paper."""
    return SERIES[index % len(SERIES)].light


def line_style(index: int) -> dict[str, Any]:
    """Colour, dash and marker of a series: it is told apart without its colour, too."""
    return {
        "color": series(index),
        "linestyle": LINE_STYLES[index % len(LINE_STYLES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def css_colours() -> dict[str, str]:
    """Stand-in colour to CSS, each with its light value for a viewer without the page's CSS."""
    stand_ins = {series(index): colour for index, colour in enumerate(SERIES)}
    page = {colour.variable: colour for colour in PAGE}
    stand_ins |= {GRID: page["--grid"], PAPER: page["--paper"]}
    css = {key: f"var({colour.variable}, {colour.light})" for key, colour in stand_ins.items()}
    return {INK: "currentColor", **css}
