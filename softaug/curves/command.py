"""The commands `softaug curves fit` and `softaug curves confusion`."""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from rich.console import Console

from softaug.checks import check_choice, check_share, refuse
from softaug.curves.confusion import mean_guesses
from softaug.curves.figures import draw_figures
from softaug.curves.measure import OPERATION_FILL, MeasureOptions, measure
from softaug.curves.operation_fit import as_table, fit_all
from softaug.curves.subject import WHO, ImageOptions, about_subject, find_subject
from softaug.curves.tables import fit_table, prior_table
from softaug.data.load import load
from softaug.data.prior import coarse_prior, describe_prior, guess
from softaug.files import write_json
from softaug.training.environment import environment
from softaug.transforms.curves import write_curves


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
    whole = float(measured.recognised(measured.whole).mean())
    about = {
        **_made(),
        **about_subject(subject, options),
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
        source = {**about_subject(subject, options), "visible": visible}
        rows = guess(mean_guesses(subject, visible, console), smoothing)
    about = {**_made(), **source, "smoothing": smoothing}
    write_json(describe_prior(rows, names, about), out)
    console.print(prior_table(rows, names))
    _print_paths(console, Prior=out)


COMMANDS: dict[str, Callable[..., None]] = {"fit": fit, "confusion": confusion}


def curves_command(arguments: Sequence[str]) -> None:
    """Run `softaug curves` with its own arguments."""
    tyro.extras.subcommand_cli_from_dict(
        COMMANDS, prog="softaug curves", description=__doc__, args=list(arguments)
    )


def _made() -> dict[str, Any]:
    """By what, where and when a file was made."""
    return {
        "command": shlex.join(["softaug", *sys.argv[1:]]),
        "environment": environment(),
    }


def _check_ending(out: Path) -> None:
    check_choice(WHO, "ending of out", out.suffix, (".json",))


def _print_paths(console: Console, **paths: Path) -> None:
    for what, path in paths.items():
        console.print(f"{what}: {path}", soft_wrap=True, highlight=False)
