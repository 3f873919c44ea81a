"""Plan a grid: every run that tables, figures and studies need, once; written to grid.json."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout
from PIL import Image

from softaug.checks import refuse
from softaug.lab.data.datasets import FOLDER, data_root
from softaug.lab.data.digits import NUM_CLASSES, split_digits
from softaug.lab.data.images import load
from softaug.lab.io import write_json
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import PaperTable
from softaug.lab.recipes.scale import PHOTOS, Scale, scaled
from softaug.lab.reproduce.cost import estimate_hours
from softaug.lab.reproduce.run_one import ENDED, STATES, WHO, GridRun, get_state
from softaug.lab.reproduce.studies import NUM_SEEDS, Study
from softaug.lab.training.command import MEMBER, members
from softaug.lab.training.logging import environment
from softaug.lab.training.run_dir import check_recipe

GRID = "grid.json"
RUNS = "runs"
SCHEMA = 2
NO_DATA = "no data"


@dataclass(frozen=True)
class PlannedRun:
    """A run, what it costs, and whether its data set is there."""

    run: GridRun
    hours: float | None
    """of a V100 at the paper's scale, else of a core; None where unknown"""
    no_data: str | None
    """why the data set is missing, and how to get it"""

    @property
    def state(self) -> str:
        """The state of the run; "no data" if it has not ended and cannot run."""
        state = get_state(self.run.folder)
        return NO_DATA if self.no_data and state not in ENDED else state


def count_states(runs: Sequence[PlannedRun]) -> dict[str, int]:
    """Return how many runs are in which state, the ended first."""
    counts = Counter(planned.state for planned in runs)
    return {state: counts[state] for state in (*STATES, NO_DATA) if counts[state]}


@dataclass(frozen=True)
class Plan:
    """All runs that tables need at a scale; a run that several need is there once."""

    out: Path
    scale: Scale
    tables: tuple[PaperTable, ...]
    studies: tuple[Study, ...]
    """those of the tables that have comparison pages"""
    recipes: Mapping[str, Mapping[str, AnyRecipe | str]]
    """of each table, by the names in its rows: what is run, or why nothing is"""
    runs: tuple[PlannedRun, ...]

    def runs_of(self, recipe: AnyRecipe) -> list[PlannedRun]:
        """Return the runs of a recipe, by seed."""
        return [planned for planned in self.runs if planned.run.recipe.name == recipe.name]

    def tables_of(self, recipe: AnyRecipe) -> list[str]:
        """Return the names of the tables that need a recipe."""
        return [
            name
            for name, recipes in self.recipes.items()
            if any(not isinstance(one, str) and one.name == recipe.name for one in recipes.values())
        ]

    def may_diverge(self) -> set[str]:
        """Return the names of the recipes that diverged in the paper too."""
        recipes = [
            self.recipes[table.name][row.recipe]
            for table in self.tables
            for row in table.rows
            if row.recipe is not None and any(cell.diverged for cell in row.cells)
        ]
        return {recipe.name for recipe in recipes if not isinstance(recipe, str)}


def make_plan(
    wanted: Sequence[PaperTable | Study],
    scale: Scale,
    out: Path,
    data_dir: Path | None,
    num_seeds: int | None = None,
) -> Plan:
    """Expand tables and studies to runs, recipe by recipe in their order, with seeds 0, 1, ...

    `num_seeds` is by default a study's own, else 3.
    """
    photos = _photos_at_smoke(out, data_dir) if scale == "smoke" else PHOTOS
    recipes = {
        one.name: one.recipes(scale) if isinstance(one, Study) else scaled(one, scale, photos)
        for one in wanted
    }
    named = {
        recipe.name: (catalog_name, recipe)
        for table in recipes.values()
        for catalog_name, recipe in table.items()
        if not isinstance(recipe, str)
    }
    seeds = _count_seeds(wanted, recipes, num_seeds)
    missing = _missing_data([recipe for _, recipe in named.values()], out, data_dir)
    runs = [
        PlannedRun(
            GridRun(run_name(recipe, seed), replace(recipe, seed=seed), _folder(out, recipe, seed)),
            estimate_hours(recipe, scale, find(name).cost if scale == "paper" else ""),
            missing[recipe.data.name],
        )
        for name, recipe in named.values()
        for seed in range(seeds[recipe.name])
    ]
    tables = tuple(one.table() if isinstance(one, Study) else one for one in wanted)
    studies = tuple(one for one in wanted if isinstance(one, Study))
    return Plan(out, scale, tables, studies, recipes, tuple(runs))


def _count_seeds(
    wanted: Sequence[PaperTable | Study],
    recipes: Mapping[str, Mapping[str, AnyRecipe | str]],
    num_seeds: int | None,
) -> dict[str, int]:
    """Return the number of seeds of each recipe that is run; the most that any table wants."""
    seeds: dict[str, int] = {}
    for one in wanted:
        arms = one.arms() if isinstance(one, Study) else []
        most = {arm.recipe.name: arm.num_seeds for arm in arms if arm.num_seeds}
        default = num_seeds or (one.num_seeds if isinstance(one, Study) else NUM_SEEDS)
        for name, recipe in recipes[one.name].items():
            if not isinstance(recipe, str):
                num = min(default, most.get(name, default))
                seeds[recipe.name] = max(num, seeds.get(recipe.name, 0))
    return seeds


def run_name(recipe: AnyRecipe, seed: int) -> str:
    """Return the name of the run of a recipe with a seed."""
    return f"{recipe.name}-seed{seed}"


def _folder(out: Path, recipe: AnyRecipe, seed: int) -> Path:
    return out.absolute() / RUNS / run_name(recipe, seed)


def write_grid(plan: Plan) -> Path:
    """Write grid.json: what runs there are, for other programs."""
    runs = [
        {
            "name": planned.run.name,
            "recipe": planned.run.recipe.name,
            "data": planned.run.recipe.data.name,
            "model": planned.run.recipe.model,
            "seed": planned.run.recipe.seed,
            "folder": f"{RUNS}/{planned.run.name}",
            "epochs": planned.run.recipe.epochs,
            "members": len(_networks(planned.run)),
            "tables": plan.tables_of(planned.run.recipe),
            "hours": planned.hours,
            "no_data": planned.no_data,
        }
        for planned in plan.runs
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
    try:
        there = json.loads((out / GRID).read_text())["scale"]
    except (OSError, ValueError, KeyError):
        return
    if there != scale:
        refuse(WHO, f"{out} holds a grid of scale {there}", scale, "choose another --out")


def check_recipes(plan: Plan) -> None:
    """Refuse a folder whose runs are of other recipes than the plan's, showing what differs."""
    for planned in plan.runs:
        for folder, recipe in _networks(planned.run):
            check_recipe(folder, recipe)


def _networks(run: GridRun) -> list[tuple[Path, AnyRecipe]]:
    """Return folder and recipe of each network that a run trains."""
    if not isinstance(run.recipe, Recipe) or run.recipe.members == 1:
        return [(run.folder, run.recipe)]
    return [(run.folder / f"{MEMBER}{member.seed}", member) for member in members(run.recipe)]


@contextmanager
def lock_folder(out: Path) -> Iterator[None]:
    """Make and lock the grid's folder; refuse one that is in use or cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(out / ".lock")
        lock.acquire(timeout=0)
    except Timeout:
        remedy = "wait for it, or choose another --out"
        refuse(WHO, f"only one command may work in {out}", "a second one", remedy)
    except OSError as error:
        remedy = "choose another --out"
        refuse(WHO, f"{out} must be a folder that can be written", error.strerror, remedy)
    try:
        yield
    finally:
        lock.release()


DIGITS_AS_FILES = "digits-as-files"
EDGE, NUM_TRAIN, NUM_TEST = 48, 8, 4  # pixels, images of each class


def _missing_data(
    recipes: Sequence[AnyRecipe], out: Path, data_dir: Path | None
) -> dict[str, str | None]:
    """Return for each data set why it is missing and how to get it; None if it is there."""
    reasons: dict[str, str | None] = {}
    for name in dict.fromkeys(recipe.data.name for recipe in recipes):
        reasons[name] = None if name == _digits_name(out) else why_missing(name, data_dir)
    return reasons


def why_missing(name: str, data_dir: Path | None) -> str | None:
    """Return why a data set cannot be read and how to get it; None if it can."""
    try:
        load(name, data_dir)
    except (ValueError, OSError) as error:
        return str(error)
    return None


def _photos_at_smoke(out: Path, data_dir: Path | None) -> str:
    """Return Imagenette where it is there, else the digits as files."""
    return PHOTOS if (data_root(data_dir) / PHOTOS).is_dir() else _digits_name(out)


def _digits_name(out: Path) -> str:
    return f"{FOLDER}{out.absolute() / DIGITS_AS_FILES}"


def write_digits_if_needed(plan: Plan) -> None:
    """Write a few digits as PNG files where a run reads them in place of photographs."""
    name = _digits_name(plan.out)
    if not any(planned.run.recipe.data.name == name for planned in plan.runs):
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
