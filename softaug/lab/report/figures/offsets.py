"""Where the crop windows of an arm landed."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.report.palette import INK, MARKERS, series
from softaug.lab.report.results import Arm
from softaug.lab.report.svg import draw_svg

# A dot is moved within its pixel by these steps of the R2 sequence, which fills a square evenly.
_STEPS = (0.7548776662466927, 0.5698402909980532)


def drawn_offsets(arm: Arm, index: int, size: int, limit: int) -> Markup:
    """A dot for each draw, and the line inside which at least half of the image is visible.

    The axes show -limit..limit.
    """

    def draw(figure: Figure) -> None:
        marker = MARKERS[index % len(MARKERS)]
        look = {"marker": marker, "color": series(index), "alpha": 0.75}
        draw_offsets(figure.add_subplot(), arm["offsets"], size, limit, look)

    return draw_svg(f"offsets-{index}", _alt(arm, size), 245, draw)


def draw_offsets(
    axes: Axes,
    offsets: Sequence[Sequence[float]],
    size: int,
    limit: int,
    look: Mapping[str, Any],
) -> None:
    """A dot for each of the offsets (right, down), and the line of half visibility."""
    _draw_half_line(axes, size)
    dots = [_within_pixel(number, *offset) for number, offset in enumerate(offsets)]
    sizes = {"s": 6, "linewidths": 0}
    axes.scatter([x for x, _ in dots], [y for _, y in dots], **{**sizes, **look})
    ticks = [-size // 2, -size // 4, 0, size // 4, size // 2]
    axes.set(xlim=(-limit, limit), ylim=(limit, -limit), xticks=ticks, yticks=ticks)
    axes.set(xlabel="dx, pixels to the right", ylabel="dy, pixels down", aspect="equal")


def axis_limit(arms: Sequence[Arm], size: int) -> int:
    """Room for every draw of every arm and for the line of half visibility, in pixels."""
    parts = (abs(part) for arm in arms for offset in arm["offsets"] for part in offset)
    return 1 + math.ceil(max([size / 2, *parts]))


def mean_visible(arm: Arm, size: int) -> float:
    """Mean share of the image left in frame over the draws."""
    shares = ((1 - abs(dx) / size) * (1 - abs(dy) / size) for dx, dy in arm["offsets"])
    return statistics.fmean(shares) if arm["offsets"] else 1.0


def _within_pixel(number: int, dx: float, dy: float) -> tuple[float, float]:
    across, down = ((number * step) % 1 - 0.5 for step in _STEPS)
    return dx + 0.8 * across, dy + 0.8 * down


def _draw_half_line(axes: Axes, size: int) -> None:
    """(1 - |dx| / size) (1 - |dy| / size) = 1 / 2."""
    steps = [step / 50 for step in range(51)]
    arc = [(size * t / 2, size * (1 - 0.5 / (1 - t / 2))) for t in steps]
    for right, down in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        xs, ys = [right * x for x, _ in arc], [down * y for _, y in arc]
        axes.plot(xs, ys, color=INK, linewidth=1, linestyle="--")


def _alt(arm: Arm, size: int) -> str:
    reach = max((abs(part) for offset in arm["offsets"] for part in offset), default=0)
    return (
        f"Offsets of {len(arm['offsets'])} crops of {arm['name']}: up to {reach:g} of {size} "
        f"pixels; {100 * mean_visible(arm, size):.0f} % of the image is visible on average."
    )
