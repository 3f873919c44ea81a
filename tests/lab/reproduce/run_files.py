"""Folders of runs as they look at each stage, written by hand."""

import json
from pathlib import Path
from typing import Any

from softaug.lab.recipes.scale import Scale
from softaug.lab.recipes.serialize import as_dict
from softaug.lab.reproduce.plan import Plan, make_plan
from softaug.lab.reproduce.studies import find_by_name


def planned(out: Path, *names: str, scale: Scale = "smoke", seeds: int = 1) -> Plan:
    """A plan whose data are looked for where there are none but the digits."""
    return make_plan(find_by_name(names, scale), scale, out, out / "no-data", seeds)


def folder_of(plan: Plan, catalogue: str, seed: int = 0) -> Path:
    """Where the run of a recipe of the catalogue goes."""
    recipes = next(found for found in plan.recipes.values() if catalogue in found)
    recipe = recipes[catalogue]
    assert not isinstance(recipe, str)
    return plan.runs_of(recipe)[seed].run.folder


def finish(folder: Path, recipe: Any = None, sets: tuple[str, ...] = (), **values: float) -> None:
    """What a finished run leaves, as far as grids read it; values are shares by key."""
    write(folder / "result.json", {})
    if recipe is not None:
        write(folder / "recipe.json", as_dict(recipe))
    measures = [{"key": key, "value": value, "percent": True} for key, value in values.items()]
    evaluation = {"metrics": measures, "test_sets": dict.fromkeys(("test", *sets))}
    write(folder / "evaluation.json", evaluation)


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def read(path: Path) -> Any:
    return json.loads(path.read_text())
