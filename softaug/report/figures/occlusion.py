"""Accuracy against the occluded share of the image."""

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.report.palette import line_style
from softaug.report.summary import ArmSummary, Metric, Summary
from softaug.report.svg import draw_svg


def occlusion_curves(summary: Summary) -> Markup:
    """One line for each arm, mean ± s.e. at each level."""
    levels = [metric for metric in summary.metrics if metric.key.startswith("occlusion/")]

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for index in range(len(summary.arms)):
            _draw_arm(axes, summary.arms[index], index, levels)
        axes.set(xlabel="occluded share of the image, %", ylabel="accuracy, %")
        axes.set_xticks([_percent(metric) for metric in levels])
        axes.legend(loc="lower left", handlelength=3.2)

    return draw_svg("occlusion", _alt(summary, levels), 220, draw)


def _draw_arm(axes: Axes, arm: ArmSummary, index: int, levels: list[Metric]) -> None:
    values = [arm.estimates[metric.key] for metric in levels]
    axes.errorbar(
        [_percent(metric) + index - 1 for metric in levels],  # side by side, not on top
        [100 * value.mean for value in values],
        [100 * (value.se or 0) for value in values],
        label=arm.name.replace("$", r"\$"),
        markersize=4.5,
        linewidth=1.4,
        elinewidth=1.2,
        capsize=2.5,
        **line_style(index),
    )


def _percent(metric: Metric) -> int:
    return int(metric.key.partition("/")[2])


def _alt(summary: Summary, levels: list[Metric]) -> str:
    lines = []
    for arm in summary.arms:
        means = ", ".join(metric.show(arm.estimates[metric.key].mean) for metric in levels)
        lines.append(f"{arm.name} {means} %")
    at = ", ".join(str(_percent(metric)) for metric in levels)
    return f"Accuracy with {at} % of the image occluded: {'; '.join(lines)}."
