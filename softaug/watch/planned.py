"""Which runs a folder holds: those that a grid plans, else those that are there."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from softaug.training.run_folder import RECIPE

DEPTH = 3  # folders in folders: a folder of grids has runs at SCALE/runs/NAME


@dataclass(frozen=True)
class Planned:
    """A run as it is meant to be."""

    key: str
    """its folder, relative to the one that is watched: unique"""
    folder: Path
    name: str
    recipe: str
    data: str
    model: str
    seed: int
    epochs: int
    networks: int
    cost: str = ""
    no_data: str = ""
    in_grid: bool = False
    """it is finished when it is evaluated too"""
    exhibits: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedGrid:
    """What a grid.json tells."""

    scale: str
    exhibits: tuple[str, ...]
    runs: tuple[Planned, ...]


def of_grid(grid: Any, root: Path) -> PlannedGrid:
    """The grid in `root`, by its grid.json."""
    runs = tuple(_of_entry(entry, root) for entry in grid["runs"])
    return PlannedGrid(str(grid["scale"]), tuple(map(str, grid["exhibits"])), runs)


def _of_entry(entry: Mapping[str, Any], root: Path) -> Planned:
    inner = PurePosixPath(entry["folder"])
    if inner.is_absolute() or ".." in inner.parts:
        raise ValueError(f"the folder of a run must be inside, got {inner}")
    return Planned(
        key=str(entry["folder"]),
        folder=root / entry["folder"],
        name=str(entry["name"]),
        recipe=str(entry["recipe"]),
        data=str(entry["data"]),
        model=str(entry["model"]),
        seed=int(entry["seed"]),
        epochs=int(entry["epochs"]),
        networks=int(entry["members"]),
        cost=str(entry["cost"]),
        no_data=str(entry["no_data"] or ""),
        in_grid=True,
        exhibits=tuple(map(str, entry["exhibits"])),
    )


def of_recipe(recipe: Any, folder: Path, root: Path) -> Planned:
    """The run in `folder`, by its recipe.json."""
    return Planned(
        key=folder.relative_to(root).as_posix(),
        folder=folder,
        name=folder.resolve().name if folder == root else folder.relative_to(root).as_posix(),
        recipe=str(recipe["name"]),
        data=str(recipe["data"]["name"]),
        model=str(recipe["model"]),
        seed=int(recipe["seed"]),
        epochs=int(recipe["epochs"]),
        networks=1,
    )


def run_folders(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """The folders of runs at and beneath `folder`, by name; none inside another."""
    if os.path.isfile(folder / RECIPE):  # unlike Path's, False where we may not look
        yield folder
    elif depth:
        for inner in _folders_in(folder):
            yield from run_folders(inner, depth - 1)


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as found:
            names = [one.name for one in found if one.is_dir() and not one.name.startswith(".")]
    except OSError:  # it has vanished, or is not ours to read
        return []
    return [folder / name for name in sorted(names, key=_with_numbers)]


def _with_numbers(name: str) -> list[str | int]:
    """A key that puts seed10 after seed9."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]
