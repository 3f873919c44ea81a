"""One run of a grid: what it is, how far it is, and doing it (train, then evaluate)."""

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from rich.console import Console

from softaug.checks import NotFiniteError, describe, refuse
from softaug.lab.data.datasets import data_root, is_files
from softaug.lab.evaluation.evaluate import EVALUATION, EvaluationOptions, evaluate_runs
from softaug.lab.evaluation.load_run import runs_in
from softaug.lab.io import read_json, write_json
from softaug.lab.recipes.cifar import RELEASE, RELEASE_EVALUATES
from softaug.lab.recipes.config import SIBLING, AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import V2
from softaug.lab.recipes.serialize import as_dict, as_of_today, differences
from softaug.lab.schema import read_sealed
from softaug.lab.training import checkpoint
from softaug.lab.training.checkpoint import CHECKPOINTS
from softaug.lab.training.command import train, train_members
from softaug.lab.training.logging import METRICS, RESULT
from softaug.lab.training.run_dir import RunOptions, hold, is_locked
from softaug.lab.training.trainer import StoppedError

WHO = "reproduce"
LOCK_SECONDS = 60  # a run whose command was killed saves first; its readers of files end after it
V2_FOLDER = "imagenetv2-matched-frequency-format-val"
State = Literal["finished", "diverged", "failed", "running", "begun", "waiting", "no data"]
NO_DATA: State = "no data"
ENDED: tuple[State, ...] = ("finished", "diverged")  # nothing is left to do
FAILURE = "failure.json"
DIVERGED = "diverged.json"
REMOVE = "remove the file to do the run again"
LOG = "log.txt"
LOCK = ".grid-lock"  # held while a run is trained and evaluated


@dataclass(frozen=True)
class GridRun:
    """A recipe with one seed: plain and picklable, so that any process can run it."""

    name: str
    """unique in a grid: the recipe's name and seed"""
    recipe: AnyRecipe
    folder: Path
    """where all of it goes; every process that may run it must see this folder"""
    hours: float | None = None
    """of a V100 at the paper's scale, else of a core; None where unknown"""
    no_data: str | None = None
    """why the data set is missing, and how to get it"""

    @property
    def state(self) -> State:
        """The state of the run; "no data" if it has not ended and cannot run."""
        state = get_state(self.folder)
        return NO_DATA if self.no_data and state not in ENDED else state


@dataclass(frozen=True)
class GridOptions:
    """What every run of a grid is done with: nothing here changes what is learned."""

    data_dir: Path | None = None
    """where data sets are (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""
    draws: int = 3
    """random corruptions to average in an evaluation"""
    workers: int | None = None
    """processes that read image files, for each run (default: one per core)"""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: well, if it has neither an error nor a stop nor a divergence."""

    name: str
    error: str | None = None
    stopped: bool = False
    """it was asked to stop and can go on"""
    diverged: str | None = None
    """where training diverged: a result, though no number"""
    seconds: float = field(default=0.0, compare=False)
    """how long it took, here and now"""


Runner = Callable[[Sequence[GridRun], GridOptions, int | None], Generator[Outcome, None, None]]
"""Does runs, so many at once (None: as many as the machine can); yields each as it ends.

Closed early, it saves and ends the runs at work."""


def begins_from(recipe: AnyRecipe) -> str | None:
    """Return the name of the run beside it whose weights a recipe begins from; None without."""
    weights = (isinstance(recipe, Recipe) and recipe.finetune.weights) or ""
    return weights.removeprefix(SIBLING) if weights.startswith(SIBLING) else None


def count_states(runs: Sequence[GridRun]) -> dict[State, int]:
    """Return how many runs are in which state, the ended first."""
    counts = Counter(run.state for run in runs)
    states: tuple[State, ...] = get_args(State)
    return {state: counts[state] for state in states if counts[state]}


def get_state(folder: Path) -> State:
    """Return the state of the run, or of the ensemble, in `folder`."""
    if is_finished(folder):
        return "finished"
    if (folder / DIVERGED).exists():
        return "diverged"
    if (folder / FAILURE).exists():
        return "failed"
    if is_locked(folder / LOCK):
        return "running"
    begun = any(
        (run / METRICS).exists() or checkpoint.steps(run / CHECKPOINTS) for run in runs_in(folder)
    )
    return "begun" if begun else "waiting"


def is_finished(folder: Path) -> bool:
    """Whether every network was trained, and the run evaluated."""
    trained = all((run / RESULT).exists() for run in runs_in(folder))
    return trained and (folder / EVALUATION).exists()


def save_failure(folder: Path, message: str) -> None:
    """Write why a run failed."""
    write_json({"message": message, "when": _now()}, folder / FAILURE)


def save_divergence(folder: Path, recipe: AnyRecipe, error: NotFiniteError) -> None:
    """Write that a recipe diverged: a result, though no number."""
    content = {"message": str(error), "when": _now(), "recipe": as_dict(recipe)}
    write_json(content, folder / DIVERGED, indent=1)


def read_message(folder: Path, name: str = FAILURE) -> str | None:
    """Return why a run failed or diverged; None if it did not, or was started again just now."""
    content = _read_if_there(folder / name)
    return None if content is None else str(content["message"])


def has_diverged(folder: Path, recipe: AnyRecipe) -> bool:
    """Whether this very recipe diverged in `folder`."""
    content = _read_if_there(folder / DIVERGED)
    if content is None:
        return False
    values = as_of_today(content.get("recipe"))
    if not isinstance(values, dict):
        refuse(f"{WHO}: {folder / DIVERGED}", "recipe must be a table", describe(values), REMOVE)
    return not differences(values, as_dict(recipe))


def _read_if_there(file: Path) -> dict[str, Any] | None:
    """Read what `save_failure` or `save_divergence` wrote; None if it is not there."""
    try:
        content = read_json(file, f"{WHO}: {file}", REMOVE)
    except ValueError:
        if file.exists():
            raise
        return None
    if not isinstance(content, dict) or not isinstance(content.get("message"), str):
        refuse(f"{WHO}: {file}", "the file must have a message", describe(content), REMOVE)
    return content


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def try_run(run: GridRun, options: GridOptions) -> Outcome:
    """Do a run and return its outcome, in place of an exception."""
    begun = time.monotonic()
    try:
        run_one(run, options)
        outcome = Outcome(run.name)
    except (StoppedError, KeyboardInterrupt):
        outcome = Outcome(run.name, stopped=True)
    except NotFiniteError as error:
        outcome = Outcome(run.name, diverged=str(error))
    except Exception as error:
        outcome = Outcome(run.name, error=describe_error(error))
    return replace(outcome, seconds=time.monotonic() - begun)


def run_one(run: GridRun, options: GridOptions) -> None:
    """Train and evaluate in one thread, with all output in log.txt of the run's folder.

    A run that fails leaves failure.json until it is started again; one whose training diverges
    leaves diverged.json, and is done.
    """
    if is_done(run, options):
        return
    rule = f"only one process may do {run.folder}"
    held = hold(run.folder / LOCK, LOCK_SECONDS, WHO, rule, "wait for it")
    with held, (run.folder / LOG).open("a", encoding="utf-8") as log:
        for file in (FAILURE, DIVERGED):
            (run.folder / file).unlink(missing_ok=True)
        console = Console(file=log, width=120)
        try:
            with redirect_stdout(log), redirect_stderr(log):
                _train(run, options, console)
                _evaluate(run, options, console)
        except (StoppedError, NotFiniteError) as error:
            console.print(str(error), markup=False, soft_wrap=True)
            if isinstance(error, NotFiniteError):
                save_divergence(run.folder, run.recipe, error)
            raise
        except Exception as error:
            console.print_exception()
            save_failure(run.folder, describe_error(error))
            raise


def is_done(run: GridRun, options: GridOptions) -> bool:
    """Whether the run diverged, or was trained and evaluated on every test set that is there."""
    if has_diverged(run.folder, run.recipe):
        return True
    if not is_finished(run.folder):
        return False
    wanted = {text.partition("=")[0] for text in extra_test_sets(run.recipe, options.data_dir)}
    return not wanted or wanted <= {*read_evaluation(run.folder).test_sets}


class MetricPart(BaseModel):
    """A metric of evaluation.json: its value, as a share where it is printed in %."""

    key: str
    value: float
    percent: bool


class EvaluationParts(BaseModel):
    """What a grid reads of evaluation.json, of any version."""

    metrics: list[MetricPart]
    test_sets: dict[str, Any]
    class_names: list[str] = []


def read_evaluation(folder: Path) -> EvaluationParts:
    """Read a run's evaluation.json as far as a grid needs it; refuse what is none."""
    path = folder / EVALUATION
    content = read_sealed(path, REMOVE, WHO)
    try:
        return EvaluationParts.model_validate(content)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        where = ".".join(map(str, error["loc"])) or "the file"
        refuse(f"{WHO}: {path}", f"{where} must be that of an evaluation", error["msg"], REMOVE)


def extra_test_sets(recipe: AnyRecipe, data_dir: Path | None) -> tuple[str, ...]:
    """Return the extra test sets to evaluate on: ImageNet-V2, for all 1,000 classes only."""
    folder = data_root(data_dir) / V2_FOLDER
    if recipe.data.name != "imagenet" or not folder.is_dir():
        return ()
    return (f"{V2}={folder}",)


def describe_error(error: BaseException) -> str:
    """Return an exception as one line; of a refusal its message alone."""
    if isinstance(error, (ValueError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _train(run: GridRun, options: GridOptions, console: Console) -> None:
    workers = options.workers if is_files(run.recipe.data.name) else 0
    released = run.recipe.name.endswith(RELEASE)
    settings = RunOptions(
        out=run.folder,
        data_dir=options.data_dir,
        device=options.device,
        workers=workers,
        threads=1,
        evaluate_epochs=RELEASE_EVALUATES if released else RunOptions.evaluate_epochs,
    )
    if isinstance(run.recipe, Recipe) and run.recipe.members > 1:
        train_members(run.recipe, settings, console)
    else:
        train(run.recipe, settings, console)


def _evaluate(run: GridRun, options: GridOptions, console: Console) -> None:
    extra = extra_test_sets(run.recipe, options.data_dir)
    held_out = isinstance(run.recipe, Recipe) and run.recipe.data.validation > 0
    wanted = EvaluationOptions(
        options.data_dir, options.device, extra, held_out=held_out, draws=options.draws
    )
    evaluate_runs(runs_in(run.folder), run.folder, wanted, console)
