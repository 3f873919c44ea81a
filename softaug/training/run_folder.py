"""The folder of a run: one process at a time, one recipe for good.

recipe.json, metrics.jsonl, tensorboard/, checkpoints/, and when all is done result.json
"""

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from softaug.checks import refuse
from softaug.files import write_json
from softaug.recipes.pretrain import AnyRecipe
from softaug.recipes.serialise import as_dict, as_of_today, differences

RECIPE = "recipe.json"
RESULT = "result.json"
CHECKPOINTS = "checkpoints"
LOCK = ".lock"
PATIENCE = 0.2  # seconds: a look at the lock (`is_held`) takes microseconds and must not refuse


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


def is_held(lock: Path) -> bool:
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


def keep_recipe(folder: Path, recipe: AnyRecipe) -> None:
    """Write what is trained here."""
    write_json(as_dict(recipe), folder / RECIPE, indent=2)


def keep_result(folder: Path, result: Mapping[str, Any]) -> Path:
    """Write what came out; the run is finished then."""
    return write_json(result, folder / RESULT, indent=2)


def read_result(folder: Path) -> dict[str, Any] | None:
    """What came out; None if the run is not finished."""
    path = folder / RESULT
    return json.loads(path.read_text()) if path.exists() else None
