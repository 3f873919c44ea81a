"""Reliability diagrams: how often a prediction of given confidence is right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.report.palette import INK, series
from softaug.lab.report.results import Arm, Reliability
from softaug.lab.report.svg import draw_svg, fraction_axis

HEIGHT = 290


@dataclass(frozen=True)
class Bin:
    """A bin of confidence that holds `count` predictions."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def pool(parts: Sequence[Reliability]) -> list[Bin]:
    """The bins of several runs as one, weighted by count; empty bins are left out."""
    bins = []
    for index in range(len(parts[0]["edges"]) - 1):
        counts = [part["count"][index] for part in parts]
        if total := sum(counts):
            sums = [_weighted(counts, parts, key, index) for key in ("confidence", "accuracy")]
            low, high = parts[0]["edges"][index : index + 2]
            bins.append(Bin(low, high, total, sums[0] / total, sums[1] / total))
    return bins


def _weighted(counts: list[int], parts: Sequence[Reliability], key: str, index: int) -> float:
    values = [part["confidence" if key == "confidence" else "accuracy"][index] for part in parts]
    return sum(n * (value or 0) for n, value in zip(counts, values, strict=True) if n)


def arm_bins(arm: Arm) -> list[Bin]:
    """The bins of an arm, pooled over its seeds."""
    return pool([run["reliability"] for run in arm["runs"]])


def means(bins: Sequence[Bin]) -> tuple[float, float]:
    """Mean confidence and accuracy over all predictions."""
    total = sum(part.count for part in bins)
    confidence = sum(part.count * part.confidence for part in bins) / total
    return confidence, sum(part.count * part.accuracy for part in bins) / total


def reliability_diagram(arm: Arm, index: int) -> Markup:
    """Accuracy in each bin, the gap to the mean confidence hatched, and the counts below."""
    bins = arm_bins(arm)

    def draw(figure: Figure) -> None:
        draw_bins(figure, bins, series(index))

    return draw_svg(f"reliability-{index}", describe_bins(arm["name"], bins), HEIGHT, draw)


def draw_bins(figure: Figure, bins: Sequence[Bin], colour: str) -> None:
    """The diagram of some bins, on a figure of its own."""
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3.4, 1))
    _draw_accuracy(top, bins, colour)
    _draw_counts(bottom, bins, colour)
    figure.legend(loc="outside upper left", ncols=3, handlelength=1.6, columnspacing=1)


def _draw_accuracy(axes: Axes, bins: Sequence[Bin], colour: str) -> None:
    lows, widths = [part.low for part in bins], [part.high - part.low for part in bins]
    accuracy = [part.accuracy for part in bins]
    axes.bar(lows, accuracy, widths, align="edge", color=colour, alpha=0.45, label="accuracy")
    base = [min(part.accuracy, part.confidence) for part in bins]
    gap = [abs(part.accuracy - part.confidence) for part in bins]
    outline: dict[str, Any] = {"color": "none", "edgecolor": INK, "hatch": "//////"}
    axes.bar(lows, gap, widths, base, align="edge", linewidth=0.8, label="gap", **outline)
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle="--", label="calibrated")
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy, %")
    fraction_axis(axes, y=True)


def _draw_counts(axes: Axes, bins: Sequence[Bin], colour: str) -> None:
    widths = [part.high - part.low for part in bins]
    lows, counts = [part.low for part in bins], [part.count for part in bins]
    axes.bar(lows, counts, widths, color=colour, align="edge", edgecolor=INK, linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylim(0.7, 2 * max(counts))
    ticks = [10**power for power in range(len(str(max(counts)))) if power % 2 == 0]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set(xlabel="confidence, %", ylabel="count")
    fraction_axis(axes, x=True)


def describe_bins(name: str, bins: Sequence[Bin]) -> str:
    """The text alternative of the diagram."""
    confidence, accuracy = means(bins)
    lean = "over-confident" if confidence > accuracy else "under-confident"
    widest = max(bins, key=lambda part: part.count * abs(part.accuracy - part.confidence))
    return (
        f"Reliability of {name}: mean confidence {100 * confidence:.1f} %, accuracy "
        f"{100 * accuracy:.1f} %, so {lean} on the whole. The bin that adds most to the ECE, "
        f"{100 * widest.low:.0f} to {100 * widest.high:.0f} %, holds {widest.count} predictions of "
        f"mean confidence {100 * widest.confidence:.1f} % and accuracy "
        f"{100 * widest.accuracy:.1f} %."
    )
