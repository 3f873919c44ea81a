"""Doing one run in this process: training, then evaluation; again, it goes on or does nothing."""

import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from rich.console import Console

from softaug.checks import NotFiniteError
from softaug.lab.data.datasets import data_root, is_files
from softaug.lab.evaluation.evaluate import EVALUATION, EvaluationOptions, evaluate_runs
from softaug.lab.evaluation.load_run import runs_in
from softaug.lab.io import write_json
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import V2
from softaug.lab.recipes.serialize import as_dict, as_of_today, differences
from softaug.lab.reproduce.plan import (
    DIVERGED,
    FAILURE,
    LOCK,
    GridOptions,
    GridRun,
    Outcome,
    is_finished,
    when_now,
)
from softaug.lab.training.command import train_members
from softaug.lab.training.run_dir import RunOptions, hold
from softaug.lab.training.ssl import pretrain
from softaug.lab.training.supervised import train
from softaug.lab.training.trainer import StoppedError


def note_divergence(run: GridRun, diverged: NotFiniteError) -> None:
    """Leave word of it, and of the recipe that it is true of."""
    told = {"message": str(diverged), "when": when_now(), "recipe": as_dict(run.recipe)}
    write_json(told, run.folder / DIVERGED, indent=1)


def has_diverged(run: GridRun) -> bool:
    """Whether the run's folder says that this very recipe diverged."""
    try:
        told = json.loads((run.folder / DIVERGED).read_text())
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not differences(as_of_today(told["recipe"]), as_dict(run.recipe))


V2_FOLDER = "imagenetv2-matched-frequency-format-val"


def second_sets(recipe: AnyRecipe, data_dir: Path | None) -> tuple[str, ...]:
    """What `softaug evaluate --also` is to measure; ImageNet-V2 for all 1,000 classes alone."""
    folder = data_root(data_dir) / V2_FOLDER
    if recipe.data.name != "imagenet" or not folder.is_dir():
        return ()
    return (f"{V2}={folder}",)


LOG = "log.txt"
LOCK_SECONDS = 60  # a run whose command was killed saves first; its readers of files end after it


def attempt(run: GridRun, options: GridOptions) -> Outcome:
    """Do a run; what came of it, in place of an exception."""
    try:
        do_run(run, options)
    except (StoppedError, KeyboardInterrupt):
        return Outcome(run.name, stopped=True)
    except NotFiniteError as diverged:
        return Outcome(run.name, diverged=str(diverged))
    except Exception as failed:
        return Outcome(run.name, error=told(failed))
    return Outcome(run.name)


def do_run(run: GridRun, options: GridOptions) -> None:
    """Train and evaluate, with one thread; what is said goes to log.txt in the run's folder.

    A run that fails leaves failure.json, until it is begun again; one whose training diverges
    leaves diverged.json, and is done.
    """
    if is_done(run, options):
        return
    rule = f"only one process may do {run.folder}"
    held = hold(run.folder / LOCK, LOCK_SECONDS, "reproduce", rule, "wait for it")
    with held, (run.folder / LOG).open("a", encoding="utf-8") as log:
        for file in (FAILURE, DIVERGED):
            (run.folder / file).unlink(missing_ok=True)
        console = Console(file=log, width=120)
        try:
            with redirect_stdout(log), redirect_stderr(log):
                _train(run, options, console)
                _evaluate(run, options, console)
        except StoppedError as stopped:
            console.print(str(stopped), markup=False, soft_wrap=True)
            raise
        except NotFiniteError as diverged:
            console.print(str(diverged), markup=False, soft_wrap=True)
            note_divergence(run, diverged)
            raise
        except Exception as failed:
            console.print_exception()
            note_failure(run.folder, told(failed))
            raise


def is_done(run: GridRun, options: GridOptions) -> bool:
    """Whether the run diverged, or is finished and was measured on all that it can be now."""
    if has_diverged(run):
        return True
    if not is_finished(run.folder):
        return False
    wanted = {text.partition("=")[0] for text in second_sets(run.recipe, options.data_dir)}
    return not wanted or wanted <= set(json.loads((run.folder / EVALUATION).read_text())["sets"])


def note_failure(folder: Path, message: str) -> None:
    """Leave word of why a run did not end well."""
    write_json({"message": message, "when": when_now()}, folder / FAILURE)


def told(failed: BaseException) -> str:
    """An exception in words; refusals say all themselves."""
    if isinstance(failed, (ValueError, OSError)):
        return str(failed)
    return f"{type(failed).__name__}: {failed}"


def _train(run: GridRun, options: GridOptions, console: Console) -> None:
    there = RunOptions(
        out=run.folder,
        data_dir=options.data_dir,
        device=options.device,
        workers=options.workers if is_files(run.recipe.data.name) else 0,
        threads=1,
    )
    if not isinstance(run.recipe, Recipe):
        pretrain(run.recipe, there, console)
    elif run.recipe.members > 1:
        train_members(run.recipe, there, console)
    else:
        train(run.recipe, there, console)


def _evaluate(run: GridRun, options: GridOptions, console: Console) -> None:
    also = second_sets(run.recipe, options.data_dir)
    wanted = EvaluationOptions(options.data_dir, options.device, also, draws=options.draws)
    evaluate_runs(runs_in(run.folder), run.folder, wanted, console)
