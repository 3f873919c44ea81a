"""The `softaug` command."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

_NEEDS_LAB = "softaug: the command line needs the lab extra ({}); pip install 'softaug[lab]'"

try:
    import tyro
    from rich.console import Console

    from softaug.lab.curves.command import curves_command
    from softaug.lab.data.check import data
    from softaug.lab.evaluation.compare import COMPARISON, compare_runs
    from softaug.lab.evaluation.evaluate import EVALUATION, EvaluationOptions, evaluate_each
    from softaug.lab.evaluation.show import show
    from softaug.lab.recipes.catalog import recipes
    from softaug.lab.report import print_table, write_report
    from softaug.lab.report.evaluation import print_comparison, write_evaluation_report
    from softaug.lab.reproduce.command import reproduce
    from softaug.lab.training.command import train_command
    from softaug.lab.training.demo import DemoSettings, run_demo
    from softaug.lab.training.trainer import StoppedError
except ImportError as missing:  # the core alone is installed
    sys.exit(_NEEDS_LAB.format(missing))


def demo(
    settings: Annotated[DemoSettings, tyro.conf.arg(name="")],
    out: Path = Path("softaug-demo"),
) -> None:
    """Compare hard and soft crops on real digits; writes a report that any browser shows.

    Args:
        settings: What to train; the defaults are what docs/method.md explains.
        out: Folder for results.json and report.html.
    """
    console = Console()
    results = run_demo(settings, out, console)
    print_table(results, console)
    _print_path("Report", write_report(results), console)


def train(recipe: Annotated[str, tyro.conf.Positional]) -> None:
    """Train a recipe, with any of its settings changed; resumes by itself.

    Args:
        recipe: A name that `softaug recipes` lists, or a recipe.json; then any settings.
    """
    _train([recipe])


def _train(arguments: Sequence[str]) -> None:
    """Train; the members of an ensemble are then measured together."""
    trained = train_command(arguments)
    if len(trained.folders) == 1 or os.environ.get("RANK", "0") != "0":
        return
    options = EvaluationOptions(data_dir=trained.options.data_dir, device=trained.options.device)
    _evaluate(trained.folders, options, True, trained.options.folder(trained.recipe))


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
    _evaluate(runs, options, ensemble, out)


def _evaluate(
    runs: Sequence[Path], options: EvaluationOptions, ensemble: bool, out: Path | None
) -> None:
    console = Console()
    for folder in evaluate_each(runs, options, ensemble, out, console):
        print_comparison(folder / EVALUATION, console)
        _print_path("Report", write_evaluation_report(folder / EVALUATION), console)


def compare(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    out: Path = Path("softaug-compare"),
) -> None:
    """Compare evaluated runs: means over seeds, paired differences, verdicts, figures.

    Args:
        runs: Evaluated folders; those of one recipe name are an arm, the first is the baseline.
        out: Folder for comparison.json, report.html and figures.
    """
    console = Console()
    compare_runs(runs, out)
    print_comparison(out / COMPARISON, console)
    _print_path("Report", write_evaluation_report(out / COMPARISON), console)


def curves(what: Annotated[Literal["fit", "confusion"], tyro.conf.Positional]) -> None:
    """Measure what operations leave of a label (fit), and which classes are confused.

    Args:
        what: Which of them; each has its own --help.
    """
    curves_command([what])


def _print_path(what: str, path: Path, console: Console) -> None:
    console.print(f"{what}: {path}", soft_wrap=True, highlight=False)


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "recipes": recipes,
    "train": train,
    "evaluate": evaluate,
    "compare": compare,
    "curves": curves,
    "reproduce": reproduce,
    "show": show,
    "data": data,
}


def main() -> None:
    """Run a subcommand; bad input ends with one line and code 2, a stop with code 130."""
    try:
        if sys.argv[1:2] == ["train"]:  # what can be changed depends on the recipe
            _train(sys.argv[2:])
        elif sys.argv[1:2] == ["curves"]:  # two commands of their own
            curves_command(sys.argv[2:])
        else:
            tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="softaug", description=__doc__)
    except (ValueError, OSError) as refused:
        _end(str(refused), 2)
    except StoppedError as stopped:
        _end(str(stopped), 130)
    except KeyboardInterrupt:
        _end("stopped", 130)


def _end(message: str, code: int) -> None:
    """Say why on one process of many, and exit."""
    if os.environ.get("RANK", "0") == "0":
        print(message, file=sys.stderr)
    sys.exit(code)
