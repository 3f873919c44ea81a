"""What figures share: rows under headings, lines with error bars, legends.

Series differ by marker and dash as well as by color.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as MplFigure
from matplotlib.lines import Line2D

from softaug.lab.report.model import Colors, one_line
from softaug.lab.report.style import GRAY, INK, line_style
from softaug.lab.schema import CollectedLine, Estimate

PAPER = "the paper’s"


def literal(text: str, limit: int = 44) -> str:
    """Prepare text for matplotlib: one line, no mathematics, not too long."""
    shown = one_line(text)
    cut = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return cut.replace("$", r"\$")


def mark_percent(*every: Axis) -> None:
    """Label shares in 0..1 as 0, 20, ... 100."""
    for axis in every:
        axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100"])


# Differences and gains: a row for each number.


@dataclass(frozen=True)
class GainRow:
    """A row of a table: the paper's gain and ours, where there are."""

    label: str
    paper: float | None
    ours: Estimate | None


def stack_rows(groups: Mapping[str, Sequence[str]], figure: MplFigure) -> list[Axes]:
    """Make axes for each group under its heading: a label for each row, and a line at zero."""
    ratios = [len(labels) + 0.9 for labels in groups.values()]
    every = figure.subplots(len(groups), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for axes, (heading, labels) in zip(every, groups.items(), strict=True):
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_yticks(range(len(labels)), [literal(label, 52) for label in labels])
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_title(" ", pad=3)
        where = ("figure fraction", "axes fraction")
        bold: dict[str, Any] = {"textcoords": "offset points", "fontweight": "bold"}
        axes.annotate(literal(heading, 110), (0, 1), (2, 4), where, **bold).set_in_layout(False)
    return list(every)


def draw_gains(
    groups: Mapping[str, Sequence[GainRow]], ours: str, figure: MplFigure, colors: Colors
) -> None:
    """Draw bars of the paper's gain and ours, a panel for each group."""
    hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": colors(GRAY), "hatch": "////"}
    bars: dict[str, Any] = {"color": colors(0), "ecolor": INK, "capsize": 2}
    every = stack_rows({name: [row.label for row in rows] for name, rows in groups.items()}, figure)
    for axes, rows in zip(every, groups.values(), strict=True):
        places = range(len(rows))
        paper = _gaps([row.paper for row in rows])
        mean = _gaps([row.ours.mean if row.ours else None for row in rows])
        has_paper = not all(map(math.isnan, paper))
        thick, aside = (0.36, 0.19) if has_paper else (0.6, 0.0)
        if has_paper:
            axes.barh([p - aside for p in places], paper, thick, label=PAPER, **hatched)
        errors = [row.ours.se or 0 if row.ours else 0 for row in rows]
        axes.barh([p + aside for p in places], mean, thick, xerr=errors, label=ours, **bars)
    every[-1].set_xlabel("gain over the baseline row, points\n← worse · better →")
    legends = [axes.get_legend_handles_labels() for axes in every]
    add_legend_above(figure, *max(legends, key=lambda both: len(both[0])))


# Curves.


def draw_lines(axes: Axes, lines: Sequence[CollectedLine], colors: Colors) -> None:
    """Draw lines with error bars beside each other, and the paper's points as hollow marks."""
    ticks = sorted({x for line in lines for x in line.x})
    step = (ticks[-1] - ticks[0]) / 80 if ticks else 0.0
    for index, line in enumerate(lines):
        xs = [x + step * (index - (len(lines) - 1) / 2) for x in line.x]
        look = line_style(index, colors)
        bars: dict[str, Any] = {"markersize": 4.5, "elinewidth": 1.2, "capsize": 2.5}
        means, errors = _gaps(line.mean), _gaps(line.se)
        axes.errorbar(xs, means, errors, label=literal(line.label), linewidth=1.4, **bars, **look)
        if has_paper(line):
            hollow = _hollow(look["marker"])
            axes.plot(xs, _gaps(line.paper), color=look["color"], label=PAPER, **hollow)
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])


def has_paper(line: CollectedLine) -> bool:
    """Whether the paper has a point of a line."""
    return any(value is not None for value in line.paper)


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _hollow(marker: str) -> dict[str, Any]:
    return {"linestyle": "none", "marker": marker, "markerfacecolor": "none", "markersize": 6.5}


def legend_entries(axes: Axes) -> tuple[list[Any], list[str]]:
    """Return handles and labels of a legend: ours, then one for all of the paper's points."""
    pairs = list(zip(*axes.get_legend_handles_labels(), strict=True))
    kept = [(handle, label) for handle, label in pairs if label != PAPER]
    if len(kept) < len(pairs):
        kept.append((Line2D([], [], color=INK, **_hollow("o")), PAPER))
    return [handle for handle, _ in kept], [label for _, label in kept]


def add_legend_above(figure: MplFigure, handles: list[Any], labels: list[str]) -> None:
    """Add a legend in as many columns as there is room for."""
    letters = 2 + max(map(len, labels), default=0)
    columns = max(1, min(len(labels), int(figure.get_figwidth() / (0.55 + 0.075 * letters))))
    if labels:
        figure.legend(handles, labels, ncols=columns, loc="outside upper left", handlelength=3.2)
