"""The subcommands that join packages: what is trained is evaluated, what is evaluated reported.

Each imports what it needs when it runs.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from softaug.lab.evaluation.evaluate import EVALUATION, EvaluationOptions, evaluate_each


def train(arguments: Sequence[str]) -> None:
    """Train a recipe; the members of an ensemble are then evaluated together."""
    from softaug.lab.training.command import train_command

    trained = train_command(arguments)
    if len(trained.folders) == 1 or os.environ.get("RANK", "0") != "0":
        return
    options = EvaluationOptions(data_dir=trained.options.data_dir, device=trained.options.device)
    out = trained.options.folder(trained.recipe)
    evaluate(tuple(trained.folders), options, ensemble=True, out=out)


def evaluate(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    options: Annotated[EvaluationOptions, tyro.conf.arg(name="")],
    ensemble: bool = False,
    out: Path | None = None,
) -> None:
    """Measure trained runs: error, calibration, occlusion, shift, noise, classes.

    Args:
        runs: Folders that `softaug train` made, ensembles too; each gets evaluation.json and
            report.html.
        options: What is measured, and where.
        ensemble: Measure the mean of the runs' probabilities, not each run.
        out: Folder for an ensemble's result (default: ensemble-NAME beside the first run).
    """
    console = Console()
    for folder in evaluate_each(runs, options, ensemble, out, console):
        _report(folder / EVALUATION, console)


def compare(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    out: Path = Path("softaug-compare"),
) -> None:
    """Compare evaluated runs: means over seeds, paired differences, verdicts, figures.

    Args:
        runs: Evaluated folders; those of one recipe name are an arm, the first is the baseline.
        out: Folder for comparison.json, report.html and figures.
    """
    from softaug.lab.evaluation.compare import COMPARISON, compare_runs

    compare_runs(runs, out)
    _report(out / COMPARISON, Console())


def _report(file: Path, console: Console) -> None:
    from softaug.lab.progress import print_plain
    from softaug.lab.report.evaluation import print_report, write_report

    print_report(file, console)
    report = write_report(file)
    print_plain(console, f"Report: {report}")
