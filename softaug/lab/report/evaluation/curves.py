"""Accuracy under harm, and what was measured while training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.evaluation.stats import estimate
from softaug.lab.report.evaluation.drawing import Colours, Picture, line, literal, slug
from softaug.lab.report.evaluation.shapes import Arm
from softaug.lab.report.evaluation.tables import NONE, Cell, Column, Table, plural
from softaug.lab.report.figures.error_line import error_line
from softaug.lab.report.headline import capital
from softaug.lab.report.palette import INK


@dataclass(frozen=True)
class Harm:
    """How an ordeal is named; `sign` is -1 where harm grows as the level falls."""

    title: str
    axis: str
    percent: bool
    sign: int = 1


HARMS = {
    "occlusion": Harm("Occlusion", "hidden share of the image, %", True),
    "shift": Harm("Shift", "share left in frame, %", True, -1),
    "noise": Harm("Noise", "noise, sd in full ranges", False),
}


def ordeal_pictures(arms: Sequence[Arm]) -> list[Picture]:
    """Accuracy at each level of each ordeal that all went through, all arms in one figure."""
    first, *others = [evaluation["robustness"] for arm in arms for evaluation in arm["evaluations"]]
    return [_ordeal(arms, name) for name in first if all(name in other for other in others)]


def _ordeal(arms: Sequence[Arm], name: str) -> Picture:
    harm = HARMS.get(name, Harm(name, name, False))
    first = arms[0]["evaluations"][0]
    ordeal = first["robustness"][name]
    levels = [level * (100 if harm.percent else 1) for level in ordeal["levels"]]
    curves = {arm["name"]: _accuracies(arm, name) for arm in arms}
    chance = 100 / len(first["class_names"])

    def draw(figure: Figure, colours: Colours) -> None:
        axes = figure.add_subplot()
        step = (max(levels) - min(levels)) / 80 or 1
        for index, (arm, points) in enumerate(curves.items()):
            aside = step * (index - (len(curves) - 1) / 2)  # side by side, not on top
            xs, (means, ses) = [x + aside for x in levels], zip(*points, strict=True)
            error_line(axes, xs, means, ses, literal(arm), line(index, colours))
        axes.axhline(chance, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
        axes.annotate("chance", (levels[0], chance), (-3, 3), textcoords="offset points")
        axes.set(xlabel=harm.axis, ylabel="accuracy, %", xticks=levels, ylim=(0, 102))
        axes.set_xticks(levels, [f"{level:g}" for level in levels])
        if harm.sign < 0:
            axes.invert_xaxis()
        figure.legend(loc="outside upper left", handlelength=3.2)

    lines = [f"{arm} {', '.join(f'{m:.1f}' for m, _ in found)} %" for arm, found in curves.items()]
    at = ", ".join(f"{level:g}" for level in levels)
    alt = f"{harm.title}: accuracy with {harm.axis.rstrip(', %')} of {at}: {'; '.join(lines)}."
    counts = sorted({e["robustness"][name]["draws"] for arm in arms for e in arm["evaluations"]})
    drawn = " or ".join(plural(count, "draw") for count in counts)
    caption = (
        f"{harm.title}. {_bars(arms)} Each level is the mean of {drawn} on "
        f"{ordeal['n']:,} images. Guessing reaches the dotted line."
    )
    table = _curve_table(f"{slug(name)}-data", harm.axis, levels, curves)
    height = 215 + 15 * len(arms)
    return Picture(f"robustness-{slug(name)}", alt, caption, height, draw, table)


def _accuracies(arm: Arm, name: str) -> list[tuple[float, float]]:
    """Mean and standard error in percent at each level: over seeds, else over images."""
    parts = [evaluation["robustness"][name] for evaluation in arm["evaluations"]]
    found = []
    for place in range(len(parts[0]["levels"])):
        over_seeds = estimate([part["accuracy"][place] for part in parts])
        se = parts[0]["se"][place] if over_seeds.se is None else over_seeds.se
        found.append((100 * over_seeds.mean, 100 * se))
    return found


def _bars(arms: Sequence[Arm]) -> str:
    counts = {arm["name"]: len(arm["evaluations"]) for arm in arms}
    if max(counts.values()) == 1:
        return "Bars: ± one standard error over the images of one run."
    told = ", ".join(f"{name}: {num}" for name, num in counts.items())
    alone = " (over the images where there is one)" if min(counts.values()) == 1 else ""
    return f"Bars: ± one standard error over seeds{alone}; seeds of {told}."


def _curve_table(
    name: str,
    axis: str,
    levels: Sequence[float],
    curves: Mapping[str, Sequence[tuple[float, float]]],
) -> Table:
    heads = [Column(arm, (f"{arm} mean", f"{arm} standard error")) for arm in curves]
    rows = []
    for place, level in enumerate(levels):
        found = [points[place] for points in curves.values()]
        cells = [Cell(f"{m:.1f} ± {se:.1f}", m, (repr(m), repr(se))) for m, se in found]
        rows.append((Cell(f"{level:g}", level), *cells))
    return Table(name, "Accuracy, %.", (Column(axis), *heads), tuple(rows))


_NOT_DRAWN = {"step", "epoch", "seconds", "lr"}
_WORDS = {"nll": "NLL", "ece": "ECE"}
_REMARKS = {
    "train_loss": " Of augmented images; arms with different losses cannot be compared by it.",
    "train_error": " Of augmented images: how hard they are differs from arm to arm.",
    "sigma": " Strength of the crop, which a pacer set for each epoch.",
    "sigma_low": " A tenth of the classes or samples, each with its own strength, had less.",
    "sigma_high": " A tenth of the classes or samples, each with its own strength, had more.",
    "k": " Softening curve, which a pacer set for each epoch.",
    "lead": " After an epoch whose lead is above 0 the pacer raised sigma, else it lowered it.",
}


def training_pictures(arms: Sequence[Arm]) -> list[Picture]:
    """One figure for each number that the runs told while training."""
    rows = (row for arm in arms for run in _runs(arm) for row in run)
    keys = dict.fromkeys(key for row in rows for key, value in row.items() if _is_number(value))
    return [_training(arms, key) for key in keys if key not in _NOT_DRAWN]


def _runs(arm: Arm) -> list[list[dict[str, object]]]:
    return [member["metrics"] for e in arm["evaluations"] for member in e["members"]]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Spread = tuple[float, float, float, int]  # mean, least, most, number of runs


def _training(arms: Sequence[Arm], key: str) -> Picture:
    percent = key.endswith(("_error", "_ece"))
    curves = {arm["name"]: _by_epoch(arm, key, 100 if percent else 1) for arm in arms}
    words = [_WORDS.get(word, word) for word in key.split("_")]
    told = " ".join(words) + (", %" if percent else "")
    name = f"training-{slug(key)}"

    def draw(figure: Figure, colours: Colours) -> None:
        axes = figure.add_subplot()
        for index, (arm, points) in enumerate(curves.items()):
            if points:
                _draw_spread(axes, points, arm, index, colours)
        axes.set(xlabel="epoch", ylabel=literal(told))
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
        figure.legend(loc="outside upper left", handlelength=3.2)

    last = [_last(arm, points) for arm, points in curves.items() if points]
    alt = f"{capital(told)}, by epoch, {'; '.join(last)}."
    caption = f"{capital(told)}. Mean over runs; the band reaches from the least to the most."
    caption += _REMARKS.get(key, "")
    height = 200 + 15 * len(arms)
    return Picture(name, alt, caption, height, draw, _training_table(name, told, curves))


def _last(arm: str, points: Mapping[float, Spread]) -> str:
    epoch, (mean, _, _, num) = list(points.items())[-1]
    return f"{arm}: {mean:.3g} at {epoch:g} (n = {num})"


def _by_epoch(arm: Arm, key: str, scale: float) -> dict[float, Spread]:
    found: dict[float, list[float]] = {}
    for run in _runs(arm):
        for row in run:
            at, value = row.get("epoch", row.get("step")), row.get(key)
            if isinstance(at, int | float) and isinstance(value, int | float):
                found.setdefault(at, []).append(scale * value)
    return {
        at: (sum(values) / len(values), min(values), max(values), len(values))
        for at, values in sorted(found.items())
    }


def _draw_spread(
    axes: Axes, points: Mapping[float, Spread], name: str, index: int, colours: Colours
) -> None:
    xs = list(points)
    means, lows, highs = ([point[part] for point in points.values()] for part in range(3))
    every = max(1, len(xs) // 8)
    look: dict[str, Any] = {"linewidth": 1.4, "markersize": 4.5, "markevery": every}
    axes.plot(xs, means, label=literal(name), **look, **line(index, colours))
    axes.fill_between(xs, lows, highs, color=colours(index), alpha=0.2, linewidth=0)


def _training_table(name: str, told: str, curves: Mapping[str, Mapping[float, Spread]]) -> Table:
    heads = [Column(arm, (f"{arm} mean", f"{arm} runs")) for arm in curves]
    rows = []
    for at in sorted({at for points in curves.values() for at in points}):
        cells = [_spread_cell(points.get(at)) for points in curves.values()]
        rows.append((Cell(f"{at:g}", at), *cells))
    return Table(f"{name}-data", f"{told}: mean over runs.", (Column("Epoch"), *heads), tuple(rows))


def _spread_cell(found: Spread | None) -> Cell:
    if found is None:
        return Cell(NONE, csv=("", ""))
    return Cell(f"{found[0]:.4g} (n = {found[3]})", found[0], (repr(found[0]), str(found[3])))
