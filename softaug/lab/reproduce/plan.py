"""Plan a grid: every run that tables, figures and studies need, once; written to grid.json."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image

from softaug.checks import refuse
from softaug.lab.data.datasets import FOLDER, data_root
from softaug.lab.data.digits import NUM_CLASSES, split_digits
from softaug.lab.data.images import load
from softaug.lab.io import read_json, write_json
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import PaperRow, PaperTable
from softaug.lab.recipes.scale import PHOTOS, Scale, scaled
from softaug.lab.reproduce.cost import estimate_hours
from softaug.lab.reproduce.run_one import WHO, GridRun
from softaug.lab.training.command import MEMBER, members
from softaug.lab.training.logging import environment
from softaug.lab.training.run_dir import check_recipe

GRID = "grid.json"
RUNS = "runs"
SCHEMA = 2


@dataclass(frozen=True)
class Plan:
    """All runs that tables need at a scale; a run that several need is there once."""

    out: Path
    scale: Scale
    tables: tuple[PaperTable, ...]
    recipes: Mapping[str, Mapping[str, AnyRecipe]]
    """what is run for each table, by the names in its rows"""
    reasons: Mapping[str, Mapping[str, str]]
    """why nothing is run, likewise"""
    runs: tuple[GridRun, ...]

    def recipe_of(self, table: PaperTable, row: PaperRow) -> AnyRecipe | None:
        """Return what is run for a row; None where nothing is."""
        return self.recipes[table.name].get(row.recipe or "")

    def runs_of(self, recipe: AnyRecipe) -> list[GridRun]:
        """Return the runs of a recipe, by seed."""
        return [run for run in self.runs if run.recipe.name == recipe.name]

    def tables_of(self, recipe: AnyRecipe) -> list[str]:
        """Return the names of the tables that need a recipe."""
        return [
            name
            for name, recipes in self.recipes.items()
            if any(planned.name == recipe.name for planned in recipes.values())
        ]

    def may_diverge(self) -> set[str]:
        """Return the names of the recipes that diverged in the paper too."""
        return {
            recipe.name
            for table in self.tables
            for row in table.rows
            if any(cell.diverged for cell in row.cells)
            and (recipe := self.recipe_of(table, row)) is not None
        }


def make_plan(
    tables: Sequence[PaperTable],
    scale: Scale,
    out: Path,
    data_dir: Path | None,
    num_seeds: int | None = None,
) -> Plan:
    """Expand tables to runs, recipe by recipe in their order, with seeds 0, 1, ...

    `num_seeds` is by default a table's own.
    """
    has_photos = scale != "smoke" or (data_root(data_dir) / PHOTOS).is_dir()
    photos = PHOTOS if has_photos else _digits_name(out)
    scaled_tables = {table.name: scaled(table, scale, photos) for table in tables}
    recipes = {name: scaled for name, (scaled, _) in scaled_tables.items()}
    reasons = {name: missing for name, (_, missing) in scaled_tables.items()}
    named = {
        recipe.name: (name, recipe)
        for scaled in recipes.values()
        for name, recipe in scaled.items()
    }
    seeds = _count_seeds(tables, recipes, num_seeds)
    data = dict.fromkeys(recipe.data.name for _, recipe in named.values())
    missing = {name: why_missing(name, data_dir) for name in data if name != _digits_name(out)}
    runs = [
        GridRun(
            run_name(recipe, seed),
            replace(recipe, seed=seed),
            out.absolute() / RUNS / run_name(recipe, seed),
            estimate_hours(recipe, scale, find(name).cost),
            missing.get(recipe.data.name),
        )
        for name, recipe in named.values()
        for seed in range(seeds[recipe.name])
    ]
    return Plan(out, scale, tuple(tables), recipes, reasons, tuple(runs))


def _count_seeds(
    tables: Sequence[PaperTable],
    recipes: Mapping[str, Mapping[str, AnyRecipe]],
    num_seeds: int | None,
) -> dict[str, int]:
    """Return the number of seeds of each recipe that is run; the most that any table wants."""
    seeds: dict[str, int] = {}
    for table in tables:
        default = num_seeds or table.num_seeds
        most = {row.recipe: row.most_seeds for row in table.rows if row.most_seeds}
        for name, recipe in recipes[table.name].items():
            num = min(default, most.get(name, default))
            seeds[recipe.name] = max(num, seeds.get(recipe.name, 0))
    return seeds


def run_name(recipe: AnyRecipe, seed: int) -> str:
    """Return the name of the run of a recipe with a seed."""
    return f"{recipe.name}-seed{seed}"


def write_grid(plan: Plan) -> Path:
    """Write grid.json: what runs there are, for other programs."""
    runs = [
        {
            "name": run.name,
            "recipe": run.recipe.name,
            "data": run.recipe.data.name,
            "model": run.recipe.model,
            "seed": run.recipe.seed,
            "folder": f"{RUNS}/{run.name}",
            "epochs": run.recipe.epochs,
            "members": len(_networks(run)),
            "tables": plan.tables_of(run.recipe),
            "hours": run.hours,
            "no_data": run.no_data,
        }
        for run in plan.runs
    ]
    content = {
        "schema": SCHEMA,
        "scale": plan.scale,
        "tables": [table.name for table in plan.tables],
        "runs": runs,
        "environment": environment(),
    }
    return write_json(content, plan.out / GRID, indent=1)


def check_scale(out: Path, scale: Scale) -> None:
    """Refuse a folder that holds a grid of another scale: tables of both would have one name."""
    path = out / GRID
    if not path.exists():
        return
    content = read_json(path, f"{WHO}: {path}", "choose another --out")
    there = content.get("scale") if isinstance(content, dict) else None
    if there != scale:
        refuse(WHO, f"{out} holds a grid of scale {there}", scale, "choose another --out")


def check_recipes(plan: Plan) -> None:
    """Refuse a folder whose runs are of other recipes than the plan's, showing what differs."""
    for run in plan.runs:
        for folder, recipe in _networks(run):
            check_recipe(folder, recipe)


def _networks(run: GridRun) -> list[tuple[Path, AnyRecipe]]:
    """Return folder and recipe of each network that a run trains."""
    if not isinstance(run.recipe, Recipe) or run.recipe.members == 1:
        return [(run.folder, run.recipe)]
    return [(run.folder / f"{MEMBER}{member.seed}", member) for member in members(run.recipe)]


DIGITS_AS_FILES = "digits-as-files"
EDGE, NUM_TRAIN, NUM_TEST = 48, 8, 4  # pixels, images of each class


def why_missing(name: str, data_dir: Path | None) -> str | None:
    """Return why a data set cannot be read and how to get it; None if it can."""
    try:
        load(name, data_dir)
    except (ValueError, OSError) as error:
        return str(error)
    return None


def _digits_name(out: Path) -> str:
    return f"{FOLDER}{out.absolute() / DIGITS_AS_FILES}"


def write_digits_if_needed(plan: Plan) -> None:
    """Write a few digits as PNG files where a run reads them in place of photographs."""
    name = _digits_name(plan.out)
    if not any(run.recipe.data.name == name for run in plan.runs):
        return
    splits = split_digits()
    for part, images, num in (("train", splits.train, NUM_TRAIN), ("val", splits.test, NUM_TEST)):
        for label in range(NUM_CLASSES):
            folder = plan.out.absolute() / DIGITS_AS_FILES / part / str(label)
            folder.mkdir(parents=True, exist_ok=True)
            chosen = (images.labels == label).nonzero().squeeze(1)[:num]
            for number, image in enumerate(images.fetch(chosen)):
                picture = Image.fromarray(image[0].numpy()).resize((EDGE, EDGE))
                picture.save(folder / f"{number}.png")
