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
from softaug.lab.data.prior import confusion_prior, describe_prior
from softaug.lab.io import write_json
from softaug.lab.progress import print_plain
from softaug.lab.training.logging import environment
from softaug.transforms.curves import NAIVE, AnyCurve, Curve, TableCurve, write_curves
from softaug.transforms.operations import measure_in_frame


def fit_table(fits: Mapping[str, OperationFit], whole: float) -> Table:
    """Make a table of each operation's power curve, with errors, and of accuracy at full strength.

    A parameter without an error is fixed, or at a bound of its range.
    """
    table = Table(title=f"accuracy on whole images: {100 * whole:.1f} %", title_justify="left")
    table.add_column("operation", no_wrap=True)  # never cut, however narrow the terminal
    for head in ("loss", "k", "misfit", "right at full, %"):
        table.add_column(head, justify="right")
    for name, fitted in fits.items():
        loss = _with_error(fitted.loss, fitted.loss_error)
        k = _with_error(fitted.common_k, fitted.k_error)
        table.add_row(name, loss, k, f"{fitted.misfit:.3f}", f"{100 * fitted.accuracy[-1]:.1f}")
    return table


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.3f} (bound)" if error is None else f"{value:.3f} ± {error:.3f}"


CROP_RULE = Curve("visible", loss=1.0, k=2.0)
ACROSS = 4  # plots in a row
STYLE: list[str | dict[str, Any]] = ["default", "seaborn-v0_8-whitegrid", {"font.size": 8.5}]


def draw_overview(fits: Mapping[str, OperationFit], edge: int, path: Path) -> None:
    """Draw a plot for each operation into one image; `edge` is that of the measured images."""
    rows = math.ceil(len(fits) / ACROSS)
    with style.context(STYLE):
        figure = Figure((8, 1.7 * rows + 0.6), layout="constrained")
        grid = figure.subplots(rows, ACROSS, sharex=True, sharey=True, squeeze=False).flatten()
        for axes, (name, fit) in zip(grid, fits.items(), strict=False):
            draw_fit(axes, name, fit, edge)
        for axes in grid[len(fits) :]:
            axes.set_visible(False)
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
        figure.supxlabel("strength (crop: share out of frame)", fontsize=8.5)
        figure.supylabel("retained", fontsize=8.5)
        figure.savefig(path, dpi=110)


def draw_fit(axes: Axes, name: str, fit: OperationFit, edge: int) -> None:
    """Draw points with two standard errors, the curve (of all classes), the naive one dashed."""
    x = torch.linspace(0, 1, 101, dtype=torch.float64)
    is_table = isinstance(fit.curve, TableCurve)
    fitted = fit.curve if is_table else Curve(fit.curve.of, fit.loss, fit.common_k)
    axes.plot(x, naive_retained(name, x, edge), "--", color="#5b626a", lw=1.1, label="naive rule")
    axes.plot(x, fitted(x), color="#b84e00", lw=1.6, label="fitted")
    bars = [2 * error for error in fit.retained_error]
    axes.errorbar(fit.x, fit.retained, bars, fmt="o", ms=3, lw=1, label="measured, ± 2 s.e.")
    axes.set(xlim=(0, 1.03), ylim=(-0.05, 1.1))
    parameters = "table" if is_table else f"loss {fit.loss:.2f}, k {fit.common_k:.2f}"
    axes.set_title(f"{name}: {parameters}", loc="left", fontsize=8.5)


def naive_retained(name: str, x: torch.Tensor, edge: int) -> torch.Tensor:
    """Return the share that the crop's rule retains after an operation, for square images."""
    curve: AnyCurve = CROP_RULE if name == CROP else NAIVE[name]
    if name == CROP or curve.of == "strength":
        return curve(x)
    return curve(1 - measure_in_frame(name, x, edge, edge))


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
        out: File for the curves; their plots go into a PNG file beside it.
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
        fits = {name: as_table(fitted) for name, fitted in fits.items()}
    whole = float(measured.accuracy(measured.whole).mean())
    about = {
        **_describe_making(),
        **describe_subject(subject, options),
        "fill": {"crop": list(subject.fill), "operations": OPERATION_FILL},
        "draws": options.draws,
        "accuracy": round(whole, 4),
        "points": {name: fitted.about() for name, fitted in fits.items()},
    }
    write_curves(out, {name: fitted.curve for name, fitted in fits.items()}, about)
    edge = int(subject.source.fetch(torch.tensor([0])).shape[-1])
    draw_overview(fits, edge, out.with_suffix(".png"))
    console.print(fit_table(fits, whole))
    print_plain(console, f"Curves: {out}\nPlots: {out.with_suffix('.png')}")


def confusion(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    options: Annotated[ImageOptions, tyro.conf.arg(name="")],
    visible: float = 0.3,
    smoothing: float = 0.1,
    out: Path = Path("prior.json"),
) -> None:
    """Estimate where a soft label's remaining mass should go: which classes are confused.

    Args:
        runs: Folders that `softaug train` made; several (seeds) are averaged.
        options: Which images the runs are measured on, and where.
        visible: Share of each image that the networks see.
        smoothing: Share of the mass that all classes get alike.
        out: File for the prior, for `--loss.prior` or `SoftLoss(prior=read_prior(...))`.
    """
    _check_ending(out)
    check_share(WHO, "visible", visible)
    check_share(WHO, "smoothing", smoothing)
    console = Console()
    subject = find_subject(runs, options)
    rows = confusion_prior(mean_guesses(subject, visible, console), smoothing)
    about = {
        **_describe_making(),
        **describe_subject(subject, options),
        "visible": visible,
        "smoothing": smoothing,
    }
    write_json(describe_prior(rows, subject.class_names, about), out)
    print_plain(console, f"Prior: {out}")


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
