"""The command `softaug evaluate`, without its table and report."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from softaug.checks import refuse
from softaug.evaluation.evaluate import evaluate_runs
from softaug.evaluation.options import EvaluationOptions
from softaug.evaluation.run import runs_in


def evaluate_each(
    runs: Sequence[Path],
    options: EvaluationOptions,
    ensemble: bool,
    out: Path | None,
    console: Console,
) -> Iterator[Path]:
    """Evaluate runs, each or as one ensemble, and yield the folder of each result.

    A folder that `softaug train --members` made is one ensemble, or stands for its members.
    """
    if not runs:
        refuse("evaluate", "at least one run must be given", "none", "name a run's folder")
    if out is not None and not ensemble:
        refuse("evaluate", "out is for --ensemble; a run keeps its own evaluation", out)
    if options.export is not None and len(runs) > 1:
        refuse("evaluate", "export is for one run", f"{len(runs)} runs", "evaluate them apart")
    groups = [(run, runs_in(run)) for run in runs]
    if ensemble:
        together = [member for _, group in groups for member in group]
        groups = [(_ensemble_folder(runs[0], out), together)]
    for folder, group in groups:
        evaluate_runs(group, folder, options, console)
        yield folder


def _ensemble_folder(first: Path, out: Path | None) -> Path:
    return out or first.parent / f"ensemble-{first.name}"
