"""The figures of an evaluation or a comparison, each with its words."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as MplFigure
from matplotlib.lines import Line2D

from softaug.lab.evaluation.stats import estimate
from softaug.lab.report import charts
from softaug.lab.report.charts import literal, mark_percent
from softaug.lab.report.findings import (
    HEADLINE,
    Difference,
    find_difference,
    find_unit,
    largest_differences,
    lean,
)
from softaug.lab.report.model import WIDE, Colors, Figure, format_list, plural, slug
from softaug.lab.report.style import GRAY, INK, MARKERS, line_style
from softaug.lab.schema import (
    Arm,
    CollectedLine,
    Comparison,
    Estimate,
    Evaluation,
    Pair,
)

# Differences: first the headline, the picture that a comparison opens with; then all of them.

_COLOR = {"better": 2, "worse": 1}  # by the verdict; else gray
_LETTERS = 22  # of a panel's heading in a line


def headline_figure(comparison: Comparison) -> Figure:
    """Draw a panel for each metric of the headline and for the largest gain and loss.

    Each has a dot with its interval for each pair of arms, better to the right.
    """
    pairs = comparison.pairs
    every = [[find_difference(pair, one) for one in comparison.metrics] for pair in pairs]
    largest = [one for row in every for one in largest_differences(row)]
    largest.sort(key=lambda one: -abs(one.gain))
    ends = [next((one for one in largest if sign * one.gain > 0), None) for sign in (1, -1)]
    keys = [*HEADLINE, *(one.metric.key for one in ends if one is not None)]
    panels = {
        metric.label: [row[place] for row in every]
        for place, metric in enumerate(comparison.metrics)
        if metric.key in keys
    }
    alt = "; ".join(
        f"{pair.arm} minus {pair.against}: "
        + ", ".join(f"{_label(row)} {row[place].text}" for row in panels.values())
        for place, pair in enumerate(pairs)
    )
    baselines = format_list(list(dict.fromkeys(pair.against for pair in pairs)))
    caption = (
        f"Differences to {baselines} with 95 % intervals; to the right of the line is better. "
        "Filled dots: the interval excludes no difference."
    )
    draw = partial(_draw_headline, panels, [pair.arm for pair in pairs])
    return Figure("headline", f"{alt}.", caption, draw, 76 + 30 * len(pairs), WIDE)


def _draw_headline(
    panels: Mapping[str, Sequence[Difference]],
    arms: Sequence[str],
    figure: MplFigure,
    colors: Colors,
) -> None:
    every = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (label, row) in zip(every, panels.items(), strict=True):
        ends = [0.0]
        for place, one in enumerate(row):
            index = _COLOR.get(one.verdict.word, GRAY)
            ends += _draw_difference(axes, one, place, colors(index), MARKERS[2])
            if one.value is not None:
                value = one.metric.format_signed(one.value)
                above: dict[str, Any] = {"textcoords": "offset points", "ha": "center"}
                axes.annotate(value, (one.gain, place), (0, 5), fontweight="bold", **above)
        limit = 1.25 * max(map(abs, ends)) or 1
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set(xlim=(-limit, limit), ylim=(len(arms) - 0.6, -0.8))
        heading = f"{label.removesuffix(', %')}{', points' if row[0].metric.percent else ''}"
        axes.set_title(textwrap.fill(literal(heading), _LETTERS), fontweight="bold")
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        _label_differences(axes, row, 4)
    every[0].set_yticks(range(len(arms)), [literal(arm, 26) for arm in arms])
    figure.supxlabel("← worse · better →", fontsize=9.5)


def _draw_difference(
    axes: Axes, one: Difference, height: float, color: str, marker: str
) -> list[float]:
    """Draw a dot with its interval, filled where zero is excluded; return its ends."""
    if one.value is None:
        return []
    ends = [] if one.interval is None else [one.interval.low, one.interval.high]
    ends = [one.in_gain(end) for end in ends]
    axes.plot(ends, [height] * len(ends), color=color, linewidth=2)
    face = color if one.verdict.word in _COLOR else "none"
    look: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 6}
    axes.plot(one.gain, height, color=color, mfc=face, **look)
    return [*ends, one.gain]


def _label_differences(axes: Axes, row: Sequence[Difference], num_ticks: int) -> None:
    """Label an axis of gains by differences: where lower is better, they fall to the right."""
    sign = 1 if row[0].metric.higher_is_better else -1
    axes.locator_params(axis="x", nbins=num_ticks)
    axes.xaxis.set_major_formatter(lambda gain, _: f"{sign * gain + 0.0:g}".replace("-", "−"))


def difference_figure(comparison: Comparison) -> Figure:
    """Draw the difference of each metric with its interval, better to the right."""
    pairs = comparison.pairs
    groups: dict[str, list[list[Difference]]] = {}
    for metric in comparison.metrics:
        if unit := find_unit(metric):
            row = [find_difference(pair, metric) for pair in pairs]
            groups.setdefault(unit, []).append(row)
    arms = [pair.arm for pair in pairs] if len(pairs) > 1 else []
    rows = [row for rows in groups.values() for row in rows]
    names = "; ".join(f"{pair.arm} minus {pair.against}" for pair in pairs)
    alt = f"Differences, {names}: " + "; ".join(f"{_label(row)} {_text(row)}" for row in rows) + "."
    caption = (
        f"{names}. Each dot is a difference with its 95 % interval; to the right of the line is "
        "better. Filled: the interval excludes no difference. Each group has a scale of its own."
    )
    height = 34 + 12 * len(arms) + 32 * len(groups) + (9 + 4 * len(pairs)) * len(rows)
    draw = partial(_draw_differences, groups, arms)
    return Figure("differences", alt, caption, draw, height, WIDE)


def _label(row: Sequence[Difference]) -> str:
    return row[0].metric.label.removeprefix("Accuracy, ").removesuffix(", %")


def _text(row: Sequence[Difference]) -> str:
    return "; ".join(one.text for one in row)


def _draw_differences(
    groups: Mapping[str, Sequence[Sequence[Difference]]],
    arms: Sequence[str],
    figure: MplFigure,
    colors: Colors,
) -> None:
    """Draw dots with intervals around a line of no difference; better is to the right.

    Groups are in one unit each and have scales of their own, whose zeros stand above each other.
    """
    every = charts.stack_rows(
        {name: list(map(_label, rows)) for name, rows in groups.items()}, figure
    )
    for axes, rows in zip(every, groups.values(), strict=True):
        ends = [0.0]
        for place, row in enumerate(rows):
            axes.annotate(
                _text(row), (1.02, place), xycoords=("axes fraction", "data"), va="center"
            )
            for turn, one in enumerate(row):
                index = turn + 1 if arms else _COLOR.get(one.verdict.word, GRAY)
                height = place + 0.24 * (turn - (len(row) - 1) / 2)
                marker = MARKERS[index % len(MARKERS)]
                ends += _draw_difference(axes, one, height, colors(index), marker)
        limit = 1.08 * max(map(abs, ends)) or 1
        axes.spines["left"].set_visible(False)
        axes.set_xlim(-limit, limit)
        _label_differences(axes, rows[0], 7)
    figure.supxlabel("← worse · better →", fontsize=9.5)
    handles = [
        Line2D([], [], color=colors(index), marker=MARKERS[index % len(MARKERS)], linestyle="none")
        for index in range(1, len(arms) + 1)
    ]
    charts.add_legend_above(figure, handles, list(map(literal, arms)))


# Reliability.


@dataclass(frozen=True)
class Bin:
    """A bin of confidence that holds `count` predictions."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability_figures(arms: Sequence[Arm], name: str, stem: str = "reliability") -> list[Figure]:
    """Draw reliability on a set of images, before and after scaling, for each arm."""
    return [
        _reliability(arm, index, name, when, f"{stem}-{when}-{index}-{slug(arm.name)}")
        for index, arm in enumerate(arms)
        for when in ("before", "after")
    ]


def _reliability(arm: Arm, index: int, name: str, when: str, stem: str) -> Figure:
    bins = pool_bins(arm, name, when)
    total = sum(part.count for part in bins)
    confidence = sum(part.count * part.confidence for part in bins) / total
    accuracy = sum(part.count * part.accuracy for part in bins) / total
    ece = estimate([getattr(one.test_sets[name], when)["ece_15"] for one in arm.evaluations])
    num = len(arm.evaluations)
    pooled = f", mean over {num} seeds, whose bins are pooled" if num > 1 else ""
    caption = (
        f"{arm.name} on {name} images, {when} temperature scaling: mean confidence "
        f"{100 * confidence:.1f} %, accuracy {100 * accuracy:.1f} %, "
        f"{lean(confidence - accuracy)}-confident by {100 * abs(confidence - accuracy):.1f} "
        f"points; ECE {100 * ece.mean:.2f} %{pooled}."
    )
    widest = max(bins, key=lambda part: part.count * abs(part.accuracy - part.confidence))
    alt = (
        f"Reliability of {caption} The bin that adds most to the ECE, {100 * widest.low:.0f} to "
        f"{100 * widest.high:.0f} %, holds {widest.count} answers of mean confidence "
        f"{100 * widest.confidence:.1f} % and accuracy {100 * widest.accuracy:.1f} %."
    )
    return Figure(stem, alt, caption, partial(draw_reliability, bins, index), 290)


def pool_bins(arm: Arm, name: str, when: str) -> list[Bin]:
    """Pool the bins of an arm's runs, weighted by count; empty bins are left out."""
    parts = [getattr(one.test_sets[name].reliability, when) for one in arm.evaluations]
    bins = []
    for place, (low, high) in enumerate(pairwise(parts[0].edges)):
        counts = [part.count[place] for part in parts]
        if total := sum(counts):
            confidence, accuracy = (
                sum(n * (column[place] or 0) for n, column in zip(counts, columns, strict=True))
                for columns in ([p.confidence for p in parts], [p.accuracy for p in parts])
            )
            bins.append(Bin(low, high, total, confidence / total, accuracy / total))
    return bins


def draw_reliability(bins: Sequence[Bin], index: int, figure: MplFigure, colors: Colors) -> None:
    """Draw accuracy by confidence, the gap to calibration hatched, and the counts below."""
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3.4, 1))
    lows, widths = [part.low for part in bins], [part.high - part.low for part in bins]
    accuracy, counts = [part.accuracy for part in bins], [part.count for part in bins]
    bars: dict[str, Any] = {"align": "edge", "linewidth": 0.8}
    top.bar(lows, accuracy, widths, color=colors(index), alpha=0.45, label="accuracy", **bars)
    base = [min(part.accuracy, part.confidence) for part in bins]
    gap = [abs(part.accuracy - part.confidence) for part in bins]
    outline: dict[str, Any] = {"color": "none", "edgecolor": INK, "hatch": "//////"}
    top.bar(lows, gap, widths, base, label="gap", **bars, **outline)
    top.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle="--", label="calibrated")
    top.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy, %")
    bottom.bar(lows, counts, widths, color=colors(index), edgecolor=INK, **bars)
    bottom.set_yscale("log")
    bottom.set(ylim=(0.7, 2 * max(counts)), xlabel="confidence, %", ylabel="count")
    ticks = [10**power for power in range(0, len(str(max(counts))), 2)]
    bottom.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    bottom.set_yticks([], minor=True)
    mark_percent(top.yaxis, bottom.xaxis)
    figure.legend(loc="outside upper left", ncols=3, handlelength=1.6, columnspacing=1)


# Corruptions.

CORRUPTIONS = {  # title, axis, and what levels are multiplied by
    "occlusion": ("Part of the image hidden", "hidden share of the image, %", 100),
    "shift": ("Image moved out of frame", "share left in frame, %", 100),
    "noise": ("Noise", "noise, sd in full ranges", 1),
}
COMMON = "common/"  # what names of common corruptions begin with
GROUPS = {  # of metrics, by what their keys begin with
    **{name: title for name, (title, *_) in CORRUPTIONS.items()},
    "common": "Common corruptions, mean of five severities",
    "ood": "Images of other classes, told from these",
}


def corruption_figures(arms: Sequence[Arm]) -> list[Figure]:
    """Draw accuracy at each level of each corruption that all have, all arms in one figure."""
    first, *others = [one.corruptions for arm in arms for one in arm.evaluations]
    shared = [name for name in first if all(name in other for other in others)]
    drawn = [_corruption(arms, name) for name in shared if not name.startswith(COMMON)]
    kinds = [name for name in shared if name.startswith(COMMON)]
    return [*drawn, _common(arms, kinds)] if kinds else drawn


def _corruption(arms: Sequence[Arm], kind: str) -> Figure:
    title, axis, scale = CORRUPTIONS.get(kind, (kind, kind, 1))
    first = arms[0].evaluations[0]
    levels = [level * scale for level in first.corruptions[kind].levels]
    lines = [_accuracy_line(arm, kind, levels) for arm in arms]
    at = ", ".join(f"{level:g}" for level in levels)
    means = "; ".join(f"{one.label} {', '.join(f'{m:.1f}' for m in one.mean)} %" for one in lines)
    alt = f"{title}: accuracy at {axis.removesuffix(', %')} of {at}: {means}."
    counts = sorted({one.corruptions[kind].draws for arm in arms for one in arm.evaluations})
    draws = " or ".join(plural(count, "draw") for count in counts)
    caption = (
        f"{title}. Bars: ± one standard error over seeds, of a single run over its images. Each "
        f"level is the mean of {draws} on {first.corruptions[kind].n:,} images. Guessing reaches "
        "the dotted line."
    )
    draw = partial(_draw_corruption, lines, axis, 100 / len(first.class_names))
    return Figure(f"robustness-{slug(kind)}", alt, caption, draw, 215 + 15 * len(arms))


def _accuracy_line(arm: Arm, name: str, levels: list[float]) -> CollectedLine:
    """Mean and standard error in percent at each level: over seeds, else over images."""
    parts = [evaluation.corruptions[name] for evaluation in arm.evaluations]
    found = [estimate([part.accuracy[place] for part in parts]) for place in range(len(levels))]
    errors = [parts[0].se[i] if one.se is None else one.se for i, one in enumerate(found)]
    return CollectedLine(
        label=arm.name,
        x=levels,
        mean=[100 * one.mean for one in found],
        se=[100 * se for se in errors],
        n=[one.n for one in found],
        paper=[None] * len(levels),
    )


def _draw_corruption(
    lines: Sequence[CollectedLine], axis: str, chance: float, figure: MplFigure, colors: Colors
) -> None:
    axes = figure.add_subplot()
    charts.draw_lines(axes, lines, colors)
    axes.axhline(chance, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
    axes.annotate("chance", (lines[0].x[0], chance), (-3, 3), textcoords="offset points")
    axes.set(xlabel=axis, ylabel="accuracy, %", ylim=(0, 102))
    if lines[0].x[0] > lines[0].x[-1]:  # what is left falls as harm grows
        axes.invert_xaxis()
    charts.add_legend_above(figure, *axes.get_legend_handles_labels())


def _common(arms: Sequence[Arm], kinds: Sequence[str]) -> Figure:
    """Draw accuracy under each common corruption, and their mean."""
    rows = [f"{COMMON}mean", *kinds]
    labels = [name.removeprefix(COMMON).replace("-", " ") for name in rows]
    found = [[arm.estimates[name] for name in rows] for arm in arms]
    told = "; ".join(
        f"{label}: {', '.join(f'{100 * arm.estimates[name].mean:.1f}' for arm in arms)}"
        for label, name in zip(labels, rows, strict=True)
    )
    caption = (
        "Common corruptions: accuracy in %, mean of five severities in the style of CIFAR-10-C, "
        "which were generated here: compare these networks, not published ones. Bars: ± one "
        "standard error over seeds."
    )
    names = [arm.name for arm in arms]
    draw = partial(_draw_common, labels, found, names)
    height = 60 + (8 + 6 * len(arms)) * len(rows)
    return Figure(
        "robustness-common",
        f"{caption} In the order of {format_list(names)}: {told}.",
        caption,
        draw,
        height,
    )


def _draw_common(
    labels: Sequence[str],
    found: Sequence[Sequence[Estimate]],
    arms: Sequence[str],
    figure: MplFigure,
    colors: Colors,
) -> None:
    axes = figure.add_subplot()
    for index, (arm, row) in enumerate(zip(arms, found, strict=True)):
        places = [place + 0.18 * (index - (len(arms) - 1) / 2) for place in range(len(row))]
        look = {**line_style(index, colors), "linestyle": "none", "markersize": 4.5}
        means, errors = [100 * one.mean for one in row], [100 * (one.se or 0) for one in row]
        axes.errorbar(means, places, xerr=errors, label=literal(arm), elinewidth=1.2, **look)
    axes.axhline(0.5, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(labels)), labels)
    axes.set(xlabel="accuracy, %", ylim=(len(labels) - 0.5, -0.5))
    charts.add_legend_above(figure, *axes.get_legend_handles_labels())


# Classes.

_NUM_CHANGED, _NUM_CONFUSED = 10, 5
_NAMED = 20  # classes: more names than that do not fit beside the matrix
_SHADE = to_rgb("#c05a10")  # seen on light and on dark paper


def class_mean(evaluations: Sequence[Evaluation], key: str, place: int) -> float | None:
    """Average a class's number over evaluations; None where the class has no image."""
    values = [getattr(one.per_class, key)[place] for one in evaluations]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def find_changes(pair: Pair, comparison: Comparison) -> list[tuple[str, float]]:
    """List classes and how their error changes, in points, the largest fall first."""
    arms = {arm.name: arm for arm in comparison.arms}
    ours, theirs = (_shared_seeds(arms[name], pair) for name in (pair.arm, pair.against))
    changes = []
    for place, name in enumerate(ours[0].class_names):
        mine, other = (class_mean(side, "error", place) for side in (ours, theirs))
        if mine is not None and other is not None:
            changes.append((name, 100 * (mine - other)))
    return sorted(changes, key=lambda one: one[1])


def _shared_seeds(arm: Arm, pair: Pair) -> Sequence[Evaluation]:
    """Return the evaluations of the shared seeds; all where none is shared."""
    both = zip(arm.seeds, arm.evaluations, strict=True)
    return [one for seed, one in both if seed in pair.seeds] or arm.evaluations


def change_figures(comparison: Comparison) -> list[Figure]:
    """Draw the classes that gain and lose most, for each pair."""
    return [_change(pair, comparison, index) for index, pair in enumerate(comparison.pairs)]


def _change(pair: Pair, comparison: Comparison, index: int) -> Figure:
    every = find_changes(pair, comparison)
    some = len(every) > 2 * _NUM_CHANGED
    shown = [*every[:_NUM_CHANGED], *every[-_NUM_CHANGED:]] if some else every
    better, worse = (sum(sign * change > 0 for _, change in every) for sign in (-1, 1))
    counts = f"{better} of {len(every)} classes better, {worse} worse"
    which = f"The {_NUM_CHANGED} that fall and rise most" if some else "All classes"
    bars = "; ".join(f"{name} {change:+.1f}" for name, change in shown)
    alt = f"Change of each class’s error in points, {pair.arm} minus {pair.against}: {bars}."
    caption = (
        f"{pair.arm} minus {pair.against}: {counts}. {which}; means over shared seeds. "
        "One class has few images: single bars are noisy."
    )
    name, height = f"class-change-{index}-{slug(pair.arm)}", 70 + 14 * max(4, len(shown))
    return Figure(name, alt, caption, partial(_draw_changes, shown), height)


def _draw_changes(changes: Sequence[tuple[str, float]], figure: MplFigure, colors: Colors) -> None:
    axes, places = figure.add_subplot(), range(len(changes))
    axes.barh(places, [change for _, change in changes], color=colors(2), alpha=0.6)
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.set_yticks(places, [literal(name, 18) for name, _ in changes])
    axes.set_xlabel("change of the error, points\n← better · worse →")
    axes.grid(visible=False, axis="y")
    axes.set_ylim(len(changes) - 0.4, -0.6)


def confusion_figures(arms: Sequence[Arm]) -> list[Figure]:
    """Draw which classes are taken for which, a matrix for each arm, all on one scale."""
    matrices = [_sum_confusion(arm) for arm in arms]
    top = max(share for matrix in matrices for row in _shares(matrix) for share in row) or 1.0
    return [_confusion(arm, index, matrices[index], top) for index, arm in enumerate(arms)]


def _sum_confusion(arm: Arm) -> list[list[int]]:
    parts = [evaluation.per_class.confusion for evaluation in arm.evaluations]
    return [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)]


def _shares(matrix: Sequence[Sequence[int]]) -> list[list[float]]:
    """Share of each true class's images that were taken for each other class."""
    return [
        [0.0 if i == j else count / (sum(row) or 1) for j, count in enumerate(row)]
        for i, row in enumerate(matrix)
    ]


def _confusion(arm: Arm, index: int, matrix: list[list[int]], top: float) -> Figure:
    names, shares = arm.evaluations[0].class_names, _shares(matrix)
    pairs = [(i, j) for i, row in enumerate(shares) for j, share in enumerate(row) if share]
    pairs = sorted(pairs, key=lambda pair: -shares[pair[0]][pair[1]])[:_NUM_CONFUSED]
    total = sum(map(sum, matrix))
    wrong = total - sum(matrix[i][i] for i in range(len(names)))
    told = [f"{names[i]} for {names[j]} ({matrix[i][j]} of {sum(matrix[i])})" for i, j in pairs]
    often = f" Most often taken: {format_list(told)}." if told else ""
    caption = (
        f"{arm.name}: {wrong:,} wrong answers of {total:,}, summed over "
        f"{plural(len(arm.evaluations), 'seed')}.{often} Correct answers, on the diagonal, are "
        "left out."
    )
    draw = partial(_draw_confusion, shares, top, names)
    name = f"confusion-{index}-{slug(arm.name)}"
    return Figure(name, f"Confusions of {caption}", caption, draw, 330)


def _draw_confusion(
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
    axes.set(xlabel="answer", ylabel="true class")
    if len(names) <= _NAMED:
        short = [literal(name, 12) for name in names]
        axes.set_xticks(range(len(names)), short, rotation=0 if max(map(len, short)) <= 2 else 90)
        axes.set_yticks(range(len(names)), short)
    steps = [[(*_SHADE, step / 31) for step in range(32)]]
    scale.imshow(steps, interpolation="none", aspect="auto", extent=(0, 100 * top, 0, 1))
    scale.set(yticks=[], xlabel="share of the true class, %")
    for one in (axes, scale):
        one.grid(visible=False)
