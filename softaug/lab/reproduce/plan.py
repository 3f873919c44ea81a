"""Which runs a grid consists of, and grid.json, which says so to others."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from filelock import FileLock, Timeout
from PIL import Image

from softaug.checks import refuse
from softaug.lab.data.datasets import FOLDER, data_root
from softaug.lab.data.digits import NUM_CLASSES, split_digits
from softaug.lab.data.images import Images
from softaug.lab.data.load import load
from softaug.lab.evaluation.evaluate import EVALUATION
from softaug.lab.evaluation.load_run import runs_in
from softaug.lab.io import write_json
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_tables import PaperTable
from softaug.lab.recipes.scale import PHOTOS, Scale, scaled
from softaug.lab.reproduce.cost import cost_in_words
from softaug.lab.training import checkpoint
from softaug.lab.training.command import MEMBER, members
from softaug.lab.training.logging import METRICS, environment
from softaug.lab.training.run_dir import CHECKPOINTS, RESULT, check_recipe, is_locked


@dataclass(frozen=True)
class GridRun:
    """A recipe by one seed: plain and picklable, so that any process can do it."""

    name: str
    """unique in a grid: the recipe's name and seed"""
    recipe: AnyRecipe
    folder: Path
    """where all of it goes; every process that may do the run must see it"""


@dataclass(frozen=True)
class GridOptions:
    """What every run of a grid is done with: nothing here changes what is learned."""

    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""
    draws: int = 3
    """placings of patches, shifts and noises, averaged in an evaluation"""
    workers: int | None = None
    """processes that read image files ahead, for each run (default: a core each)"""


class Outcome(NamedTuple):
    """How a run ended: well if there is neither an error nor a stop nor a divergence."""

    name: str
    error: str | None = None
    stopped: bool = False
    """it was asked to stop and can go on"""
    diverged: str | None = None
    """where training diverged: a result, though no number"""


Runner = Callable[[Sequence[GridRun], GridOptions, int | None], Iterator[Outcome]]
"""Does runs, so many at once (None: as many as the machine can), and tells each as it ends."""


DIGITS_AS_FILES = "digits-as-files"
EDGE, NUM_TRAIN, NUM_TEST = 48, 8, 4  # pixels, images of each class


def missing_data(
    recipes: Sequence[AnyRecipe], out: Path, data_dir: Path | None
) -> dict[str, str | None]:
    """For each data set that recipes name: None if it is there, else why not and how to get it."""
    ours = _digits_name(out)
    names = {recipe.data.name for recipe in recipes}
    return {name: None if name == ours else _why_missing(name, data_dir) for name in names}


def _why_missing(name: str, data_dir: Path | None) -> str | None:
    try:
        load(name, data_dir)
    except (ValueError, OSError) as missing:
        return str(missing)
    return None


def photos_at_smoke(out: Path, data_dir: Path | None) -> str:
    """Imagenette where it is there, else the digits as files."""
    there = (data_root(data_dir) / PHOTOS).is_dir()
    return PHOTOS if there else _digits_name(out)


def _digits_name(out: Path) -> str:
    return f"{FOLDER}{out.absolute() / DIGITS_AS_FILES}"


def needs_digits(recipes: Sequence[AnyRecipe], out: Path) -> bool:
    """Whether any of the recipes reads the digits as files."""
    return any(recipe.data.name == _digits_name(out) for recipe in recipes)


def write_digits(out: Path) -> None:
    """A few digits as PNG files in folders, so that reading files is tried on any machine."""
    splits = split_digits()
    for part, images, num in (("train", splits.train, NUM_TRAIN), ("val", splits.test, NUM_TEST)):
        for label in range(NUM_CLASSES):
            _write_class(out.absolute() / DIGITS_AS_FILES / part / str(label), images, label, num)


def _write_class(folder: Path, images: Images, label: int, num: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    members = (images.labels == label).nonzero().squeeze(1)[:num]
    for number, image in enumerate(images.fetch(members)):
        picture = Image.fromarray(image[0].numpy()).resize((EDGE, EDGE))
        picture.save(folder / f"{number}.png")


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
    exhibits: tuple[PaperTable, ...]
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
    exhibits: Sequence[PaperTable],
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


State = Literal["finished", "diverged", "failed", "running", "begun", "waiting"]
STATES: tuple[State, ...] = get_args(State)
ENDED = ("finished", "diverged")  # there is nothing more to do
FAILURE = "failure.json"
DIVERGED = "diverged.json"
LOCK = ".grid-lock"  # held while a run is trained and evaluated


def state_of(folder: Path) -> State:
    """The state of the run, or of the ensemble, in `folder`."""
    if is_finished(folder):
        return "finished"
    if (folder / DIVERGED).exists():
        return "diverged"
    if (folder / FAILURE).exists():
        return "failed"
    if is_locked(folder / LOCK):
        return "running"
    return "begun" if any(map(_is_begun, runs_in(folder))) else "waiting"


def is_finished(folder: Path) -> bool:
    """Whether all was trained and evaluated."""
    trained = all((run / RESULT).exists() for run in runs_in(folder))
    return trained and (folder / EVALUATION).exists()


def when_now() -> str:
    """The time, for a file that tells what happened."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _is_begun(folder: Path) -> bool:
    return (folder / METRICS).exists() or bool(checkpoint.steps(folder / CHECKPOINTS))
