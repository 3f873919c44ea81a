"""The commands `softaug curves fit` and `softaug curves confusion`."""

import math
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from torch import Tensor

from softaug.checks import check_choice, check_share, refuse
from softaug.lab.curves.fit import OperationFit, as_table, fit_all
from softaug.lab.curves.measure import (
    CROP,
    OPERATION_FILL,
    WHO,
    ImageOptions,
    MeasureOptions,
    describe_subject,
    find_subject,
    mean_guesses,
    measure,
)
from softaug.lab.data.images import load
from softaug.lab.data.prior import coarse_prior, confusion_prior, describe_prior
from softaug.lab.io import write_json
from softaug.lab.training.logging import environment
from softaug.transforms.curves import NAIVE, AnyCurve, Curve, TableCurve, write_curves
from softaug.transforms.operations import measure_in_frame

HEADS = ("operation", "loss", "± s.e.", "k", "± s.e.", "misfit", "right at full, %")
TABLE_HEADS = ("operation", "retained at half", "at full", "misfit", HEADS[-1])
BOUND = "bound"  # of its range, where resamples stay: no error is known


def fit_table(fits: Mapping[str, OperationFit], whole: float) -> Table:
    """Make a table of each operation's curve, with errors, and of accuracy at full strength."""
    table = Table(title=f"accuracy on whole images: {100 * whole:.1f} %", title_justify="left")
    first = next(iter(fits.values())).curve
    heads = TABLE_HEADS if isinstance(first, TableCurve) else HEADS
    if isinstance(first, Curve) and isinstance(first.k, tuple):
        heads = (*heads, "k of classes")
    table.add_column(heads[0], no_wrap=True)  # never cut, however narrow the terminal
    for head in heads[1:]:
        table.add_column(head, justify="right")
    for name, found in fits.items():
        end = f"{found.misfit:.3f}", f"{100 * found.accuracy[-1]:.1f}"
        if isinstance(found.curve, TableCurve):
            shares = found.curve(torch.tensor([0.5, 1.0])).tolist()
            table.add_row(name, *(f"{share:.3f}" for share in shares), *end)
            continue
        loss_error = "fixed" if name == CROP else _format_error(found.loss_error, 3)
        k_error, k = _format_error(found.k_error, 2), found.curve.k
        numbers = f"{found.loss:.3f}", loss_error, f"{found.common_k:.2f}", k_error
        of_classes = [f"{min(k):.2f} to {max(k):.2f}"] if isinstance(k, tuple) else []
        table.add_row(name, *numbers, *end, *of_classes)
    return table


def _format_error(value: float | None, digits: int) -> str:
    return BOUND if value is None else f"{value:.{digits}f}"


def prior_table(rows: Tensor, names: Sequence[str], num: int = 5) -> Table:
    """Make a table of the likeliest wrong predictions for the first `num` classes."""
    table = Table("true class", "taken for")
    for label, name in enumerate(names[:num]):
        wrong = rows[label].clone()
        wrong[label] = 0
        shares, others = wrong.topk(min(4, len(names) - 1))
        guesses = zip(others.tolist(), shares.tolist(), strict=True)
        table.add_row(name, ", ".join(f"{names[other]} {share:.2f}" for other, share in guesses))
    return table


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
    """Draw NAME.svg for each operation and overview.png for all; `edge` is that of the images."""
    folder.mkdir(parents=True, exist_ok=True)
    look: dict[str, Any] = {"layout": "constrained", "facecolor": PAPER}
    with style.context(["default", STYLE]):
        for name, fit in fits.items():
            figure = Figure((3.6, 2.8), **look)
            axes = figure.add_subplot()
            draw_fit(axes, name, fit, edge)
            x_label = "share out of frame" if name == CROP else "strength"
            axes.set(xlabel=x_label, ylabel="retained")
            axes.legend(loc="lower left", frameon=False)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        rows = math.ceil(len(fits) / ACROSS)
        overview = Figure((8, 1.7 * rows + 0.6), **look)
        _draw_overview(overview, fits, edge)
        overview.savefig(folder / "overview.png", dpi=110)
    return [*(folder / f"{name}.svg" for name in fits), folder / "overview.png"]


def draw_fit(axes: Axes, name: str, fit: OperationFit, edge: int) -> None:
    """Draw points with two standard errors, the curve (of all classes), the naive one dashed."""
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
    """Return what the crop's rule says of an operation, for square images."""
    curve: AnyCurve = CROP_RULE if name == CROP else NAIVE[name]
    if name == CROP or curve.of == "strength":
        return curve(x)
    return curve(1 - measure_in_frame(name, x, edge, edge))


def _draw_overview(figure: Figure, fits: Mapping[str, OperationFit], edge: int) -> None:
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


def fit(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    options: Annotated[MeasureOptions, tyro.conf.arg(name="")],
    per_class: bool = False,
    table: bool = False,
    out: Path = Path("curves.json"),
) -> None:
    """Fit what each operation leaves of a label, from how trained networks' accuracy falls.

    Args:
        runs: Folders that `softaug train` made; several (seeds) are averaged.
        options: What is measured, on which images.
        per_class: One k for each class, held toward the common one where images are few.
        table: The measured points themselves, made never to rise, in place of a power curve.
        out: File for the curves; plots go into a folder of that name beside it.
    """
    _check_ending(out)
    if table and per_class:
        remedy = "leave out one: a table has no k, and a class too few images for points"
        refuse(WHO, "--table and --per-class exclude each other", "both", remedy)
    console = Console()
    subject = find_subject(runs, options)
    measured = measure(subject, options, console)
    fits = fit_all(measured, per_class)
    if table:
        fits = {name: as_table(found) for name, found in fits.items()}
    whole = float(measured.accuracy(measured.whole).mean())
    about = {
        **_describe_making(),
        **describe_subject(subject, options),
        "fill": {"crop": list(subject.fill), "operations": OPERATION_FILL},
        "draws": options.draws,
        "accuracy": round(whole, 4),
        "points": {name: found.about() for name, found in fits.items()},
    }
    write_curves(out, {name: found.curve for name, found in fits.items()}, about)
    edge = int(subject.source.fetch(torch.tensor([0])).shape[-1])
    draw_figures(fits, edge, out.with_suffix(""))
    console.print(fit_table(fits, whole))
    _print_paths(console, Curves=out, Plots=out.with_suffix(""))


def confusion(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    options: Annotated[ImageOptions, tyro.conf.arg(name="")],
    visible: float = 0.3,
    smoothing: float = 0.1,
    coarse: bool = False,
    out: Path = Path("prior.json"),
) -> None:
    """Estimate where a soft label's remaining mass should go: which classes are confused.

    Args:
        runs: Folders that `softaug train` made; several (seeds) are averaged.
        options: Which images the runs are measured on, and where.
        visible: Share of each image that the networks see.
        smoothing: Share of the mass that all classes get alike.
        coarse: From CIFAR-100's groups of classes; no run is needed.
        out: File for the prior, for `SoftLoss(prior=read_prior(...))`.
    """
    _check_ending(out)
    check_share(WHO, "visible", visible)
    check_share(WHO, "smoothing", smoothing)
    console = Console()
    if coarse and runs:
        refuse(WHO, "coarse takes no run", f"{len(runs)}", "leave out the runs or --coarse")
    if coarse:
        names = load("cifar100", options.data_dir).class_names
        rows = coarse_prior(names, smoothing)
        source: dict[str, Any] = {"data": "cifar100", "labels": "coarse"}
    else:
        subject = find_subject(runs, options)
        names = subject.class_names
        source = {**describe_subject(subject, options), "visible": visible}
        rows = confusion_prior(mean_guesses(subject, visible, console), smoothing)
    about = {**_describe_making(), **source, "smoothing": smoothing}
    write_json(describe_prior(rows, names, about), out)
    console.print(prior_table(rows, names))
    _print_paths(console, Prior=out)


COMMANDS: dict[str, Callable[..., None]] = {"fit": fit, "confusion": confusion}


def curves_command(arguments: Sequence[str]) -> None:
    """Run `softaug curves` with its own arguments."""
    tyro.extras.subcommand_cli_from_dict(
        COMMANDS, prog="softaug curves", description=__doc__, args=list(arguments)
    )


def _describe_making() -> dict[str, Any]:
    """Return the command, and where and when it ran."""
    return {"command": shlex.join(["softaug", *sys.argv[1:]]), "environment": environment()}


def _check_ending(out: Path) -> None:
    check_choice(WHO, "ending of out", out.suffix, (".json",))


def _print_paths(console: Console, **paths: Path) -> None:
    for what, path in paths.items():
        console.print(f"{what}: {path}", soft_wrap=True, highlight=False)
