"""A watched folder: everything the page shows of it, read anew but for what has not changed."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from softaug.grid.plan import GRID
from softaug.training.run_folder import RECIPE
from softaug.watch.exhibits import WatchedExhibits
from softaug.watch.json_once import JsonOnce
from softaug.watch.planned import Planned, of_grid, of_recipe, run_folders
from softaug.watch.run import WatchedRun


class Wanted(NamedTuple):
    """A curve that a page has a part of: `num` rows of the curve's `life`."""

    key: str
    life: str
    num: int


class WatchedFolder:
    """A grid, or a folder with runs; it may be empty yet, or vanish."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.exhibits = WatchedExhibits(root)
        self._begun = f"{time.time_ns():x}"  # curves' lives are of this object
        self._grid = JsonOnce(root / GRID, lambda grid: of_grid(grid, root))
        self._recipes: dict[Path, JsonOnce[Planned]] = {}
        self._runs: dict[str, WatchedRun] = {}

    def look(self) -> dict[str, Any]:
        """The state of all runs and exhibits."""
        grid = self._grid.read()
        return {
            "runs": self._look_at(self._there() if grid is None else grid.runs),
            "scale": "" if grid is None else grid.scale,
            "exhibits": self.exhibits.look(() if grid is None else grid.exhibits),
            "problem": self._problem(),
        }

    def curves(self, wanted: Iterable[Wanted]) -> list[dict[str, Any]]:
        """What pages lack of the curves they show; of unknown runs nothing."""
        known = (want for want in wanted if want.key in self._runs)
        return [self._curve(self._runs[want.key], want) for want in known]

    def _problem(self) -> str:
        if not self.root.is_dir():
            return "the folder is not there any more"
        recipes = (recipe.problem for recipe in self._recipes.values())
        return self._grid.problem or next(filter(None, recipes), "")

    def _look_at(self, planned: Iterable[Planned]) -> list[dict[str, Any]]:
        kept, self._runs = self._runs, {}
        for plan in planned:
            run = kept.get(plan.key) or WatchedRun(plan)
            run.planned = plan
            self._runs[plan.key] = run
        looks = [run.look() for run in self._runs.values()]
        return [look | {"life": self._life(look["life"])} for look in looks]

    def _life(self, life: str) -> str:
        return f"{self._begun}.{life}"

    def _there(self) -> Iterable[Planned]:
        for folder in run_folders(self.root):
            plan = self._recipe(folder).read()
            if plan is not None:
                yield plan

    def _recipe(self, folder: Path) -> JsonOnce[Planned]:
        def pick(recipe: Any) -> Planned:
            return of_recipe(recipe, folder, self.root)

        return self._recipes.setdefault(folder, JsonOnce(folder / RECIPE, pick))

    def _curve(self, run: WatchedRun, want: Wanted) -> dict[str, Any]:
        life, rows = self._life(run.life), len(run.course.tail.rows)
        after = want.num if want.life == life and want.num <= rows else 0
        added = run.course.after(after)
        return {
            "key": want.key,
            "life": life,
            "after": after,
            "measure": run.course.measure(),
            "epochs": [one.epoch for one in added],
            "loss": [one.loss for one in added],
            "error": [one.error for one in added],
        }
