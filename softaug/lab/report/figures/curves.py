"""Confidence against the visible share, for each k."""

from collections.abc import Mapping

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.report.palette import INK, series
from softaug.lab.report.results import Curves
from softaug.lab.report.svg import draw_svg, fraction_axis

_DASHES = (":", "--", "-.", (0, (9, 2)))


def softening_curves(curves: Curves, used_k: float) -> Markup:
    """One line for each k, the run's own k thick and in colour."""

    def draw(figure: Figure) -> None:
        draw_softening(figure.add_subplot(), curves, {used_k: "this run"}, series(2))

    return draw_svg("curves", describe_softening(curves), 215, draw)


def draw_softening(axes: Axes, curves: Curves, chosen: Mapping[float, str], colour: str) -> None:
    """The curves with a legend; that of a `chosen` k is thick, in colour and says whose it is."""
    for index, (k, values) in enumerate(curves["confidence"].items()):
        used = float(k) in chosen
        axes.plot(
            curves["visible"],
            values,
            color=colour if used else INK,
            linewidth=2.6 if used else 1.2,
            linestyle="-" if used else _DASHES[index % len(_DASHES)],
            label=f"k = {k}" + (f" ({chosen[float(k)]})" if used else ""),
        )
    axes.set(xlabel="visible share of the image, %", ylabel="confidence of the target, %")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    fraction_axis(axes, x=True, y=True)
    axes.legend(loc="lower right", handlelength=3)


def describe_softening(curves: Curves) -> str:
    """The text alternative of the curves."""
    middle = min(range(len(curves["visible"])), key=lambda i: abs(curves["visible"][i] - 0.5))
    values = (f"{v[middle]:.2f} for k = {k}" for k, v in curves["confidence"].items())
    return (
        "Softening curves: the target's confidence rises with the visible share of the image, "
        f"earlier for larger k. Half visible it is {', '.join(values)}."
    )
