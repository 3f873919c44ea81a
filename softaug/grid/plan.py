"""Which runs a grid consists of, and grid.json, which says so to others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from softaug.files import write_json
from softaug.grid.cost import cost_in_words
from softaug.grid.data_there import missing_data, photos_at_smoke
from softaug.grid.run import GridRun
from softaug.paper.exhibit import Exhibit
from softaug.paper.scale import PHOTOS, Scale, scaled
from softaug.recipes.pretrain import AnyRecipe
from softaug.recipes.recipe import Recipe
from softaug.training.environment import environment

GRID = "grid.json"
RUNS = "runs"
SCHEMA = 1


@dataclass(frozen=True)
class PlannedRun:
    """A run, what it costs, and whether there are images for it."""

    run: GridRun
    cost: str
    no_data: str | None
    """why it cannot be done, and what to do about it"""


@dataclass(frozen=True)
class Plan:
    """All runs that exhibits need at a scale; what several need is there once."""

    out: Path
    scale: Scale
    exhibits: tuple[Exhibit, ...]
    seeds: tuple[int, ...]
    recipes: Mapping[str, Mapping[str, AnyRecipe | str]]
    """of each exhibit, by the catalogue's names: what is run, or why nothing is"""
    runs: tuple[PlannedRun, ...]

    def runs_of(self, recipe: AnyRecipe) -> list[PlannedRun]:
        """The runs of a recipe, by seed."""
        return [planned for planned in self.runs if planned.run.recipe.name == recipe.name]

    def exhibits_of(self, recipe: AnyRecipe) -> list[str]:
        """Names of the exhibits that need a recipe."""
        return [
            name
            for name, recipes in self.recipes.items()
            if any(not isinstance(one, str) and one.name == recipe.name for one in recipes.values())
        ]

    def may_diverge(self) -> set[str]:
        """Names of the recipes that diverged in the paper too."""
        found = [
            self.recipes[exhibit.name][row.recipe]
            for exhibit in self.exhibits
            for row in exhibit.rows
            if row.recipe is not None and any(cell.diverged for cell in row.cells)
        ]
        return {recipe.name for recipe in found if not isinstance(recipe, str)}


def make_plan(
    exhibits: Sequence[Exhibit],
    scale: Scale,
    seeds: Sequence[int],
    out: Path,
    data_dir: Path | None,
) -> Plan:
    """Expand exhibits to runs, recipe by recipe in their order, each by all seeds."""
    photos = photos_at_smoke(out, data_dir) if scale == "smoke" else PHOTOS
    recipes = {exhibit.name: scaled(exhibit, scale, photos) for exhibit in exhibits}
    named = {
        recipe.name: (catalogue, recipe)
        for found in recipes.values()
        for catalogue, recipe in found.items()
        if not isinstance(recipe, str)
    }
    missing = missing_data([recipe for _, recipe in named.values()], out, data_dir)
    runs = [
        PlannedRun(
            GridRun(run_name(recipe, seed), replace(recipe, seed=seed), _folder(out, recipe, seed)),
            cost_in_words(catalogue, recipe, scale),
            missing[recipe.data.name],
        )
        for catalogue, recipe in named.values()
        for seed in seeds
    ]
    return Plan(out, scale, tuple(exhibits), tuple(seeds), recipes, tuple(runs))


def num_members(recipe: AnyRecipe) -> int:
    """Networks that a run trains."""
    return recipe.members if isinstance(recipe, Recipe) else 1


def run_name(recipe: AnyRecipe, seed: int) -> str:
    """What the run of a recipe by a seed is called."""
    return f"{recipe.name}-seed{seed}"


def _folder(out: Path, recipe: AnyRecipe, seed: int) -> Path:
    return out.absolute() / RUNS / run_name(recipe, seed)


def write_grid(plan: Plan) -> Path:
    """Write grid.json."""
    grid = {
        "schema": SCHEMA,
        "scale": plan.scale,
        "exhibits": [exhibit.name for exhibit in plan.exhibits],
        "seeds": list(plan.seeds),
        "runs": [_described(planned, plan) for planned in plan.runs],
        "environment": environment(),
    }
    return write_json(grid, plan.out / GRID, indent=1)


def _described(planned: PlannedRun, plan: Plan) -> dict[str, Any]:
    run, recipe = planned.run, planned.run.recipe
    return {
        "name": run.name,
        "recipe": recipe.name,
        "data": recipe.data.name,
        "model": recipe.model,
        "seed": recipe.seed,
        "folder": f"{RUNS}/{run.name}",
        "epochs": recipe.epochs,
        "members": num_members(recipe),
        "exhibits": plan.exhibits_of(recipe),
        "cost": planned.cost,
        "no_data": planned.no_data,
    }
