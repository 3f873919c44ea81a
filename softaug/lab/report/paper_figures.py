"""Figures of the paper: panel by panel for the page, and whole for print."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.lines import Line2D

from softaug.lab import schema
from softaug.lab.report import charts
from softaug.lab.report.charts import Line, Target
from softaug.lab.report.evaluation import comparison_of_one
from softaug.lab.report.evaluation_figures import answers_figure, occluded_cards, whole_cards
from softaug.lab.report.model import Card, Colors, Figure, capitalize, slug
from softaug.lab.report.paper_numbers import format_ours, format_published, measure_words
from softaug.lab.report.style import INK, MARKERS
from softaug.lab.schema import CollectedPanel, CollectedTable, CropDraws, Evaluation
from softaug.softening import confidence, retained

COLUMN, PAGE = 3.25 * 72, 6.875 * 72  # points: one and two columns of the paper


def draw_panels(table: CollectedTable) -> tuple[Figure, ...]:
    """Return the panels of a figure as the page shows them; none for tables."""
    if table.panels:
        return tuple(_panel(index, table) for index in range(len(table.panels)))
    if table.crops:
        return tuple(_crop(index, table) for index in range(len(table.crops)))
    return (_targets(), _curves()) if table.name == "figure2" else ()


def _alone(draw: Callable[..., None], *data: object) -> Callable[[MplFigure, Colors], None]:
    """Return what draws a panel on a figure of its own."""
    return lambda figure, colors: draw(*data, figure.add_subplot(), colors)


def print_figure(table: CollectedTable, folder: Path) -> Figure | None:
    """Return the whole figure for print; None for tables and before any run."""
    panels = draw_panels(table)
    draw: Callable[[MplFigure, Colors], None]
    if table.panels:
        wide = len(panels) > 1
        draw, size = partial(_draw_line_panels, table), (PAGE, 173) if wide else (COLUMN, 209)
    elif table.crops:
        draw, size = partial(_draw_crops, table), (PAGE, 230)
    elif table.name == "figure2":
        draw, size = _draw_softening, (PAGE, 187)
    else:
        rows = read_cards(table, folder)
        if not rows:
            return None
        chance = " One run each. The images were drawn at random once for all runs, not chosen."
        found = answers_figure(table.name, rows, PAGE)
        return Figure(found.name, found.alt, found.caption + chance, found.draw, found.height, PAGE)
    alt = " ".join(panel.alt for panel in panels)
    caption = " ".join(dict.fromkeys(panel.caption for panel in panels))
    return Figure(table.name, alt, caption, draw, size[1], size[0])


# Figures 3 and 5, studies by budget: lines with error bars.


def _lines(panel: CollectedPanel) -> list[Line]:
    return [Line(line.label, line.x, line.mean, line.se, line.paper) for line in panel.lines]


def _panel(index: int, table: CollectedTable) -> Figure:
    panel = table.panels[index]
    lines = _lines(panel)

    def draw(figure: MplFigure, colors: Colors) -> None:
        axes = figure.add_subplot()
        _draw_line_panel(panel, table, axes, colors)
        charts.add_legend_above(figure, *charts.legend_entries(axes))

    means = []
    for line in lines:
        points = zip(line.x, line.mean, strict=True)
        shown = [f"{mean:.2f} at {x:g}" for x, mean in points if mean is not None]
        means.append(f"{line.label}: {', '.join(shown) or 'no run yet'}")
    alt = f"{panel.title}: {panel.y_label} by {panel.x_label}. {'; '.join(means)}."
    caption = "Bars: ± one standard error over seeds; points without a bar are single runs."
    if any(line.has_paper for part in table.panels for line in _lines(part)):
        caption += " Hollow marks: the paper’s numbers."
    name = f"panel-{index}-{slug(panel.title)}"
    return Figure(name, alt, caption, draw, 215 + 8 * len(lines))


def _draw_line_panel(
    panel: CollectedPanel, table: CollectedTable, axes: Axes, colors: Colors
) -> None:
    """Draw a panel on the scale of all panels that measure the same."""
    alike = [part for part in table.panels if part.y_label == panel.y_label]
    ends = charts.find_limits([line for part in alike for line in _lines(part)])
    charts.draw_lines(axes, _lines(panel), colors)
    axes.set(title=charts.literal(panel.title), xlabel=charts.literal(panel.x_label))
    axes.set_ylabel(charts.literal(panel.y_label))
    axes.set_ylim(ends)
    if ends[0] < 0 < ends[1]:
        axes.axhline(0, color=INK, linewidth=0.8)


_LEGEND: dict[str, Any] = {"handlelength": 2.4, "handletextpad": 0.4, "columnspacing": 0.8}


def _draw_line_panels(table: CollectedTable, figure: MplFigure, colors: Colors) -> None:
    panels = table.panels
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    one_legend = len({tuple(line.label for line in panel.lines) for panel in panels}) == 1
    for index, (axes, panel) in enumerate(zip(every, panels, strict=True)):
        _draw_line_panel(panel, table, axes, colors)
        if not one_legend:
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.24)}
            axes.legend(*charts.legend_entries(axes), ncols=2, **below, **_LEGEND)
        if index and panel.y_label == panels[index - 1].y_label:
            axes.set_ylabel("")
            axes.tick_params(labelleft=False)
    if one_legend:
        handles, labels = charts.legend_entries(every[0])
        entry = 0.55 + 0.06 * max(map(len, labels), default=0)  # inches: a line, and small letters
        columns = max(1, min(len(labels), int(figure.get_figwidth() / entry)))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, **_LEGEND)


# Figure 1: where crops land.

_PALEST = 0.1  # opacity of a dot whose target has no confidence: it can still be seen


def opacity(share: float) -> float:
    """Return how strongly a dot is drawn: the palest for a confidence of 0, full for 1."""
    return _PALEST + (1 - _PALEST) * share


def _crop(index: int, table: CollectedTable) -> Figure:
    crop = table.crops[index]
    errors = "; ".join(_error_lines(table, crop))
    most = max((abs(part) for offset in crop.offsets for part in offset), default=0)
    least = min(crop.confidence, default=1.0)
    alt = (
        f"{crop.label}: offsets up to {most:g} of {crop.size} pixels, targets keep at least "
        f"{100 * least:.0f} % confidence. {errors}."
    )
    caption = (
        f"{crop.label}. {errors}. Offsets of {len(crop.offsets)} crops; a dot is the paler, the "
        "less sure its target is. Inside the dashed line at least half of the image is visible."
    )
    return Figure(f"offsets-{index}", alt, caption, _alone(_draw_crop, crop, index), 260)


def _error_lines(table: CollectedTable, crop: CropDraws) -> list[str]:
    """Write what is measured of a row, ours and the paper's."""
    cells = [cell for row in table.rows if row.label == crop.label for cell in row.cells]
    if not cells:
        return []
    words = capitalize(measure_words(cells[0].measure, cells[0].on))
    theirs = format_published(cells[0].paper)
    return [words, f"ours: {format_ours(cells[0])}", f"paper’s: {theirs}"]


def _draw_crop(crop: CropDraws, index: int, axes: Axes, colors: Colors) -> None:
    alphas = [opacity(share) for share in crop.confidence]
    look = {"marker": MARKERS[index % len(MARKERS)], "color": colors(index), "s": 4.0}
    charts.draw_offsets(axes, crop.offsets, crop.size, {**look, "alpha": alphas})
    axes.set_title(charts.literal(crop.label))


def _draw_crops(table: CollectedTable, figure: MplFigure, colors: Colors) -> None:
    every = figure.subplots(1, len(table.crops), squeeze=False)[0]
    for index, (axes, crop) in enumerate(zip(every, table.crops, strict=True)):
        _draw_crop(crop, index, axes, colors)
        below = "\n".join(charts.literal(line) for line in _error_lines(table, crop))
        axes.set_xlabel(f"dx, pixels to the right\n\n{below}")
        if index:
            axes.set_ylabel("")
    dot: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": INK, "markersize": 3.5}
    handles = [
        Line2D([], [], alpha=opacity(share), label=f"target {100 * share:.0f} % sure", **dot)
        for share in (1.0, 0.5, 0.0)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


# Figure 2: from the equations alone.

_CONFIDENCE, _ALPHA = 0.6, 0.1  # the paper's example; a usual label smoothing
TARGETS = (  # equations 2 to 6 of the paper
    Target("one-hot", 1.0, 1.0, softened=False),
    Target("label smoothing", 1 - _ALPHA, 1.0, softened=False),
    Target("soft target", _CONFIDENCE, 1.0),
    Target("soft weight", 1.0, _CONFIDENCE),
    Target("soft target\nand weight", _CONFIDENCE, _CONFIDENCE),
)
_KS, _NUM_CLASSES = (1, 2, 3, 4), 100
_VISIBLE = [step / 100 for step in range(101)]


def softening_curve(k: int) -> list[float]:
    """Return the confidence of the true class for each visible share.

    >>> softening_curve(2)[0]  # nothing visible: chance
    0.01
    """
    return [confidence(retained(visible, k), _NUM_CLASSES) for visible in _VISIBLE]


def _targets() -> Figure:
    shown = "; ".join(
        f"{' '.join(one.name.split())}: true class {100 * one.confidence:.0f} %, weight "
        f"{one.weight:g}"
        for one in TARGETS
    )
    caption = (
        f"What softens, for an image that keeps a confidence of {100 * _CONFIDENCE:.0f} %: the "
        f"target, the weight of its loss, or both. Label smoothing (here by {_ALPHA:g}) is the "
        "same for every image."
    )
    alt = f"Targets over ten classes, as bars. {shown}."
    return Figure("targets", alt, caption, _alone(charts.draw_targets, TARGETS), 250)


def _curves() -> Figure:
    curves = {k: softening_curve(k) for k in _KS}
    halves = ", ".join(f"{values[50]:.2f} for k = {k}" for k, values in curves.items())
    alt = (
        "Softening curves: the target's confidence rises with the visible share of the image, "
        f"earlier for larger k. Half visible it is {halves}."
    )
    caption = (
        f"How much: confidence = 1 − (1 − 1/{_NUM_CLASSES})(1 − visible)ᵏ for {_NUM_CLASSES} "
        "classes. A larger k forgives more."
    )
    draw = _alone(charts.draw_softening, _VISIBLE, curves)
    return Figure("curves", alt, caption, draw, 250)


def _draw_softening(figure: MplFigure, colors: Colors) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    charts.draw_targets(TARGETS, left, colors)
    charts.draw_softening(_VISIBLE, {k: softening_curve(k) for k in _KS}, right, colors)


# Figures 4, 6 and 7: images with answers.

_ACROSS = 6  # whole images beside each other
_OCCLUDED_ROWS = {"figure4": slice(0, 3), "figure7": slice(3, None)}


def find_evaluations(table: CollectedTable, folder: Path) -> dict[str, Path]:
    """Find the evaluations of the arms that have one, by label."""
    labels = table.labels or [Path(run).name for run in table.runs]
    pairs = zip(labels, table.runs, strict=True)
    files = {label: folder / run / "evaluation.json" for label, run in pairs}
    return {label: file for label, file in files.items() if file.is_file()}


def read_cards(table: CollectedTable, folder: Path) -> list[tuple[Card, ...]]:
    """Read the images that the runs kept, with the answers of those that are evaluated."""
    arms = []
    first: Evaluation | None = None
    for label, file in find_evaluations(table, folder).items():
        evaluation = schema.read(file, Evaluation)
        first = first or evaluation
        schema.check_comparable(evaluation, first)
        (arm,) = comparison_of_one(evaluation).arms
        arms.append(arm.model_copy(update={"name": label}))
    if not arms:
        return []
    if table.name in _OCCLUDED_ROWS:
        return [tuple(row) for row in occluded_cards(arms)[_OCCLUDED_ROWS[table.name]]]
    whole = whole_cards(arms)
    return [tuple(whole[at : at + _ACROSS]) for at in range(0, len(whole), _ACROSS)]
