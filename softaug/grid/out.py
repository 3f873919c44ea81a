"""The folder of a grid: one command at a time, one scale for good."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from softaug.checks import refuse
from softaug.grid.plan import GRID, Plan
from softaug.paper.scale import Scale
from softaug.recipes.pretrain import AnyRecipe
from softaug.recipes.recipe import Recipe
from softaug.training.members import MEMBER, members
from softaug.training.run_folder import check_recipe

WHO = "reproduce"


@contextmanager
def held(out: Path) -> Iterator[None]:
    """Hold the folder, which is made if need be; one that cannot be written is refused."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(out / ".lock")
        lock.acquire(timeout=0)
    except Timeout:
        remedy = "wait for it, or choose another --out"
        refuse(WHO, f"only one command may work in {out}", "a second one", remedy)
    except OSError as failed:
        remedy = "choose another --out"
        refuse(WHO, f"{out} must be a folder that can be written", failed.strerror, remedy)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def written(out: Path) -> Iterator[None]:
    """Where a file in the folder cannot be written, such as on a full disk, say how to go on."""
    try:
        yield
    except OSError as failed:
        if failed.filename is None or not Path(failed.filename).is_relative_to(out):
            raise
        remedy = "all else is kept: make room there, and the same command goes on"
        refuse(WHO, f"results must be written to {out}", failed, remedy)


def check_scale(out: Path, scale: Scale) -> None:
    """Refuse a folder that holds a grid of another scale: tables of both would have one name."""
    try:
        there = json.loads((out / GRID).read_text())["scale"]
    except (OSError, ValueError, KeyError):
        return
    if there != scale:
        refuse(WHO, f"{out} holds a grid of scale {there}", scale, "choose another --out")


def check_recipes(plan: Plan) -> None:
    """Refuse a folder whose runs are of other recipes than the plan's, showing what differs."""
    for planned in plan.runs:
        for folder, recipe in _trained(planned.run.recipe, planned.run.folder):
            check_recipe(folder, recipe)


def _trained(recipe: AnyRecipe, folder: Path) -> list[tuple[Path, AnyRecipe]]:
    """The folder of each network of a run, with its recipe."""
    if not isinstance(recipe, Recipe) or recipe.members == 1:
        return [(folder, recipe)]
    return [(folder / f"{MEMBER}{member.seed}", member) for member in members(recipe)]
