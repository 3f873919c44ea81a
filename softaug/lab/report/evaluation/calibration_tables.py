"""Every figure of calibration before and after temperature scaling, and the temperatures."""

from collections.abc import Sequence
from typing import Literal

from softaug.lab.evaluation.stats import Estimate, estimate
from softaug.lab.report.evaluation.shapes import (
    Arm,
    Comparison,
    Measure,
    scaled,
    shared_sets,
    show,
    signed,
)
from softaug.lab.report.evaluation.tables import (
    Cell,
    Column,
    Table,
    label_cell,
    plain_table,
    set_images,
)

When = Literal["before", "after"]
WHEN: tuple[When, When] = ("before", "after")
_SIGNED = "gap"  # above 0 over-confident, below 0 under-confident: neither way is better


def calibration_tables(comparison: Comparison) -> list[tuple[str, Table]]:
    """For each set of images that all were measured on: its name, and all figures of each arm."""
    arms = comparison["arms"]
    return [
        (name, _calibration_table(comparison, name, place))
        for place, name in enumerate(shared_sets(arms))
    ]


def _calibration_table(comparison: Comparison, name: str, place: int) -> Table:
    arms = comparison["arms"]
    columns = [Column("Figure"), *(_column(arm, when, len(arms)) for arm in arms for when in WHEN)]
    rows = [
        (
            label_cell(figure, arrowed=figure["key"] != _SIGNED),
            *(_cell(figure, arm, name, when) for arm in arms for when in WHEN),
        )
        for figure in comparison["calibration"]
    ]
    seeds = "; mean ± standard error over seeds" if _several(arms) else ""
    caption = (
        f"{set_images(arms[0]['evaluations'][0], name)}, before and after temperature scaling"
        f"{seeds}. ECE: expected calibration error. The debiased figure is the root of a squared "
        "gap: not to be compared with an ECE. Scaling changes no answer, so no error."
    )
    return Table(f"calibration-{place}", caption, tuple(columns), tuple(rows))


def _several(arms: Sequence[Arm]) -> bool:
    return any(len(arm["evaluations"]) > 1 for arm in arms)


def _column(arm: Arm, when: When, num_arms: int) -> Column:
    name = when.capitalize() if num_arms == 1 else f"{arm['name']}, {when}"
    return Column(name, (f"{name} mean", f"{name} standard error", f"{name} n"))


def calibration_of(arm: Arm, name: str, when: When, key: str) -> Estimate:
    """A figure's mean over the seeds of an arm."""
    return estimate([evaluation["sets"][name][when][key] for evaluation in arm["evaluations"]])


def _cell(figure: Measure, arm: Arm, name: str, when: When) -> Cell:
    found = calibration_of(arm, name, when, figure["key"])
    way = figure["key"] == _SIGNED
    text = signed(figure, found.mean) if way else show(figure, found.mean)
    se = ""
    if found.se is not None:
        se, text = repr(scaled(figure, found.se)), f"{text} ± {show(figure, found.se)}"
    text += f", {lean(found.mean)}" if way else ""
    mean = scaled(figure, found.mean)
    return Cell(text, mean, (repr(mean), se, str(found.n)))


def lean(gap: float) -> str:
    """Which way confidence errs.

    >>> lean(0.02), lean(-0.02)
    ('over', 'under')
    """
    return "over" if gap > 0 else "under"


def direction(arm: Arm) -> str:
    """Which way an arm's confidence errs, and by how much, before and after scaling."""
    split = arm["evaluations"][0]["split"]
    before, after = (calibration_of(arm, split, when, _SIGNED).mean for when in WHEN)
    return (
        f"{arm['name']}: {lean(before)}-confident by {100 * abs(before):.2f} points, after "
        f"temperature scaling {lean(after)}-confident by {100 * abs(after):.2f}."
    )


def temperature_table(comparison: Comparison) -> Table:
    """The temperatures of every evaluation and how they were found."""
    rows = []
    for arm in comparison["arms"]:
        for seed, evaluation in zip(arm["seeds"], arm["evaluations"], strict=True):
            values, how = evaluation["temperature"]["values"], evaluation["temperature"]["how"]
            joined = (" ".join(map(repr, values)),)
            told = Cell(", ".join(f"{value:.3f}" for value in values), values[0], joined)
            rows.append((Cell(arm["name"]), Cell(str(seed), seed), told, Cell(how)))
    heads = ["Arm", "Seed", "Temperature", "How it was fitted"]
    caption = "Above 1, the network was over-confident; below 1, under-confident."
    return plain_table("temperature", caption, heads, rows)
