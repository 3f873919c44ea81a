"""Figures of the paper, as the page shows them and a paper prints them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.lines import Line2D

from softaug.lab import schema
from softaug.lab.report import charts
from softaug.lab.report.charts import PAPER, literal, mark_percent
from softaug.lab.report.evaluation import comparison_of_one
from softaug.lab.report.examples import answers_figure, occluded_cards, whole_cards
from softaug.lab.report.model import WIDE, Colors, Figure, capitalize, one_line
from softaug.lab.report.paper_numbers import format_ours, format_published, measure_words
from softaug.lab.report.style import INK, MARKERS
from softaug.lab.schema import Arm, CollectedPanel, CollectedTable, CropDraws
from softaug.softening import confidence, retained

_COLUMN = 340  # points: a panel alone, which a paper shows in one column


def paper_figure(table: CollectedTable, folder: Path) -> Figure | None:
    """Return the figure of a collected file in `folder`; None for tables and before any run."""
    if table.panels:
        return _panels(_without_paper(table) if table.scale == "smoke" else table)
    if table.crops:
        return _crops(table)
    return _softening() if table.name == "figure2" else _answers(table, folder)


# Figures 3 and 5, studies by budget: lines with error bars.


def _panels(table: CollectedTable) -> Figure:
    told = []
    for panel in table.panels:
        lines = []
        for line in panel.lines:
            points = zip(line.x, line.mean, strict=True)
            shown = [f"{mean:.2f} at {x:g}" for x, mean in points if mean is not None]
            lines.append(f"{line.label}: {', '.join(shown) or 'no run yet'}")
        told.append(f"{panel.title}: {panel.y_label} by {panel.x_label}. {'; '.join(lines)}.")
    caption = "Bars: ± one standard error over seeds; points without a bar are single runs."
    if any(charts.has_paper(line) for panel in table.panels for line in panel.lines):
        caption += " Hollow marks: the paper’s numbers."
    width, height = (WIDE, 260) if len(table.panels) > 1 else (_COLUMN, 290)
    draw = partial(_draw_panels, table.panels)
    return Figure(table.name, " ".join(told), caption, draw, height, width)


def _without_paper(table: CollectedTable) -> CollectedTable:
    """Return the table without the paper's points, with which a trial is not to be compared."""
    panels = []
    for panel in table.panels:
        lines = [one.model_copy(update={"paper": [None] * len(one.x)}) for one in panel.lines]
        panels.append(panel.model_copy(update={"lines": lines}))
    return table.model_copy(update={"panels": panels})


def _draw_panels(panels: Sequence[CollectedPanel], figure: MplFigure, colors: Colors) -> None:
    """Draw panels side by side; those that measure the same have one scale."""
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    for index, (axes, panel) in enumerate(zip(every, panels, strict=True)):
        axes.sharey(every[[part.y_label for part in panels].index(panel.y_label)])
        charts.draw_lines(axes, panel.lines, colors)
        axes.set(title=literal(panel.title), xlabel=literal(panel.x_label))
        if axes.get_ylim()[0] < 0:
            axes.axhline(0, color=INK, linewidth=0.8)
        if index and panel.y_label == panels[index - 1].y_label:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel(literal(panel.y_label))
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
        axes.legend(*charts.legend_entries(axes), ncols=2, columnspacing=0.8, **below)


# Figure 1: where crops land.

_PALEST = 0.1  # opacity of a dot whose target has no confidence: it can still be seen


def opacity(share: float) -> float:
    """Return how strongly a dot is drawn: the palest for a confidence of 0, full for 1."""
    return _PALEST + (1 - _PALEST) * share


def _crops(table: CollectedTable) -> Figure:
    told = []
    for crop in table.crops:
        most = max((abs(part) for offset in crop.offsets for part in offset), default=0)
        least = min(crop.confidence, default=1.0)
        told.append(
            f"{crop.label}: {len(crop.offsets)} offsets up to {most:g} of {crop.size} pixels, "
            f"targets keep at least {100 * least:.0f} % confidence. "
            f"{'; '.join(_error_lines(table, crop))}."
        )
    caption = (
        "Offsets of crops; a dot is the paler, the less sure its target is. Inside the dashed "
        "line at least half of the image is visible."
    )
    draw = partial(_draw_crops, table)
    return Figure(table.name, " ".join(told), caption, draw, 330, WIDE)


def _error_lines(table: CollectedTable, crop: CropDraws) -> list[str]:
    cells = [cell for row in table.rows if row.label == crop.label for cell in row.cells]
    if not cells:
        return []
    words = capitalize(measure_words(cells[0].measure, cells[0].on))
    theirs = format_published(cells[0].paper)
    return [words, f"ours: {format_ours(cells[0])}", f"paper’s: {theirs}"]


def _draw_crops(table: CollectedTable, figure: MplFigure, colors: Colors) -> None:
    every = figure.subplots(1, len(table.crops), squeeze=False, sharey=True)[0]
    for index, (axes, crop) in enumerate(zip(every, table.crops, strict=True)):
        alphas = [opacity(share) for share in crop.confidence]
        look = {"marker": MARKERS[index % len(MARKERS)], "color": colors(index), "s": 8.0}
        draw_offsets(axes, crop.offsets, crop.size, {**look, "alpha": alphas})
        axes.set_title(literal(crop.label))
        below = "\n".join(literal(line) for line in _error_lines(table, crop))
        axes.set_xlabel(f"dx, pixels to the right\n\n{below}")
    every[0].set_ylabel("dy, pixels down")
    dot: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": INK, "markersize": 4}
    shares = (1.0, 0.5, 0.0)
    handles = [Line2D([], [], alpha=opacity(share), **dot) for share in shares]
    labels = [f"target {100 * share:.0f} % sure" for share in shares]
    charts.add_legend_above(figure, handles, labels)


# A dot is moved within its pixel by these steps of the R2 sequence, which fills a square evenly.
_STEPS = (0.7548776662466927, 0.5698402909980532)


def draw_offsets(
    axes: Axes, offsets: Sequence[Sequence[float]], size: int, look: Mapping[str, Any]
) -> None:
    """Draw a dot for each offset (right, down), and the line of half visibility."""
    steps = [step / 50 for step in range(51)]
    arc = [(size * t / 2, size * (1 - 0.5 / (1 - t / 2))) for t in steps]
    for right, down in ((1, 1), (1, -1), (-1, 1), (-1, -1)):  # (1 - |dx|/size)(1 - |dy|/size) = 1/2
        xs, ys = [right * x for x, _ in arc], [down * y for _, y in arc]
        axes.plot(xs, ys, color=INK, linewidth=1, linestyle="--")
    moved = [[(number * step) % 1 - 0.5 for step in _STEPS] for number in range(len(offsets))]
    pairs = zip(offsets, moved, strict=True)
    dots = [(x + 0.8 * right, y + 0.8 * down) for (x, y), (right, down) in pairs]
    axes.scatter([x for x, _ in dots], [y for _, y in dots], linewidths=0, **look)
    ticks, limit = [-size, -size // 2, 0, size // 2, size], size + 1
    axes.set(xlim=(-limit, limit), ylim=(limit, -limit), xticks=ticks, yticks=ticks)
    axes.set_aspect("equal")


# Figure 2: from the equations alone.

_CLASSES, _TRUE = 10, 3  # as many bars as can be told apart


@dataclass(frozen=True)
class Target:
    """How a sample enters the loss: confidence of its target, weight of its loss."""

    name: str
    confidence: float
    weight: float
    softened: bool = True

    @property
    def probabilities(self) -> list[float]:
        """Probabilities of the classes: the rest is spread evenly over the wrong ones.

        >>> Target("soft target", 0.64, 1.0).probabilities[2:5]
        [0.04, 0.64, 0.04]
        """
        rest = (1 - self.confidence) / (_CLASSES - 1)
        return [self.confidence if place == _TRUE else rest for place in range(_CLASSES)]


_CONFIDENCE, _ALPHA = 0.6, 0.1  # the paper's example; a usual label smoothing
TARGETS = (  # equations 2 to 6 of the paper
    Target("one-hot", 1.0, 1.0, softened=False),
    Target("label smoothing", 1 - _ALPHA, 1.0, softened=False),
    Target("soft target", _CONFIDENCE, 1.0),
    Target("soft weight", 1.0, _CONFIDENCE),
    Target("soft target\nand weight", _CONFIDENCE, _CONFIDENCE),
)
_DASHES = {1: ":", 2: "-", 3: "-.", 4: "--"}  # by k
_NUM_CLASSES = 100
_VISIBLE = [step / 100 for step in range(101)]


def softening_curve(k: int) -> list[float]:
    """Return the confidence of the true class for each visible share.

    >>> softening_curve(2)[0]  # nothing visible: chance
    0.01
    """
    return [confidence(retained(visible, k), _NUM_CLASSES) for visible in _VISIBLE]


def _softening() -> Figure:
    shown = "; ".join(
        f"{one_line(one.name)}: true class {100 * one.confidence:.0f} %, weight {one.weight:g}"
        for one in TARGETS
    )
    halves = ", ".join(f"{softening_curve(k)[50]:.2f} for k = {k}" for k in _DASHES)
    alt = (
        f"Targets over ten classes, as bars. {shown}. Softening curves: the target's confidence "
        "rises with the visible share of the image, earlier for larger k. Half visible it is "
        f"{halves}."
    )
    caption = (
        f"What softens, for an image that keeps a confidence of {100 * _CONFIDENCE:.0f} %: the "
        f"target, the weight of its loss, or both. Label smoothing (here by {_ALPHA:g}) is the "
        f"same for every image. How much: confidence = 1 − (1 − 1/{_NUM_CLASSES})(1 − visible)ᵏ "
        f"for {_NUM_CLASSES} classes. A larger k forgives more."
    )
    return Figure("figure2", alt, caption, _draw_softening, 280, WIDE)


def _draw_softening(figure: MplFigure, colors: Colors) -> None:
    """Draw a row of bars for each target; then confidence by visible share for each k."""
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    for floor, target in enumerate(reversed(TARGETS)):
        bars = [0.72 * share for share in target.probabilities]
        look: dict[str, Any] = {
            "facecolor": colors(2) if target.softened else "none",
            "edgecolor": INK,
        }
        left.bar(range(_CLASSES), bars, 0.72, floor, linewidth=0.7, **look)
        left.plot([-0.6, _CLASSES - 0.4], [floor, floor], color=INK, linewidth=0.7)
        sure = f"{100 * target.confidence:.0f} %"
        left.annotate(sure, (_TRUE + 0.55, floor + 0.72 * target.confidence), va="top")
        left.annotate(f"weight {target.weight:g}", (_CLASSES - 0.4, floor + 0.36), ha="right")
    names = [target.name for target in reversed(TARGETS)]
    left.set_yticks([floor + 0.25 for floor in range(len(TARGETS))], names)
    left.set_xticks([_TRUE], ["true class"])
    left.set(xlim=(-0.8, _CLASSES - 0.2), ylim=(-0.12, len(TARGETS) - 0.1), xlabel="ten classes")
    left.spines[:].set_visible(False)
    left.grid(visible=False)
    for k, dash in _DASHES.items():
        label = f"k = {k}" + (f" ({PAPER})" if k == 2 else "")
        color, width = (colors(2), 2.6) if k == 2 else (INK, 1.2)
        right.plot(_VISIBLE, softening_curve(k), dash, color=color, linewidth=width, label=label)
    right.set(xlabel="visible share of the image, %", ylabel="confidence of the target, %")
    right.set(xlim=(0, 1), ylim=(0, 1.02))
    mark_percent(right.xaxis, right.yaxis)
    right.legend(loc="lower right", handlelength=3)


# Figures 4, 6 and 7: images with answers.

_OCCLUDED_ROWS = {"figure4": slice(0, 3), "figure7": slice(3, None)}


def find_evaluations(table: CollectedTable, folder: Path) -> dict[str, Path]:
    """Find the evaluations of the arms that have one, by label."""
    labels = table.labels or [Path(run).name for run in table.runs]
    pairs = zip(labels, table.runs, strict=True)
    files = {label: folder / run / "evaluation.json" for label, run in pairs}
    return {label: file for label, file in files.items() if file.is_file()}


def _answers(table: CollectedTable, folder: Path) -> Figure | None:
    """Draw the images that the runs kept, with the answers of those that are evaluated."""
    arms: list[Arm] = []
    for label, file in find_evaluations(table, folder).items():
        (arm,) = comparison_of_one(schema.read_evaluation(file)).arms
        arms.append(arm.model_copy(update={"name": label}))
        schema.check_comparable(arm.evaluations[0], arms[0].evaluations[0])
    if not arms:
        return None
    if table.name in _OCCLUDED_ROWS:
        rows = occluded_cards(arms)[_OCCLUDED_ROWS[table.name]]
    else:
        rows = whole_cards(arms)
    if not rows:
        return None
    found = answers_figure(table.name, rows, arms)
    chance = " One run each. The images were drawn at random once for all runs, not chosen."
    return replace(found, caption=found.caption + chance)
