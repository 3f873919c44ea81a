"""The directory of a run: one process at a time, one recipe for good.

recipe.json, run.json, metrics.jsonl, tensorboard/, checkpoints/, and when all is done result.json
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout

from softaug.checks import check_whole, refuse
from softaug.lab.io import make_folder, write_json
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.recipes.serialize import (
    RECIPE,
    RESTORE,
    as_dict,
    differences,
    from_dict,
    hash_recipe,
    read_recipe,
    read_values,
)
from softaug.lab.schema import RUN, Result, RunIdentity, read, write
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
    make_folder(lock.parent)
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


def has_begun(folder: Path) -> bool:
    """Tell whether a folder holds steps of a run."""
    return (folder / RESULT).exists() or any((folder / CHECKPOINTS).glob("*step-*"))


def check_recipe(folder: Path, recipe: AnyRecipe) -> None:
    """Refuse a folder that holds steps of another recipe, showing the difference."""
    if not has_begun(folder):
        return
    if not (folder / RECIPE).exists():
        refuse("train", f"{folder} holds steps of a run; it must have {RECIPE}", "none", RESTORE)
    _check_same(folder, as_dict(read_recipe(folder / RECIPE, "train")), recipe)


def _check_same(folder: Path, values: Mapping[str, Any], recipe: AnyRecipe) -> None:
    today = as_dict(from_dict(as_dict(recipe)))  # 0 for 0.0 is no difference
    changed = differences(as_dict(from_dict(values)), today)
    if changed:
        lines = "".join(f"\n  {line}" for line in changed)
        rule = f"{folder} holds a run of another recipe; it must be the same to go on"
        raise ValueError(f"train: {rule}, or choose another --out{lines}")


def begin_run(folder: Path, recipe: AnyRecipe) -> dict[str, str]:
    """Write recipe.json and run.json unless the run has begun; return what identifies the run."""
    check_recipe(folder, recipe)
    if not has_begun(folder):
        values = as_dict(recipe)
        write_json(values, folder / RECIPE, indent=2)
        identity = RunIdentity(run_id=uuid4().hex, recipe_sha256=hash_recipe(values))
        write(identity, folder / RUN, indent=2)
    return read_identity(folder)


def read_identity(folder: Path) -> dict[str, str]:
    """Read what run.json says; refuse it if recipe.json is not of that run."""
    identity = read(folder / RUN, RunIdentity)
    if identity.recipe_sha256 != hash_recipe(read_values(folder / RECIPE, "train")):
        refuse("train", f"{folder / RECIPE} must be that of {RUN}", "another", RESTORE)
    return {"run_id": identity.run_id, "recipe_sha256": identity.recipe_sha256}


def check_belongs(folder: Path, identity: Mapping[str, str], file: str, values: object) -> None:
    """Refuse a checkpoint or result that says of itself that it belongs to another run."""
    if values != identity:
        rule = f"{file} must belong to the run in {folder}, {identity['run_id']}"
        refuse("train", rule, values, "put back what was there, or choose another --out")


def check_state(folder: Path, name: str, state: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse the state of checkpoint `name` if its format, run, images or files are not today's."""
    if state.get("format") != now["format"]:
        remedy = "finish it with the version that began it, or begin anew with another --out"
        rule = f"the checkpoints of {folder} must be of this version of softaug"
        refuse("train", rule, "those of an earlier one", remedy)
    check_belongs(folder, now["run"], name, state["run"])
    what = {"data": "the images", "files": "the files of the recipe"}
    for key, words in what.items():
        if state[key] != now[key]:
            rule = f"{words} must be those that {folder} was begun with"
            got = f"{now[key]}, not {state[key]}"
            refuse("train", rule, got, "put them back, or choose another --out")


def read_result(folder: Path, recipe: AnyRecipe) -> dict[str, Any] | None:
    """Read the result of a finished run, None if there is none; one of another run is refused."""
    check_recipe(folder, recipe)
    path = folder / RESULT
    if not path.exists():
        return None
    result = read(path, Result)
    _check_same(folder, result.recipe, recipe)
    check_result(folder, result)
    return result.model_dump(exclude_unset=True)


def check_result(folder: Path, result: Result) -> None:
    """Refuse a result that belongs to another run; runs of 0.1 say nothing of it."""
    if (folder / RUN).exists() or result.run_id is not None:
        values = {"run_id": result.run_id, "recipe_sha256": result.recipe_sha256}
        check_belongs(folder, read_identity(folder), RESULT, values)
