"""What figures are drawn of: each function puts data on axes or on a figure.

Charts know nothing of result files. Series differ by marker and dash as well as by color.
"""

import base64
import binascii
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as MplFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from PIL import Image

from softaug.checks import describe, refuse
from softaug.lab.report.model import Answer, Card, Colors, one_line
from softaug.lab.report.style import GRAY, INK, MARKERS, line_style

PAPER = "the paper’s"


def literal(text: str, limit: int = 44) -> str:
    """Prepare text for matplotlib: one line, no mathematics, not too long."""
    shown = one_line(text)
    cut = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    return cut.replace("$", r"\$")


def _shorten_start(text: str, limit: int) -> str:
    """Cut a long label at its start: rows of a table differ at their ends."""
    shown = one_line(text)
    return literal(shown if len(shown) <= limit else f"…{shown[1 - limit :]}", limit)


def _mark_percent(*every: Axis) -> None:
    """Label shares in 0..1 as 0, 20, ... 100."""
    for axis in every:
        axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100"])


# Differences and gains: a row for each number.


@dataclass(frozen=True)
class Dot:
    """A value with the ends of its interval, where there is one, of the series at `index`."""

    index: int
    value: float
    ends: tuple[float, float] | None
    clear: bool
    """whether it is shown to differ from 0: a filled dot, else a hollow one"""


@dataclass(frozen=True)
class DotRow:
    """A label, its dots, and what is written at the right."""

    label: str
    dots: tuple[Dot, ...]
    text: str


@dataclass(frozen=True)
class GainRow:
    """A row of a table: the paper's gain and ours with its standard error, where there are."""

    label: str
    paper: float | None
    ours: float | None
    se: float | None


_Row = TypeVar("_Row", DotRow, GainRow)


def draw_dots(
    groups: Mapping[str, Sequence[DotRow]],
    names: Mapping[int, str],
    figure: MplFigure,
    colors: Colors,
) -> None:
    """Draw dots with intervals around a line of no difference; better is to the right.

    Groups are in one unit each and have scales of their own, whose zeros stand above each other.
    `names` are the series of the legend, by index.
    """
    with_text = figure.get_figwidth() > 6
    for axes, rows in _stack_rows(groups, 34, figure):
        for place, row in enumerate(rows):
            _draw_dot_row(axes, row, place, colors)
            if with_text:
                where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center"}
                axes.annotate(row.text, (1.02, place), **where)
        axes.spines["left"].set_visible(False)
        dots = [dot for row in rows for dot in row.dots]
        ends = [abs(end) for dot in dots for end in (dot.value, *(dot.ends or ()))]
        limit = 1.08 * max(ends, default=0) or 1
        axes.set_xlim(-limit, limit)
        axes.locator_params(axis="x", nbins=7 if with_text else 5)
    figure.supxlabel("← worse · better →", fontsize=9.5)
    if names:
        look: dict[str, Any] = {"linestyle": "none", "markersize": 6}
        handles = [
            Line2D([], [], color=colors(index), marker=MARKERS[index % len(MARKERS)], **look)
            for index in names
        ]
        add_legend_above(figure, handles, [literal(name) for name in names.values()])


def _stack_rows(
    groups: Mapping[str, Sequence[_Row]], limit: int, figure: MplFigure
) -> Iterator[tuple[Axes, Sequence[_Row]]]:
    """Make axes under a heading for each group: a label for each row, and a line at zero."""
    ratios = [len(rows) + 0.9 for rows in groups.values()]
    every = figure.subplots(len(groups), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for axes, (heading, rows) in zip(every, groups.items(), strict=True):
        axes.axvline(0, color=INK, linewidth=0.9)
        yield axes, rows
        axes.set_yticks(range(len(rows)), [_shorten_start(row.label, limit) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_title(" ", pad=3)
        text = axes.annotate(
            literal(heading, 46),
            (0, 1),
            (2, 4),
            xycoords=("figure fraction", "axes fraction"),
            textcoords="offset points",
            fontweight="bold",
        )
        text.set_in_layout(False)


def _draw_dot_row(axes: Axes, row: DotRow, place: int, colors: Colors) -> None:
    for turn, dot in enumerate(row.dots):
        height = place + 0.24 * (turn - (len(row.dots) - 1) / 2)
        color = colors(dot.index)
        if dot.ends is not None:
            axes.plot(dot.ends, [height] * 2, color=color, linewidth=2, solid_capstyle="round")
        look: dict[str, Any] = {"marker": MARKERS[dot.index % len(MARKERS)], "markersize": 6}
        look["markerfacecolor"] = color if dot.clear else "none"
        axes.plot([dot.value], [height], color=color, linestyle="none", **look)


def draw_gains(
    groups: Mapping[str, Sequence[GainRow]], ours: str, figure: MplFigure, colors: Colors
) -> None:
    """Draw bars of the paper's gain and ours, a panel for each group."""
    for axes, rows in _stack_rows(groups, 52 if figure.get_figwidth() > 6 else 26, figure):
        places = range(len(rows))
        paper, mean = _gaps([row.paper for row in rows]), _gaps([row.ours for row in rows])
        has_paper = not all(map(math.isnan, paper))
        thick, aside = (0.36, 0.19) if has_paper else (0.6, 0.0)
        hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": colors(GRAY), "hatch": "////"}
        bars: dict[str, Any] = {"color": colors(0), "ecolor": INK, "capsize": 2}
        bars["error_kw"] = {"linewidth": 1}
        if has_paper:
            axes.barh([p - aside for p in places], paper, thick, label=PAPER, **hatched)
        errors = [row.se or 0 for row in rows]
        axes.barh([p + aside for p in places], mean, thick, xerr=errors, label=ours, **bars)
    figure.axes[-1].set_xlabel("gain over the baseline row, points\n← worse · better →")
    legends = [axes.get_legend_handles_labels() for axes in figure.axes]
    add_legend_above(figure, *max(legends, key=lambda both: len(both[0])))


# Curves.


@dataclass(frozen=True)
class Line:
    """Means with standard errors at each x; None leaves a gap. `paper` has the paper's points."""

    label: str
    x: Sequence[float]
    mean: Sequence[float | None]
    se: Sequence[float | None]
    paper: Sequence[float | None] = ()

    @property
    def has_paper(self) -> bool:
        """Whether the paper has a point."""
        return any(value is not None for value in self.paper)


def draw_lines(axes: Axes, lines: Sequence[Line], colors: Colors) -> None:
    """Draw lines with error bars, beside rather than on top of each other."""
    ticks = sorted({x for line in lines for x in line.x})
    step = (ticks[-1] - ticks[0]) / 80 if ticks else 0.0
    for index, line in enumerate(lines):
        xs = [x + step * (index - (len(lines) - 1) / 2) for x in line.x]
        look = line_style(index, colors)
        bars: dict[str, Any] = {"markersize": 4.5, "elinewidth": 1.2, "capsize": 2.5}
        means, errors = _gaps(line.mean), _gaps(line.se)
        axes.errorbar(xs, means, errors, label=literal(line.label), linewidth=1.4, **bars, **look)
        if line.has_paper:
            hollow = _hollow(look["marker"])
            axes.plot(xs, _gaps(line.paper), color=look["color"], label=PAPER, **hollow)
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _hollow(marker: str) -> dict[str, Any]:
    return {"linestyle": "none", "marker": marker, "markerfacecolor": "none", "markersize": 6.5}


def find_limits(lines: Sequence[Line]) -> tuple[float, float]:
    """Find ends of a y axis that holds all bars and the paper's points; below 0 only if they are.

    >>> find_limits([Line("", [1, 2], [10.0, None], [2.0, None], [18.0, None])])
    (7.5, 18.5)
    """
    points = [value for line in lines for value in line.paper if value is not None]
    for line in lines:
        for mean, se in zip(line.mean, line.se, strict=True):
            points += [] if mean is None else [mean - (se or 0), mean + (se or 0)]
    low, high = min(points, default=0.0), max(points, default=1.0)
    room = 0.05 * (high - low) or 0.5
    return (low - room if low < 0 else max(0.0, low - room)), high + room


def draw_corruption(
    lines: Sequence[Line], axis: str, chance: float, figure: MplFigure, colors: Colors
) -> None:
    """Draw accuracy in percent against the level of a corruption, and that of guessing."""
    axes = figure.add_subplot()
    draw_lines(axes, lines, colors)
    axes.axhline(chance, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
    axes.annotate("chance", (lines[0].x[0], chance), (-3, 3), textcoords="offset points")
    axes.set(xlabel=axis, ylabel="accuracy, %", ylim=(0, 102))
    if lines[0].x[0] > lines[0].x[-1]:  # what is left falls as harm grows
        axes.invert_xaxis()
    add_legend_above(figure, *axes.get_legend_handles_labels())


@dataclass(frozen=True)
class Spread:
    """Mean, least and most of some runs."""

    mean: float
    low: float
    high: float
    num: int


def draw_training(
    curves: Mapping[str, Mapping[float, Spread]], label: str, figure: MplFigure, colors: Colors
) -> None:
    """Draw the mean over runs at each epoch, with a band from the least to the most."""
    axes = figure.add_subplot()
    for index, (arm, points) in enumerate(curves.items()):
        if points:
            xs, spreads = list(points), list(points.values())
            look = {**line_style(index, colors), "linewidth": 1.4, "markersize": 4.5}
            look |= {"label": literal(arm), "markevery": max(1, len(xs) // 8)}
            axes.plot(xs, [one.mean for one in spreads], **look)
            lows, highs = [one.low for one in spreads], [one.high for one in spreads]
            axes.fill_between(xs, lows, highs, color=colors(index), alpha=0.2, linewidth=0)
    axes.set(xlabel="epoch", ylabel=literal(label))
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    add_legend_above(figure, *axes.get_legend_handles_labels())


def legend_entries(axes: Axes) -> tuple[list[Any], list[str]]:
    """Return handles and labels of a legend: ours, then one for all of the paper's points."""
    pairs = list(zip(*axes.get_legend_handles_labels(), strict=True))
    kept = [(handle, label) for handle, label in pairs if label != PAPER]
    if len(kept) < len(pairs):
        kept.append((Line2D([], [], color=INK, **_hollow("o")), PAPER))
    return [handle for handle, _ in kept], [label for _, label in kept]


def add_legend_above(figure: MplFigure, handles: list[Any], labels: list[str]) -> Legend:
    """Add a legend in two columns where there is room; else in one, on a higher figure."""
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


# Calibration and classes.


@dataclass(frozen=True)
class Bin:
    """A bin of confidence that holds `count` predictions."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def draw_reliability(bins: Sequence[Bin], index: int, figure: MplFigure, colors: Colors) -> None:
    """Draw accuracy by confidence, the gap to calibration hatched, and the counts below."""
    color = colors(index)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3.4, 1))
    lows, widths = [part.low for part in bins], [part.high - part.low for part in bins]
    accuracy, counts = [part.accuracy for part in bins], [part.count for part in bins]
    top.bar(lows, accuracy, widths, align="edge", color=color, alpha=0.45, label="accuracy")
    base = [min(part.accuracy, part.confidence) for part in bins]
    gap = [abs(part.accuracy - part.confidence) for part in bins]
    outline: dict[str, Any] = {"color": "none", "edgecolor": INK, "hatch": "//////"}
    top.bar(lows, gap, widths, base, align="edge", linewidth=0.8, label="gap", **outline)
    top.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle="--", label="calibrated")
    top.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy, %")
    _mark_percent(top.yaxis)
    bottom.bar(lows, counts, widths, color=color, align="edge", edgecolor=INK, linewidth=0.8)
    bottom.set_yscale("log")
    bottom.set_ylim(0.7, 2 * max(counts))
    _mark_powers(bottom, [10**power for power in range(0, len(str(max(counts))), 2)])
    bottom.set(xlabel="confidence, %", ylabel="count")
    _mark_percent(bottom.xaxis)
    figure.legend(loc="outside upper left", ncols=3, handlelength=1.6, columnspacing=1)


def _mark_powers(axes: Axes, ticks: Sequence[int]) -> None:
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_yticks([], minor=True)


def draw_histogram(
    correct: Sequence[int], wrong: Sequence[int], index: int, figure: MplFigure, colors: Colors
) -> None:
    """Draw counts of correct and wrong answers in equal bins of confidence."""
    axes, num = figure.add_subplot(), len(correct)
    lows = [place / num for place in range(num)]
    bars: dict[str, Any] = {"width": 1 / num, "align": "edge", "linewidth": 0.8}
    axes.bar(lows, correct, color=colors(index), alpha=0.45, label="correct", **bars)
    axes.bar(lows, wrong, color="none", edgecolor=INK, hatch="//////", label="wrong", **bars)
    axes.set_yscale("symlog", linthresh=1)
    top = max(*correct, *wrong, 1)
    _mark_powers(axes, [0, *(10**power for power in range(len(str(top))))])
    axes.set(xlim=(0, 1), ylim=(0, 2 * top), xlabel="confidence, %", ylabel="answers")
    _mark_percent(axes.xaxis)
    figure.legend(loc="outside upper left", ncols=2, handlelength=1.6)


def draw_changes(changes: Sequence[tuple[str, float]], figure: MplFigure, colors: Colors) -> None:
    """Draw a bar for the change of each class's error."""
    axes, places = figure.add_subplot(), range(len(changes))
    axes.barh(places, [change for _, change in changes], color=colors(2), alpha=0.6)
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.set_yticks(places, [literal(name, 18) for name, _ in changes])
    axes.set_xlabel("change of the error, points\n← better · worse →")
    axes.grid(visible=False, axis="y")
    axes.set_ylim(len(changes) - 0.4, -0.6)


_NAMED = 20  # classes: more names than that do not fit beside the matrix
_SHADE = to_rgb("#c05a10")  # seen on light and on dark paper


def draw_confusion(
    shares: Sequence[Sequence[float]],
    top: float,
    names: Sequence[str],
    figure: MplFigure,
    colors: Colors,  # shades are alike for all
) -> None:
    """Draw which classes are taken for which, and the scale of the shades below."""
    axes, scale = figure.subplots(2, 1, height_ratios=(24, 1))
    shaded = [[(*_SHADE, share / top) for share in row] for row in shares]
    axes.imshow(shaded, interpolation="none", aspect="equal")
    ends = [-0.5, len(names) - 0.5]
    axes.plot(ends, ends, color=INK, linewidth=0.5)
    axes.grid(visible=False)
    axes.set(xlabel="answer", ylabel="true class")
    if len(names) <= _NAMED:
        short = [literal(name, 12) for name in names]
        axes.set_xticks(range(len(names)), short, rotation=0 if max(map(len, short)) <= 2 else 90)
        axes.set_yticks(range(len(names)), short)
    steps = [[(*_SHADE, step / 31) for step in range(32)]]
    scale.imshow(steps, interpolation="none", aspect="auto", extent=(0, 100 * top, 0, 1))
    scale.set(yticks=[], xlabel="share of the true class, %")
    scale.grid(visible=False)


# Crops with their targets.


@dataclass(frozen=True)
class TrainingCrop:
    """An image as training sees it: RGB pixels [H, W, 3], visible share, target of its class."""

    pixels: Any
    label: str
    visible: float
    target: float


def draw_crops(crops: Sequence[TrainingCrop], figure: MplFigure, colors: Colors) -> None:
    """Draw crops in two rows: the class above each, below what is visible and the target."""
    for axes, crop in zip(figure.subplots(2, len(crops) // 2).flat, crops, strict=True):
        coarse = len(crop.pixels) < _COARSE
        axes.imshow(crop.pixels, interpolation="nearest" if coarse else "antialiased")
        axes.set(xticks=[], yticks=[])
        axes.grid(visible=False)
        axes.set_title(literal(crop.label, 14), fontsize=8)
        axes.set_xlabel(f"visible {100 * crop.visible:.0f} %", fontsize=8)
        bar = axes.inset_axes((0, -0.3, 1, 0.07))
        bar.barh(0, 1, color=colors(GRAY), alpha=0.3)
        bar.barh(0, crop.target, color=colors(2))
        bar.set(xlim=(0, 1), xticks=[], yticks=[])
        bar.spines[:].set_visible(False)
        bar.set_xlabel(f"target {crop.target:.2f}", fontsize=8)


# Images with answers.

_SMALL = 6.0  # points
_LINE = 1.25 * _SMALL
_COARSE = 96  # pixels: below, an image shows its pixels as squares
_LETTERS = 84  # of class names that a line of answers has room for, beside their confidences


def open_png(text: str) -> Image.Image:
    """Open the picture in a base64 text."""
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(text, validate=True)), formats=["PNG"])
        return picture.convert("RGB")
    except (binascii.Error, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        remedy = "run `softaug evaluate` again"
        refuse("report", "examples must be PNG pictures", describe(text), remedy)


def measure_answers(rows: Sequence[Sequence[Card]], width: float) -> float:
    """Return the height in points that rows of cards take at a width in points."""
    cell = width / max(map(len, rows))
    num_answers = max(len(card.answers) for row in rows for card in row)
    heads = 1 if _is_series(rows) else 2 * len(rows)
    return 24 + heads * _LINE + len(rows) * (cell + (num_answers + 0.5) * _LINE)


def draw_answers(rows: Sequence[Sequence[Card]], figure: MplFigure, colors: Colors) -> None:
    """Draw a row of images for each row of cards; the arms are named above by letter.

    Where each row is one image, its class stands once, beside it, and what was done to the
    images of a column once above.
    """
    every = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
    is_series = _is_series(rows)
    for down, row in enumerate(rows):
        for axes in every[down, len(row) :]:
            axes.set_axis_off()
        for across, card in enumerate(row):
            axes = every[down, across]
            _draw_card(axes, card, colors, _LETTERS // every.shape[1])
            title = literal(card.note, 24)
            if not is_series:
                title = f"{literal(card.label, 20)}\n{title}"
            elif across == 0:
                axes.set_ylabel(literal(card.label, 24), fontsize=_SMALL, labelpad=2)
            if down == 0 or not is_series:
                axes.set_title(title, fontsize=_SMALL, pad=2)
    answers = rows[0][0].answers
    look: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0, "markersize": 5}
    marks = [rf"$\mathsf{{{_letter(place)}}}$" for place in range(len(answers))]
    handles = [
        Line2D([], [], label=literal(answer.arm), marker=mark, color=colors(place), **look)
        for place, (answer, mark) in enumerate(zip(answers, marks, strict=True))
    ]
    look = {"ncols": len(answers), "handletextpad": 0.2, "fontsize": 7}
    figure.legend(handles=handles, loc="outside upper left", **look)


def _is_series(rows: Sequence[Sequence[Card]]) -> bool:
    """Whether each row is of one class, and each column of one kind."""
    alike = all(len({card.label for card in row}) == 1 for row in rows)
    return alike and len({tuple(card.note for card in row) for row in rows}) == 1


def _letter(place: int) -> str:
    """What stands for an arm below the images."""
    return chr(ord("A") + place % 26)


def _draw_card(axes: Axes, card: Card, colors: Colors, num_letters: int) -> None:
    coarse = card.width < _COARSE
    axes.imshow(open_png(card.png), interpolation="nearest" if coarse else "antialiased")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.grid(False)
    for place, answer in enumerate(card.answers):
        axes.annotate(
            answer_text(place, answer, num_letters),
            (0, 0),
            (0, -_LINE * (place + 0.9)),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=_SMALL,
            color=colors(place),
        )


def answer_text(place: int, answer: Answer, num_letters: int = 14) -> str:
    """Write what an arm says, the class in few letters.

    >>> answer_text(1, Answer("soft", True, "golf ball", 0.874, ""))
    'B ✓ golf ball, 87 %'
    """
    sign, name = "✓" if answer.correct else "✗", literal(answer.name, num_letters)
    return f"{_letter(place)} {sign} {name}, {100 * answer.confidence:.0f} %"


# Figures 1 and 2 of the paper.

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
    axes.set(xlabel="dx, pixels to the right", ylabel="dy, pixels down", aspect="equal")


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


def draw_targets(targets: Sequence[Target], axes: Axes, colors: Colors) -> None:
    """Draw a row of bars for each target, the weight of its loss at the right."""
    for place, target in enumerate(targets):
        floor = len(targets) - 1 - place
        bars = [0.72 * share for share in target.probabilities]
        filled = colors(2) if target.softened else "none"
        places = range(_CLASSES)
        axes.bar(places, bars, 0.72, floor, linewidth=0.7, facecolor=filled, edgecolor=INK)
        axes.plot([-0.6, _CLASSES - 0.4], [floor, floor], color=INK, linewidth=0.7)
        sure = f"{100 * target.confidence:.0f} %"
        axes.annotate(sure, (_TRUE + 0.55, floor + 0.72 * target.confidence), va="top")
        axes.annotate(f"weight {target.weight:g}", (_CLASSES - 0.4, floor + 0.36), ha="right")
    names = [target.name for target in reversed(targets)]
    axes.set_yticks([floor + 0.25 for floor in range(len(targets))], names)
    axes.set(xlim=(-0.8, _CLASSES - 0.2), ylim=(-0.12, len(targets) - 0.1), xlabel="ten classes")
    axes.set_xticks([_TRUE], ["true class"])
    axes.spines[:].set_visible(False)
    axes.grid(False)


_DASHES = (":", "--", "-.", (0, (9, 2)))


def draw_softening(
    visible: Sequence[float], curves: Mapping[int, Sequence[float]], axes: Axes, colors: Colors
) -> None:
    """Draw confidence against the visible share for each k; the paper's k = 2 is thick."""
    for index, (k, values) in enumerate(curves.items()):
        chosen = k == 2
        axes.plot(
            visible,
            values,
            color=colors(2) if chosen else INK,
            linewidth=2.6 if chosen else 1.2,
            linestyle="-" if chosen else _DASHES[index % len(_DASHES)],
            label=f"k = {k}" + (f" ({PAPER})" if chosen else ""),
        )
    axes.set(xlabel="visible share of the image, %", ylabel="confidence of the target, %")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    _mark_percent(axes.xaxis, axes.yaxis)
    axes.legend(loc="lower right", handlelength=3)
