"""The folder of a run: one process at a time, one recipe for good.

recipe.json, metrics.jsonl, tensorboard/, checkpoints/, and when all is done result.json
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from softaug.checks import refuse
from softaug.files import write_json
from softaug.recipes.pretrain import AnyRecipe
from softaug.recipes.serialise import as_dict, differences

RECIPE = "recipe.json"
RESULT = "result.json"
CHECKPOINTS = "checkpoints"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder; the lock ends with the process, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        remedy = "wait for it, or choose another --out"
        refuse("train", f"only one process may train in {folder}", "a second one", remedy)
    try:
        yield
    finally:
        lock.release()


def check_recipe(folder: Path, recipe: AnyRecipe) -> None:
    """Refuse a folder that holds steps of another recipe, showing the difference."""
    path = folder / RECIPE
    begun = (folder / RESULT).exists() or any((folder / CHECKPOINTS).glob("*step-*"))
    if not path.exists() or not begun:
        return
    changed = differences(json.loads(path.read_text()), as_dict(recipe))
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
