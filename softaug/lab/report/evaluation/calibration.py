"""Reliability diagrams before and after temperature scaling, and confidence histograms."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from softaug.lab.report.evaluation.calibration_tables import WHEN, When, calibration_of, lean
from softaug.lab.report.evaluation.drawing import Colours, Picture, slug
from softaug.lab.report.evaluation.shapes import Arm, main_set, shared_sets
from softaug.lab.report.evaluation.tables import Cell, Table, number, plain_table, whole
from softaug.lab.report.figures.reliability import (
    HEIGHT,
    Bin,
    describe_bins,
    draw_bins,
    means,
    pool,
)
from softaug.lab.report.palette import INK
from softaug.lab.report.svg import fraction_axis


def reliability_pictures(arms: Sequence[Arm]) -> list[Picture]:
    """Before and after scaling, for each arm, on the split that was measured."""
    split = arms[0]["evaluations"][0]["split"]
    return _of_set(arms, split, "reliability")


def second_reliability_pictures(arms: Sequence[Arm]) -> list[Picture]:
    """The same on every second test set that all were measured on."""
    split = arms[0]["evaluations"][0]["split"]
    names = [name for name in shared_sets(arms) if name != split]
    return [
        picture
        for place, name in enumerate(names)
        for picture in _of_set(arms, name, f"reliability-also-{place}-{slug(name)}")
    ]


def _of_set(arms: Sequence[Arm], name: str, stem: str) -> list[Picture]:
    return [
        _reliability(arm, index, name, when, stem)
        for index, arm in enumerate(arms)
        for when in WHEN
    ]


def _reliability(arm: Arm, index: int, name: str, when: When, stem: str) -> Picture:
    bins = pool([e["sets"][name]["reliability"][when] for e in arm["evaluations"]])
    stem = f"{stem}-{when}-{index}-{slug(arm['name'])}"
    told = f"{arm['name']} on {name} images, {when} temperature scaling"
    alt = describe_bins(told, bins)
    caption = _caption(arm, name, when, told, bins)

    def draw(figure: Figure, colours: Colours) -> None:
        draw_bins(figure, bins, colours(index))

    return Picture(stem, alt, caption, HEIGHT, draw, _bin_table(stem, bins))


def _caption(arm: Arm, name: str, when: When, told: str, bins: Sequence[Bin]) -> str:
    confidence, accuracy = means(bins)
    num = len(arm["evaluations"])
    pooled = f", mean over {num} seeds, whose bins are pooled" if num > 1 else ""
    ece = calibration_of(arm, name, when, "ece_15").mean
    return (
        f"{told}: mean confidence {100 * confidence:.1f} %, accuracy {100 * accuracy:.1f} %, "
        f"{lean(confidence - accuracy)}-confident by {100 * abs(confidence - accuracy):.1f} "
        f"points; ECE {100 * ece:.2f} %{pooled}."
    )


def _bin_table(name: str, bins: Sequence[Bin]) -> Table:
    rows = [
        [
            Cell(f"{100 * part.low:.0f}–{100 * part.high:.0f}", part.low),
            whole(part.count),
            number(part.confidence, 1, 100),
            number(part.accuracy, 1, 100),
        ]
        for part in bins
    ]
    heads = ["Confidence, %", "Answers", "Mean confidence, %", "Accuracy, %"]
    return plain_table(f"{name}-data", "Bins that hold answers.", heads, rows)


def histogram_pictures(arms: Sequence[Arm]) -> list[Picture]:
    """How sure right and wrong answers were, for each arm."""
    return [_histogram(arm, index) for index, arm in enumerate(arms)]


def _histogram(arm: Arm, index: int) -> Picture:
    right, wrong = (_summed(arm, side) for side in ("right", "wrong"))
    name = f"confidence-{index}-{slug(arm['name'])}"
    num = len(right)
    first = 9 * num // 10  # the bin that holds 90 %
    least = f"{100 * first / num:g} %"
    told = [f"{sum(side[first:]):,} of {sum(side):,} {word}" for side, word in _sides(right, wrong)]

    def draw(figure: Figure, colours: Colours) -> None:
        axes = figure.add_subplot()
        lows = [place / num for place in range(num)]
        bars: dict[str, Any] = {"width": 1 / num, "align": "edge", "linewidth": 0.8}
        axes.bar(lows, right, color=colours(index), alpha=0.45, label="right", **bars)
        axes.bar(lows, wrong, color="none", edgecolor=INK, hatch="//////", label="wrong", **bars)
        axes.set_yscale("symlog", linthresh=1)
        top = max(*right, *wrong, 1)
        ticks = [0, *(10**power for power in range(len(str(top))))]
        axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_yticks([], minor=True)
        axes.set(xlim=(0, 1), ylim=(0, 2 * top), xlabel="confidence, %", ylabel="answers")
        fraction_axis(axes, x=True)
        figure.legend(loc="outside upper left", ncols=2, handlelength=1.6)

    alt = (
        f"Confidence of the answers of {arm['name']}: with {least} or more were given "
        f"{' and '.join(told)} answers."
    )
    caption = (
        f"{arm['name']}: with a confidence of {least} or more, {' and '.join(told)} answers. "
        "Logarithmic scale; the hatched bars stand before the plain ones, not on top of them."
    )
    return Picture(name, alt, caption, 215, draw, _histogram_table(name, right, wrong))


def _sides(right: list[int], wrong: list[int]) -> list[tuple[list[int], str]]:
    return [(right, "right"), (wrong, "wrong")]


def _summed(arm: Arm, side: str) -> list[int]:
    parts = [main_set(e)["histogram"] for e in arm["evaluations"]]
    columns = [part["right"] if side == "right" else part["wrong"] for part in parts]
    return [sum(values) for values in zip(*columns, strict=True)]


def _histogram_table(name: str, right: list[int], wrong: list[int]) -> Table:
    num = len(right)
    rows = [
        [
            Cell(f"{100 * place / num:.0f}–{100 * (place + 1) / num:.0f}", place / num),
            whole(right[place]),
            whole(wrong[place]),
        ]
        for place in range(num)
        if right[place] or wrong[place]
    ]
    heads = ["Confidence, %", "Right answers", "Wrong answers"]
    return plain_table(f"{name}-data", "Summed over seeds; empty bins left out.", heads, rows)
