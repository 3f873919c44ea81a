"""Figures 3 and 5: lines of means with error bars, in one panel or several."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from softaug.lab.report.evaluation.drawing import Colours, line, literal, slug
from softaug.lab.report.exhibits.drawing import COLUMN, PAGE, Drawing, Plate
from softaug.lab.report.exhibits.shapes import Panel, Panels, Series
from softaug.lab.report.figures.error_line import error_line
from softaug.lab.report.palette import INK

_PAPER = "the paper’s"
_LEGEND: dict[str, Any] = {"handlelength": 2.4, "handletextpad": 0.4, "columnspacing": 0.8}


def panels_drawing(exhibit: Panels) -> Drawing:
    """The panels beside each other; those that measure the same are on one scale."""
    panels = exhibit["panels"]
    plates = tuple(_plate(index, panel, panels) for index, panel in enumerate(panels))
    wide = len(panels) > 1
    one_legend = len({tuple(line["label"] for line in panel["lines"]) for panel in panels}) == 1

    def draw(figure: Figure, colours: Colours) -> None:
        every = figure.subplots(1, len(panels), squeeze=False)[0]
        for index, (axes, plate) in enumerate(zip(every, plates, strict=True)):
            plate.draw(axes, colours)
            if not one_legend:
                below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.24)}
                axes.legend(*entries(axes), ncols=2, **below, **_LEGEND)
            if index and panels[index]["y_label"] == panels[index - 1]["y_label"]:
                axes.set_ylabel("")
                axes.tick_params(labelleft=False)
        if one_legend:
            _legend_below(figure, *entries(every[0]))

    alt = " ".join(plate.alt for plate in plates)
    caption = "Bars: ± one standard error over seeds; points without a bar are single runs."
    if any(_has_paper(series) for panel in panels for series in panel["lines"]):
        caption += " Hollow marks: the paper’s numbers."
    size = (PAGE, 2.4) if wide else (COLUMN, 2.9)
    return Drawing(alt, caption, *size, draw, plates)


def _legend_below(figure: Figure, handles: list[Any], labels: list[str]) -> None:
    """One legend for all panels, in as many columns as there is room for."""
    entry = 0.55 + 0.06 * max(map(len, labels), default=0)  # inches: a line, and small letters
    columns = max(1, min(len(labels), int(figure.get_figwidth() / entry)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, **_LEGEND)


def _plate(index: int, panel: Panel, panels: Sequence[Panel]) -> Plate:
    name = f"panel-{index}-{slug(panel['title'])}"
    alike = [other for other in panels if other["y_label"] == panel["y_label"]]
    ends = limits([line for other in alike for line in other["lines"]])

    def draw(axes: Axes, colours: Colours) -> None:
        draw_panel(axes, panel, colours)
        axes.set_ylim(ends)
        if ends[0] < 0 < ends[1]:
            axes.axhline(0, color=INK, linewidth=0.8)

    height = 215 + 8 * len(panel["lines"])
    return Plate(name, describe(panel), "", height, draw, entries)


def limits(lines: Sequence[Series]) -> tuple[float, float]:
    """Ends of a y axis that holds all bars and the paper's points; below 0 only if they are.

    >>> line = {"label": "", "x": [1, 2], "mean": [10.0, None], "se": [2.0, None]}
    >>> limits([{**line, "n": [3, 0], "paper": [18.0, None]}])
    (7.5, 18.5)
    """
    points = [
        value
        for line in lines
        for mean, se, paper in zip(line["mean"], line["se"], line["paper"], strict=True)
        for value in (*_ends(mean, se), paper)
        if value is not None
    ]
    low, high = min(points, default=0.0), max(points, default=1.0)
    room = 0.05 * (high - low) or 0.5
    return (low - room if low < 0 else max(0.0, low - room)), high + room


def _ends(mean: float | None, se: float | None) -> tuple[float, ...]:
    return () if mean is None else (mean - (se or 0), mean + (se or 0))


def draw_panel(axes: Axes, panel: Panel, colours: Colours) -> None:
    """The lines of a panel, side by side rather than on top of each other."""
    lines = panel["lines"]
    every = [x for series in lines for x in series["x"]]
    step = (max(every) - min(every)) / 80 if every else 0.0
    for index, series in enumerate(lines):
        aside = step * (index - (len(lines) - 1) / 2)
        _draw_series(axes, series, index, aside, colours)
    axes.set(title=literal(panel["title"]), xlabel=literal(panel["x_label"]))
    axes.set_ylabel(literal(panel["y_label"]))
    ticks = sorted(set(every))
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])


def _draw_series(axes: Axes, series: Series, index: int, aside: float, colours: Colours) -> None:
    xs, look = [x + aside for x in series["x"]], line(index, colours)
    means, ses = _gaps(series["mean"]), _gaps(series["se"])
    error_line(axes, xs, means, ses, literal(series["label"]), look)
    if _has_paper(series):
        hollow = _hollow(look["marker"])
        axes.plot(xs, _gaps(series["paper"]), color=look["color"], label=_PAPER, **hollow)


def entries(axes: Axes) -> tuple[list[Any], list[str]]:
    """Handles and labels of the legend: ours, then one for all of the paper's points."""
    pairs = list(zip(*axes.get_legend_handles_labels(), strict=True))
    kept = [(handle, label) for handle, label in pairs if label != _PAPER]
    if len(kept) < len(pairs):
        kept.append((Line2D([], [], color=INK, **_hollow("o")), _PAPER))
    return [handle for handle, _ in kept], [label for _, label in kept]


def _hollow(marker: str) -> dict[str, Any]:
    return {"linestyle": "none", "marker": marker, "markerfacecolor": "none", "markersize": 6.5}


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _has_paper(series: Series) -> bool:
    return any(value is not None for value in series["paper"])


def describe(panel: Panel) -> str:
    """The text alternative: every mean."""
    told = []
    for series in panel["lines"]:
        points = zip(series["x"], series["mean"], strict=True)
        means = [f"{mean:.2f} at {x:g}" for x, mean in points if mean is not None]
        told.append(f"{series['label']}: {', '.join(means) or 'no run yet'}")
    return f"{panel['title']}: {panel['y_label']} by {panel['x_label']}. {'; '.join(told)}."
