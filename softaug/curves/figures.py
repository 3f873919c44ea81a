"""Plots of fitted curves: measured points, the curve, and the naive rule beside it."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.curves.measure import CROP
from softaug.curves.operation_fit import OperationFit
from softaug.transforms.curves import NAIVE, AnyCurve, Curve, TableCurve
from softaug.transforms.operations import in_frame

INK, MUTED, GRID, PAPER = "#1c2024", "#5b626a", "#d9dad5", "#fcfcfa"
POINTS, FITTED = "#0067a3", "#b84e00"  # told apart by shape, too
ACROSS = 4  # plots in a row of the overview
STYLE: dict[str, object] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "text.color": INK,
    "svg.hashsalt": "softaug",
}
CROP_RULE = Curve("visible", loss=1.0, k=2.0)


def draw_figures(fits: Mapping[str, OperationFit], edge: int, folder: Path) -> list[Path]:
    """NAME.svg for each operation and overview.png for all; `edge` is that of the images."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, fit in fits.items():

        def one(figure: Figure, name: str = name, fit: OperationFit = fit) -> None:
            axes = figure.add_subplot()
            draw_fit(axes, name, fit, edge)
            axes.set(xlabel=_x_label(name), ylabel="retained")
            axes.legend(loc="lower left", frameon=False)

        made.append(_save(folder / f"{name}.svg", (3.6, 2.8), one))
    rows = math.ceil(len(fits) / ACROSS)
    height = 1.7 * rows + 0.6
    made.append(_save(folder / "overview.png", (8, height), lambda f: _overview(f, fits, edge)))
    return made


def draw_fit(axes: Axes, name: str, fit: OperationFit, edge: int) -> None:
    """Points with two standard errors, the curve (of all classes), the naive one dashed."""
    x = torch.linspace(0, 1, 101, dtype=torch.float64)
    is_table = isinstance(fit.curve, TableCurve)
    fitted = fit.curve if is_table else Curve(fit.curve.of, fit.loss, fit.common_k)
    axes.plot(x, naive_retained(name, x, edge), "--", color=MUTED, lw=1.1, label="naive rule")
    axes.plot(x, fitted(x), color=FITTED, lw=1.6, label="fitted")
    bars = [2 * error for error in fit.retained_error]
    axes.errorbar(
        fit.x, fit.retained, bars, fmt="o", ms=3, lw=1, color=POINTS, label="measured, ± 2 s.e."
    )
    axes.set(xlim=(0, 1.03), ylim=(-0.05, 1.1))
    told = "table" if is_table else f"loss {fit.loss:.2f}, k {fit.common_k:.2f}"
    axes.set_title(f"{name}: {told}", loc="left", fontsize=8.5)


def naive_retained(name: str, x: torch.Tensor, edge: int) -> torch.Tensor:
    """What the crop's rule says of an operation, for square images."""
    curve: AnyCurve = CROP_RULE if name == CROP else NAIVE[name]
    if name == CROP or curve.of == "strength":
        return curve(x)
    return curve(1 - in_frame(name, x, edge, edge))


def _overview(figure: Figure, fits: Mapping[str, OperationFit], edge: int) -> None:
    rows = math.ceil(len(fits) / ACROSS)
    grid = figure.subplots(rows, ACROSS, sharex=True, sharey=True, squeeze=False).flatten()
    for axes, (name, fit) in zip(grid, fits.items(), strict=False):
        draw_fit(axes, name, fit, edge)
    for axes in grid[len(fits) :]:
        axes.set_visible(False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    figure.supxlabel("strength (crop: share out of frame)", fontsize=8.5)
    figure.supylabel("retained", fontsize=8.5)


def _x_label(name: str) -> str:
    return "share out of frame" if name == CROP else "strength"


def _save(path: Path, size: tuple[float, float], draw: Callable[[Figure], None]) -> Path:
    with style.context(["default", STYLE]):
        figure = Figure(figsize=size, layout="constrained", facecolor=PAPER)
        draw(figure)
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
    return path
