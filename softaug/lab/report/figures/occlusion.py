"""Accuracy against the occluded share of the image."""

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.report.figures.error_line import error_line
from softaug.lab.report.palette import INK, line_style
from softaug.lab.report.summary import ArmSummary, Metric, Summary
from softaug.lab.report.svg import draw_svg


def occlusion_curves(summary: Summary, num_classes: int) -> Markup:
    """One line for each arm, mean ± s.e. at each level, and the accuracy of guessing."""
    levels = [metric for metric in summary.metrics if metric.key.startswith("occlusion/")]

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for index, arm in enumerate(summary.arms):
            aside = index - (len(summary.arms) - 1) / 2  # side by side, not on top
            _draw_arm(axes, arm, index, [_percent(metric) + aside for metric in levels], levels)
        axes.set(xlabel="occluded share of the image, %", ylabel="accuracy, %")
        axes.set_xticks([_percent(metric) for metric in levels])
        axes.axhline(100 / num_classes, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
        axes.annotate("chance", (0, 100 / num_classes), (-3, 3), textcoords="offset points")
        axes.set_ylim(0, 102)
        figure.legend(loc="outside upper left", handlelength=3.2)

    return draw_svg("occlusion", _alt(summary, levels), 255, draw)


def _draw_arm(
    axes: Axes, arm: ArmSummary, index: int, xs: list[float], levels: list[Metric]
) -> None:
    values = [arm.estimates[metric.key] for metric in levels]
    means = [100 * value.mean for value in values]
    ses = [100 * (value.se or 0) for value in values]
    error_line(axes, xs, means, ses, arm.name.replace("$", r"\$"), line_style(index))


def _percent(metric: Metric) -> int:
    return int(metric.key.partition("/")[2])


def _alt(summary: Summary, levels: list[Metric]) -> str:
    lines = []
    for arm in summary.arms:
        means = ", ".join(metric.show(arm.estimates[metric.key].mean) for metric in levels)
        lines.append(f"{arm.name} {means} %")
    at = ", ".join(str(_percent(metric)) for metric in levels)
    return f"Accuracy with {at} % of the image occluded: {'; '.join(lines)}."
