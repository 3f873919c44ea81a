"""A line of means with error bars: one look for all figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes


def error_line(
    axes: Axes,
    xs: Sequence[float],
    means: Sequence[float],
    ses: Sequence[float],
    label: str,
    look: Mapping[str, Any],
) -> None:
    """Means ± standard errors; `look` is colour, dash and marker. NaN leaves a gap."""
    axes.errorbar(
        xs,
        means,
        ses,
        label=label,
        markersize=4.5,
        linewidth=1.4,
        elinewidth=1.2,
        capsize=2.5,
        **look,
    )
