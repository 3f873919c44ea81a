"""How far a run is, told from its folder alone."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, get_args

from softaug.evaluation.result_files import EVALUATION
from softaug.evaluation.run import runs_in
from softaug.training import checkpoint
from softaug.training.run_folder import CHECKPOINTS, RESULT, is_held
from softaug.training.tracking import METRICS

State = Literal["finished", "diverged", "failed", "running", "begun", "waiting"]
STATES: tuple[State, ...] = get_args(State)
ENDED = ("finished", "diverged")  # there is nothing more to do
FAILURE = "failure.json"
DIVERGED = "diverged.json"
LOCK = ".grid-lock"  # held while a run is trained and evaluated


def state_of(folder: Path) -> State:
    """The state of the run, or of the ensemble, in `folder`."""
    if is_finished(folder):
        return "finished"
    if (folder / DIVERGED).exists():
        return "diverged"
    if (folder / FAILURE).exists():
        return "failed"
    if is_held(folder / LOCK):
        return "running"
    return "begun" if any(map(_is_begun, runs_in(folder))) else "waiting"


def is_finished(folder: Path) -> bool:
    """Whether all was trained and evaluated."""
    trained = all((run / RESULT).exists() for run in runs_in(folder))
    return trained and (folder / EVALUATION).exists()


def when_now() -> str:
    """The time, for a file that tells what happened."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _is_begun(folder: Path) -> bool:
    return (folder / METRICS).exists() or bool(checkpoint.steps(folder / CHECKPOINTS))
