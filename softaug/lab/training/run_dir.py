"""The folder of a run: one process at a time, one recipe for good.

recipe.json, metrics.jsonl, tensorboard/, checkpoints/, and when all is done result.json
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from filelock import FileLock, Timeout

from softaug.checks import check_whole, refuse
from softaug.lab.io import write_json
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.recipes.serialize import as_dict, as_of_today, differences
from softaug.lab.training import checkpoint
from softaug.lab.training.logging import environment
from softaug.lab.training.optim import count_parameters

RECIPE = "recipe.json"
RESULT = "result.json"
CHECKPOINTS = "checkpoints"
LOCK = ".lock"
PATIENCE = 0.2  # seconds: a look at the lock (`is_locked`) takes microseconds and must not refuse


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder of a run that trains."""
    remedy = "wait for it, or choose another --out"
    with hold(folder / LOCK, PATIENCE, "train", f"only one process may train in {folder}", remedy):
        yield


@contextmanager
def hold(lock: Path, seconds: float, who: str, rule: str, remedy: str) -> Iterator[None]:
    """Hold a lock file, waited for so long; the lock ends with the process, however it ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(lock)
    try:
        held.acquire(timeout=seconds)
    except Timeout:
        refuse(who, rule, "a second one", remedy)
    try:
        yield
    finally:
        held.release()


def is_locked(lock: Path) -> bool:
    """Whether a process holds a lock file; many may look at once, and looking writes nothing."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no file, or a file system without locks
        return False
    return False


def check_recipe(folder: Path, recipe: AnyRecipe) -> None:
    """Refuse a folder that holds steps of another recipe, showing the difference."""
    path = folder / RECIPE
    begun = (folder / RESULT).exists() or any((folder / CHECKPOINTS).glob("*step-*"))
    if not path.exists() or not begun:
        return
    changed = differences(as_of_today(json.loads(path.read_text())), as_dict(recipe))
    if changed:
        lines = "".join(f"\n  {line}" for line in changed)
        rule = f"{folder} holds a run of another recipe; it must be the same to go on"
        raise ValueError(f"train: {rule}, or choose another --out{lines}")


def save_recipe(folder: Path, recipe: AnyRecipe) -> None:
    """Write what is trained here."""
    write_json(as_dict(recipe), folder / RECIPE, indent=2)


def save_result(folder: Path, result: Mapping[str, Any]) -> Path:
    """Write what came out; the run is finished then."""
    return write_json(result, folder / RESULT, indent=2)


def read_result(folder: Path) -> dict[str, Any] | None:
    """What came out; None if the run is not finished."""
    path = folder / RESULT
    return json.loads(path.read_text()) if path.exists() else None


@dataclass(frozen=True)
class RunOptions:
    """Folder, machine and bookkeeping of a run."""

    out: Path | None = None
    """the run's folder; the same folder again resumes (default: runs/NAME-seedSEED)"""
    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ...; under torchrun each process takes its own GPU"""
    workers: int | None = None
    """processes that read and augment ahead (default: none for images in memory, else a core
    each)"""
    threads: int | None = None
    """threads of this process (default: torch's); another number changes the last bits"""
    checkpoint_steps: int | None = None
    """a checkpoint after every so many steps too, not only after each epoch"""
    evaluate_epochs: int = 10
    """measure after every so many epochs, and at the end"""

    def __post_init__(self) -> None:
        check_whole("train", "evaluate_epochs", self.evaluate_epochs, least=1)
        for name, least in (("workers", 0), ("threads", 1), ("checkpoint_steps", 1)):
            if getattr(self, name) is not None:
                check_whole("train", name, getattr(self, name), least=least)

    def folder(self, recipe: AnyRecipe) -> Path:
        """Where the run of a recipe goes."""
        return self.out or Path("runs") / f"{recipe.name}-seed{recipe.seed}"


if TYPE_CHECKING:
    from softaug.lab.training.trainer import Run

SCHEMA = 1


def describe_result(run: Run, measured: dict[str, Any]) -> dict[str, Any]:
    """Everything about a run that has done its last step."""
    shares = {name: round(share, 5) for name, share in run.clock.shares().items()}
    num_images = run.recipe.epochs * run.batches.num
    last = checkpoint.steps(run.folder / CHECKPOINTS)[-1]
    return {
        "schema": SCHEMA,
        "recipe": as_dict(run.recipe),
        "seed": run.recipe.seed,
        "split": run.data.split,
        **measured,
        "train_loss": run.last_epoch.mean_loss,
        f"train_{run.job.other}": run.last_epoch.mean_other,
        "files_sha256": run.job.files,
        "skipped": run.skipped.files,
        "num_train": run.batches.num,
        "num_measured": len(run.data.measured.labels),
        "num_classes": len(run.data.class_names),
        "num_parameters": count_parameters(run.learner.net),
        "weights": str(last.relative_to(run.folder) / ("ema" if run.learner.ema else "model"))
        + ".safetensors",
        "seconds": round(run.seconds, 1),
        "images_per_second": round(num_images / run.seconds, 1),
        "time_shares": shares,
        "augmentation_share": None if run.job.workers else shares["augment"],  # theirs is not seen
        "processes": run.team.world_size,
        "threads": torch.get_num_threads(),
        "device": device_name(run.team.device),
        "environment": environment(),
    }


def device_name(device: torch.device) -> str:
    """The device as its maker calls it.

    >>> device_name(torch.device("cpu"))
    'cpu'
    """
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
