"""Runs of a grid: planned, written by hand at each stage, small enough to be done, and killed."""

import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from softaug.lab.recipes import find
from softaug.lab.recipes.paper_tables import find_tables
from softaug.lab.recipes.scale import Scale
from softaug.lab.recipes.serialize import as_dict
from softaug.lab.reproduce.plan import Plan, make_plan
from softaug.lab.reproduce.run_one import GridOptions, GridRun

OPTIONS = GridOptions(device="cpu", draws=1)
DIGITS = find("digits-resnet8-soft").recipe
EPOCHS = 32  # long enough to be broken off in the middle on a busy machine


def planned(out: Path, *names: str, scale: Scale = "smoke", seeds: int = 1) -> Plan:
    """A plan whose data are looked for where there are none but the digits."""
    return make_plan(find_tables(names, scale), scale, out, out / "no-data", seeds)


def folder_of(plan: Plan, catalogue: str, seed: int = 0) -> Path:
    """Where the run of a recipe of the catalogue goes."""
    recipes = next(found for found in plan.recipes.values() if catalogue in found)
    return plan.runs_of(recipes[catalogue])[seed].folder


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


def grid_run(out, name="run", **changes):
    recipe = replace(DIGITS, **{"epochs": EPOCHS, **changes})
    return GridRun(name, recipe, out / "runs" / name)


def weights(run):
    newest = max(run.folder.glob("checkpoints/step-*"))
    return (newest / "model.safetensors").read_bytes()


def log_of(run):
    return (run.folder / "log.txt").read_text()


def has_begun(run):
    return any(run.folder.glob("checkpoints/step-*"))


def workers_of(run):
    """The processes that do `run`: Ray gives them its name."""
    title = f"ray::{run.name}\0".encode()
    processes = [path for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [int(path.name) for path in processes if _title(path).startswith(title)]


def _title(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def kill_workers(run):
    for process in workers_of(run):
        os.kill(process, signal.SIGKILL)


class Meanwhile(threading.Thread):
    """Does `act` beside the test, as soon as something is `due`."""

    def __init__(self, due, act):
        super().__init__(daemon=True)
        self.due, self.act = due, act
        self.start()

    def run(self):
        while not self.due():
            time.sleep(0.02)
        self.act()
