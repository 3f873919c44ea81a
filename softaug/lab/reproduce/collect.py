"""From the folders of runs to tableN.json and figureN.json: the paper's numbers beside ours."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from softaug.draws import DrawKey
from softaug.lab.data.datasets import data_root
from softaug.lab.evaluation.evaluate import EVALUATION
from softaug.lab.evaluation.measures import level_key, set_key
from softaug.lab.evaluation.stats import estimate
from softaug.lab.io import write_json
from softaug.lab.recipes.augment import Augment
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import V2
from softaug.lab.recipes.paper_tables import (
    PaperCell,
    PaperFigure,
    PaperLine,
    PaperPanel,
    PaperRow,
    PaperTable,
)
from softaug.lab.recipes.scale import Scale
from softaug.lab.report.exhibits import print_exhibit, write_exhibit
from softaug.lab.reproduce.plan import (
    FAILURE,
    RUNS,
    GridRun,
    Plan,
    PlannedRun,
    is_finished,
    run_name,
)
from softaug.lab.reproduce.run_one import V2_FOLDER, has_diverged, second_sets
from softaug.lab.training.augmentation import build_transforms
from softaug.lab.training.logging import environment

KEYS = {"error": "error", "probe_error": "error", "ece": "ece_10"}
_HIDDEN = re.compile(r"images (\d+) % hidden")


class Numbers:
    """What runs have measured; each file is read once, for a finished run does not change."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[float, dict[str, float]]] = {}

    def value(self, folder: Path, cell: PaperCell) -> float | None:
        """The number of a cell from the run in `folder`; None where it has none (yet)."""
        measures = self._measures(folder)
        hidden = _HIDDEN.fullmatch(cell.on)
        if hidden:
            accuracy = measures.get(level_key("occlusion", int(hidden[1]) / 100))
            return None if accuracy is None else 100 - accuracy
        return measures.get(set_key(cell.on, "", KEYS[cell.measure]))

    def _measures(self, folder: Path) -> dict[str, float]:
        """By key; none of a run that is not finished."""
        if not is_finished(folder):
            return {}
        file = folder / EVALUATION
        written = file.stat().st_mtime  # it may be evaluated again, on more test sets
        if self._known.get(folder, (None,))[0] != written:
            self._known[folder] = written, _percents(json.loads(file.read_text()))
        return self._known[folder][1]


def _percents(evaluation: dict[str, Any]) -> dict[str, float]:
    return {
        measure["key"]: 100 * measure["value"]
        for measure in evaluation["measures"]
        if measure["percent"]
    }


NUM_DOTS = 400
EDGES = {"digits": 16}  # others are CIFAR's
NUM_CLASSES = {"digits": 10, "cifar10": 10, "cifar100": 100}


def drawn_offsets(
    exhibit: PaperTable, recipes: Mapping[str, AnyRecipe | str]
) -> list[dict[str, Any]]:
    """Draws of each row's crop, those of the first images in the first epoch of seed 0."""
    found = []
    for row in exhibit.rows:
        recipe = recipes[row.recipe or ""]
        assert isinstance(recipe, Recipe)
        found.append({"label": row.label, **_drawn(recipe)})
    return found


def _drawn(recipe: Recipe) -> dict[str, Any]:
    edge = EDGES.get(recipe.data.name, 32)
    alone = Augment(crop=recipe.augment.crop, flip=False)
    (transform,) = build_transforms(alone, (0.0, 0.0, 0.0), edge)
    key = DrawKey(seed=0, epoch=0, index=torch.arange(NUM_DOTS))
    params = transform.draw(torch.zeros(NUM_DOTS, 3, edge, edge, dtype=torch.uint8), key=key)
    label = transform.report(torch.zeros(NUM_DOTS, dtype=torch.int64), params)
    sure = torch.as_tensor(label.confidence(NUM_CLASSES[recipe.data.name]))
    if recipe.loss.soften == "none":
        sure = torch.ones_like(sure)
    return {
        "size": edge,
        "offsets": torch.stack([params.dx, params.dy], 1).tolist(),
        "confidence": [round(value, 4) for value in sure.tolist()],
    }


SCHEMA = 1
UNFINISHED = ("waiting", "partial", "no data")
Described = Callable[[PaperRow, PaperCell], dict[str, Any]]
NOTES: dict[Scale, tuple[str, ...]] = {
    "paper": (),
    "cpu": (
        "sigma 0.3 is the paper's, for 500 epochs on all images; it is known to be too much for "
        "budgets as small as these, where crops of about sigma 0.1 do better: no row was retuned",
    ),
    "smoke": (
        "a trial that every row can be run: a moment's training on tiny images, no evidence",
    ),
}


class Collector:
    """Writes the exhibits of a plan as far as they have come; reads each result once."""

    def __init__(self, plan: Plan, data_dir: Path | None) -> None:
        self.plan, self.data_dir = plan, data_dir
        self.numbers = Numbers()
        self._environment = environment()

    def collect(self, names: Iterable[str]) -> list[Path]:
        """Write the exhibits of these names anew."""
        wanted = set(names)
        return [self._write(exhibit) for exhibit in self.plan.exhibits if exhibit.name in wanted]

    def error_of(self, run: GridRun) -> float | None:
        """The headline number of a run, in %; None where it is not finished."""
        return self.numbers.value(run.folder, PaperCell("error"))

    def _write(self, exhibit: PaperTable) -> Path:
        return write_json(self.described(exhibit), self.plan.out / f"{exhibit.name}.json", indent=1)

    def described(self, exhibit: PaperTable) -> dict[str, Any]:
        """The content of an exhibit's file."""
        recipes = self.plan.recipes[exhibit.name]
        cells = {
            (row, cell): self._cell(cell, recipes[row.recipe] if row.recipe else None)
            for row in exhibit.rows
            for cell in row.cells
        }

        def found(row: PaperRow, cell: PaperCell) -> dict[str, Any]:
            return cells[row, cell]

        shown = exhibit.examples if isinstance(exhibit, PaperFigure) else ()
        examples = [recipes[name] for _, name in shown]
        return {
            "schema": SCHEMA,
            "name": exhibit.name,
            "title": exhibit.title,
            "scale": self.plan.scale,
            "complete": not any(map(_is_open, cells.values())) and self._examples_done(examples),
            "notes": [*exhibit.notes, *self._scale_notes(exhibit)],
            "environment": self._environment,
            "rows": [_described_row(row, found) for row in exhibit.rows],
            **self._figure_parts(exhibit, found),
        }

    def _scale_notes(self, exhibit: PaperTable) -> tuple[str, ...]:
        """What is to be known of a scale; a study's recipes are of the cpu scale."""
        scale = self.plan.scale
        as_meant = not exhibit.of_paper and scale == "cpu"
        return () if as_meant or not exhibit.recipes else NOTES[scale]

    def _figure_parts(self, exhibit: PaperTable, found: Described) -> dict[str, Any]:
        """What a figure has beside rows."""
        if not isinstance(exhibit, PaperFigure):
            return {}
        recipes = self.plan.recipes[exhibit.name]
        parts: dict[str, Any] = {}
        if exhibit.panels:
            parts["panels"] = [_described_panel(panel, found) for panel in exhibit.panels]
        if exhibit.examples:
            arms = {label: recipes[name] for label, name in exhibit.examples}
            shown = {label: arm for label, arm in arms.items() if not isinstance(arm, str)}
            parts["labels"] = list(shown)
            parts["runs"] = [self._first_folder(arm) for arm in shown.values()]
        if exhibit.offsets:
            parts["crops"] = drawn_offsets(exhibit, recipes)
        return parts

    def _first_folder(self, recipe: AnyRecipe) -> str:
        return f"{RUNS}/{run_name(recipe, self.plan.seeds[0])}"

    def _examples_done(self, recipes: Sequence[AnyRecipe | str]) -> bool:
        """Whether all that this scale has is there."""
        wanted = [recipe for recipe in recipes if not isinstance(recipe, str)]
        firsts = [self.plan.runs_of(recipe)[0] for recipe in wanted]
        error = PaperCell("error")
        return all(self._value(first, error) is not None for first in firsts)

    def _value(self, planned: PlannedRun, cell: PaperCell) -> float | None:
        return self.numbers.value(planned.run.folder, cell)

    def _cell(self, cell: PaperCell, recipe: AnyRecipe | str | None) -> dict[str, Any]:
        described = {"measure": cell.measure, "on": cell.on, "paper": _paper(cell), "ours": None}
        described["diverged"] = None
        if recipe is None:
            return {**described, "state": "quoted", "why": cell.why}
        if cell.on == V2 and not isinstance(recipe, str) and recipe.data.name != "imagenet":
            recipe = f"{V2} is for networks of all 1,000 classes"
        if isinstance(recipe, str):
            return {**described, "state": "not at this scale", "why": _joined(cell.why, recipe)}
        if cell.on == V2 and not second_sets(recipe, self.data_dir):
            no_set = f"no {V2}: put it into {data_root(self.data_dir) / V2_FOLDER}"
            return {**described, "state": "no data", "why": _joined(cell.why, no_set)}
        return {**described, **self._measured(cell, self.plan.runs_of(recipe))}

    def _measured(self, cell: PaperCell, runs: Sequence[PlannedRun]) -> dict[str, Any]:
        """State, reason and our numbers, one of each finished run; seeds of those that diverged."""
        found = [self._value(run, cell) for run in runs]
        values = [value for value in found if value is not None]
        lacking = [planned.run for planned, value in zip(runs, found, strict=True) if value is None]
        seeds = [run.recipe.seed for run in lacking if has_diverged(run)]
        state = _state(len(values), len(seeds), len(runs))
        missing = next((run.no_data for run in runs if run.no_data), None)
        if missing and not values and not seeds:
            return {"state": "no data", "why": _joined(cell.why, missing)}
        failed = missing if state == "partial" and missing else _failures(runs)
        return {
            "state": state,
            "why": _joined(cell.why, failed, _told_seeds(seeds)),
            "ours": _summary(values, len(runs)) if values else None,
            "diverged": {"seeds": seeds, "planned": len(runs)} if seeds else None,
        }


def _state(finished: int, diverged: int, planned: int) -> str:
    """How far a cell is.

    >>> _state(3, 0, 3), _state(1, 2, 3), _state(1, 1, 3), _state(0, 1, 3)
    ('complete', 'diverged', 'partial', 'waiting')
    """
    if finished == planned:
        return "complete"
    if finished + diverged == planned:
        return "diverged"
    return "partial" if finished else "waiting"


def _is_open(cell: dict[str, Any]) -> bool:
    """Whether it lacks numbers; what diverged in the paper may do so here."""
    as_in_paper = cell["paper"] is not None and cell["paper"]["value"] is None
    return cell["state"] in UNFINISHED or (cell["state"] == "diverged" and not as_in_paper)


def _told_seeds(seeds: Sequence[int]) -> str:
    """Which runs diverged.

    >>> _told_seeds([0, 2])
    'diverged: seeds 0, 2'
    """
    if not seeds:
        return ""
    return f"diverged: seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _paper(cell: PaperCell) -> dict[str, Any] | None:
    """The paper's number, which is null where it says that training diverged; None if neither."""
    if cell.value is None and not cell.diverged:
        return None
    return {"value": cell.value, "se": cell.se, "source": cell.source}


def _summary(values: Sequence[float], planned: int) -> dict[str, Any]:
    mean = estimate(values)
    rounded = [round(value, 4) for value in values]
    return {
        "values": rounded,
        "mean": mean.mean,
        "se": mean.se,
        "n": mean.n,
        "planned": planned,
    }


def _failures(runs: Sequence[PlannedRun]) -> str:
    """Why runs failed, each reason once."""
    found = (_failure(planned.run.folder / FAILURE) for planned in runs)
    told = [message for message in found if message is not None]
    if not told:
        return ""
    return f"{len(told)} of {len(runs)} failed: {' / '.join(dict.fromkeys(told))}"


def _failure(file: Path) -> str | None:
    """Why a run failed; None where it did not, or is begun again just now."""
    try:
        message: str = json.loads(file.read_text())["message"]
    except FileNotFoundError:
        return None
    return message


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _described_row(row: PaperRow, found: Described) -> dict[str, Any]:
    return {
        "group": row.group,
        "label": row.label,
        "recipe": row.recipe,
        "baseline": row.baseline,
        "quoted": row.quoted,
        "cells": [found(row, cell) for cell in row.cells],
    }


def _described_panel(panel: PaperPanel, found: Described) -> dict[str, Any]:
    return {
        "title": panel.title,
        "x_label": panel.x_label,
        "y_label": panel.y_label,
        "lines": [_described_line(line, found) for line in panel.lines],
    }


def _described_line(line: PaperLine, found: Described) -> dict[str, Any]:
    cells = [found(row, cell) for _, row, cell in line.points]
    ours = [cell["ours"] for cell in cells]
    return {
        "label": line.label,
        "x": [x for x, _, _ in line.points],
        "mean": [one["mean"] if one else None for one in ours],
        "se": [one["se"] if one else None for one in ours],
        "n": [one["n"] if one else 0 for one in ours],
        "paper": [cell["paper"]["value"] if cell["paper"] else None for cell in cells],
    }


def present(file: Path, console: Console) -> None:
    """Write the table or figure of a collected file beside it, and print it."""
    written = write_exhibit(file)
    print_exhibit(file, console)
    told = f"\n{file.parent}: {', '.join(path.name for path in written)}\n"
    console.print(told, soft_wrap=True, highlight=False, markup=False)
