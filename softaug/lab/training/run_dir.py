"""The directory of a run: one process at a time, one recipe for good.

recipe.json, metrics.jsonl, tensorboard/, checkpoints/, and when all is done result.json
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from softaug.checks import check_whole, refuse
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.recipes.serialize import RECIPE, as_dict, as_of_today, differences
from softaug.lab.training.checkpoint import CHECKPOINTS
from softaug.lab.training.logging import RESULT

TRACE = "trace.json"
LOCK = ".lock"
LOCK_SECONDS = 0.2  # to wait for a lock: `is_locked` holds it for a moment, which must not refuse
LOOK_SECONDS = 0.05  # to wait in `is_locked`: another one may be looking


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
    """evaluate after every so many epochs, and at the end"""
    profile: bool = False
    """write a torch.profiler trace of three steps to trace.json, for chrome://tracing"""

    def __post_init__(self) -> None:
        check_whole("train", "evaluate_epochs", self.evaluate_epochs, least=1)
        for name, least in (("workers", 0), ("threads", 1), ("checkpoint_steps", 1)):
            if getattr(self, name) is not None:
                check_whole("train", name, getattr(self, name), least=least)

    def folder(self, recipe: AnyRecipe) -> Path:
        """Return where the run of a recipe goes."""
        return self.out or Path("runs") / f"{recipe.name}-seed{recipe.seed}"


@contextmanager
def lock_run_dir(folder: Path) -> Iterator[None]:
    """Hold the folder of a run that trains."""
    remedy = "wait for it, or choose another --out"
    rule = f"only one process may train in {folder}"
    with hold(folder / LOCK, LOCK_SECONDS, "train", rule, remedy):
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
    """Tell whether a process holds a lock file, by taking it for a moment if it is free."""
    if not lock.exists():  # looking makes no file
        return False
    held = FileLock(lock)
    try:
        held.acquire(timeout=LOOK_SECONDS, poll_interval=0.01)
    except Timeout:
        return True
    except OSError:  # a file system without locks, or one that cannot be written to
        return False
    held.release()
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
