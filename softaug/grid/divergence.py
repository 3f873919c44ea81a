"""Runs whose training diverged: that is a result, and the same bits would diverge again."""

import json

from softaug.checks import NotFiniteError
from softaug.files import write_json
from softaug.grid.run import GridRun
from softaug.grid.state import DIVERGED, when_now
from softaug.recipes.serialise import as_dict, as_of_today, differences


def note_divergence(run: GridRun, diverged: NotFiniteError) -> None:
    """Leave word of it, and of the recipe that it is true of."""
    told = {"message": str(diverged), "when": when_now(), "recipe": as_dict(run.recipe)}
    write_json(told, run.folder / DIVERGED, indent=1)


def has_diverged(run: GridRun) -> bool:
    """Whether the run's folder says that this very recipe diverged."""
    try:
        told = json.loads((run.folder / DIVERGED).read_text())
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not differences(as_of_today(told["recipe"]), as_dict(run.recipe))
