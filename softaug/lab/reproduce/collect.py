"""Collect results of runs into tableN.json and figureN.json: the paper's numbers beside ours."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from softaug.draws import DrawKey
from softaug.lab.data.datasets import data_root
from softaug.lab.evaluation.evaluate import EVALUATION
from softaug.lab.evaluation.metrics import level_key, set_key
from softaug.lab.evaluation.stats import estimate
from softaug.lab.io import write_json
from softaug.lab.recipes.augment import Augment
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import V2, PaperCell, PaperPanel, PaperRow, PaperTable
from softaug.lab.recipes.scale import Scale
from softaug.lab.report.model import plural
from softaug.lab.reproduce.plan import RUNS, Plan
from softaug.lab.reproduce.run_one import (
    NO_DATA,
    V2_FOLDER,
    GridRun,
    extra_test_sets,
    has_diverged,
    is_finished,
    read_evaluation,
    read_message,
)
from softaug.lab.training.augmentation import build_transforms
from softaug.lab.training.logging import environment, read_metrics

SCHEMA = 1
UNFINISHED = ("waiting", "partial", NO_DATA)
CHANCE = "chance"  # its error, beside the measures of an evaluation
COLLAPSE = 0.98
KEYS = {"error": "error", "probe_error": "error", "ece": "ece_10"}
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
_HIDDEN = re.compile(r"images (\d+) % hidden")
Cells = Mapping[tuple[PaperRow, PaperCell], dict[str, Any]]


class Collector:
    """Writes the tables of a plan as far as they have come."""

    def __init__(self, plan: Plan, data_dir: Path | None) -> None:
        self.plan, self.data_dir = plan, data_dir
        self._environment = environment()
        self._measures: dict[Path, tuple[float, dict[str, float]]] = {}  # with the file's time

    def collect(self, names: Iterable[str]) -> list[Path]:
        """Write the JSON files of the tables of these names; return their paths."""
        wanted = set(names)
        return [
            write_json(self.describe(table), self.plan.out / f"{table.name}.json", indent=1)
            for table in self.plan.tables
            if table.name in wanted
        ]

    def describe(self, table: PaperTable) -> dict[str, Any]:
        """Return the content of a table's file."""
        cells = {
            (row, cell): self._describe_cell(table, row, cell)
            for row in table.rows
            for cell in row.cells
        }
        as_meant = not table.of_paper and self.plan.scale == "cpu"
        notes = () if as_meant or not table.recipes else NOTES[self.plan.scale]
        is_open = any(map(_is_open, cells.values()))
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "name": table.name,
            "title": table.title,
            "scale": self.plan.scale,
            "complete": not is_open,
            "notes": [*table.notes, *notes],
            "environment": self._environment,
            "rows": [
                {
                    "group": row.group,
                    "label": row.label,
                    "recipe": row.recipe,
                    "baseline": row.baseline,
                    "quoted": row.quoted,
                    "cells": [cells[row, cell] for cell in row.cells],
                    "ran": self._describe_run(self.plan.recipe_of(table, row)),
                }
                for row in table.rows
            ],
        }
        if table.panels:
            content["panels"] = [_describe_panel(panel, cells, table) for panel in table.panels]
        if table.examples:
            recipes = self.plan.recipes[table.name]
            examples = {label: recipes[name] for label, name in table.examples if name in recipes}
            firsts = [self.plan.runs_of(recipe)[0] for recipe in examples.values()]
            content["labels"] = list(examples)
            content["runs"] = [f"{RUNS}/{run.name}" for run in firsts]
            content["complete"] &= all(self.error_of(run) is not None for run in firsts)
        if table.offsets:
            content["crops"] = [
                {"label": row.label, **draw_offsets(recipe)}
                for row in table.rows
                if isinstance(recipe := self.plan.recipe_of(table, row), Recipe)
            ]
        return content

    def _describe_run(self, recipe: AnyRecipe | None) -> str:
        """Describe what was really run where it differs from the row's label."""
        if self.plan.scale == "paper" or recipe is None:
            return ""
        data = recipe.data.name.rpartition("/")[2]  # of a folder, its name
        return f"{recipe.model} on {data}, {plural(recipe.epochs, 'epoch')}"

    def _describe_cell(self, table: PaperTable, row: PaperRow, cell: PaperCell) -> dict[str, Any]:
        published = {"value": cell.value, "se": cell.se, "source": cell.source}
        described: dict[str, Any] = {
            "measure": cell.measure,
            "on": cell.on,
            "paper": None if cell.value is None and not cell.diverged else published,
            "ours": None,
            "diverged": None,
        }
        if row.recipe is None:
            return {**described, "state": "quoted", "why": cell.why}
        recipe = self.plan.recipe_of(table, row)
        reason = self.plan.reasons[table.name].get(row.recipe, "")
        if cell.on == V2 and recipe is not None and recipe.data.name != "imagenet":
            reason = f"{V2} is for networks of all 1,000 classes"
        if recipe is None or reason:
            return {**described, "state": "not at this scale", "why": _join(cell.why, reason)}
        if cell.on == V2 and not extra_test_sets(recipe, self.data_dir):
            missing = f"no {V2}: put it into {data_root(self.data_dir) / V2_FOLDER}"
            return {**described, "state": NO_DATA, "why": _join(cell.why, missing)}
        return {**described, **self._summarize(cell, self.plan.runs_of(recipe))}

    def _summarize(self, cell: PaperCell, runs: Sequence[GridRun]) -> dict[str, Any]:
        """Return the state of a cell, its numbers, and the seeds that diverged."""
        every = [self._value(run, cell) for run in runs]
        values = [value for value in every if value is not None]
        lacking = [run for run, value in zip(runs, every, strict=True) if value is None]
        seeds = [run.recipe.seed for run in lacking if self._has_diverged(run)]
        state = _cell_state(len(values), len(seeds), len(runs))
        missing = next((run.no_data for run in runs if run.no_data), None)
        if missing and not values and not seeds:
            return {"state": NO_DATA, "why": _join(cell.why, missing)}
        reason = missing if state == "partial" and missing else _describe_failures(runs)
        named = ", ".join(map(str, seeds))
        lost = f"diverged: seed{'s' if len(seeds) > 1 else ''} {named}" if seeds else ""
        return {
            "state": state,
            "why": _join(cell.why, reason, lost),
            "ours": {**_estimate(values), "planned": len(runs)} if values else None,
            "diverged": {"seeds": seeds, "planned": len(runs)} if seeds else None,
        }

    def _has_diverged(self, run: GridRun) -> bool:
        collapsed = has_collapsed(self._read_measures(run.folder))
        return collapsed or has_diverged(run.folder, run.recipe)

    def error_of(self, run: GridRun) -> float | None:
        """Return the test error of a run, in %; None if it is not finished."""
        return self._value(run, PaperCell("error"))

    def _value(self, run: GridRun, cell: PaperCell) -> float | None:
        measures = self._read_measures(run.folder)
        if has_collapsed(measures):
            return None
        if cell.measure == "best_error":
            return _read_best_error(run.folder) if measures else None
        hidden = _HIDDEN.fullmatch(cell.on)
        if hidden:
            accuracy = measures.get(level_key("occlusion", int(hidden[1]) / 100))
            return None if accuracy is None else 100 - accuracy
        return measures.get(set_key(cell.on, "", KEYS[cell.measure]))

    def _read_measures(self, folder: Path) -> dict[str, float]:
        """Return the measures of a run in %, by key; none if it is not finished."""
        if not is_finished(folder):
            return {}
        file = folder / EVALUATION
        written = file.stat().st_mtime  # it may be evaluated again, on more test sets
        if self._measures.get(folder, (None,))[0] != written:
            evaluation = read_evaluation(folder)
            shares = {
                metric.key: 100 * metric.value for metric in evaluation.metrics if metric.percent
            }
            if evaluation.class_names:
                shares[CHANCE] = 100 * (1 - 1 / len(evaluation.class_names))
            self._measures[folder] = written, shares
        return self._measures[folder][1]


def has_collapsed(measures: Mapping[str, float]) -> bool:
    """Tell whether features learned without labels are of no use: SimSiam's loss is bounded.

    It is so where probe and nearest neighbors both come to `COLLAPSE` of the error of chance.

    >>> has_collapsed({"error": 98.9, "knn_error": 97.5, "chance": 99.0})
    True
    >>> has_collapsed({"error": 98.9, "knn_error": 90.0, "chance": 99.0})
    False
    """
    names = ("error", "knn_error")
    if not measures.keys() >= {*names, CHANCE}:
        return False
    return all(measures[name] >= COLLAPSE * measures[CHANCE] for name in names)


def _read_best_error(folder: Path) -> float | None:
    """Return the least test error of a run's evaluations, in %, as the release reports it."""
    errors = [row["test_error"] for row in read_metrics(folder) if "test_error" in row]
    return 100 * min(errors) if errors else None


def _cell_state(finished: int, diverged: int, planned: int) -> str:
    """Return how far a cell is.

    >>> _cell_state(3, 0, 3), _cell_state(1, 2, 3), _cell_state(1, 1, 3), _cell_state(0, 1, 3)
    ('complete', 'diverged', 'partial', 'waiting')
    """
    if finished == planned:
        return "complete"
    if finished + diverged == planned:
        return "diverged"
    return "partial" if finished else "waiting"


def _is_open(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell lacks numbers; what diverged in the paper may do so here."""
    as_in_paper = cell["paper"] is not None and cell["paper"]["value"] is None
    return cell["state"] in UNFINISHED or (cell["state"] == "diverged" and not as_in_paper)


def _estimate(values: Sequence[float]) -> dict[str, Any]:
    mean, rounded = estimate(values), [round(value, 4) for value in values]
    return {"values": rounded, "mean": mean.mean, "se": mean.se, "n": mean.n}


def _describe_failures(runs: Sequence[GridRun]) -> str:
    """Say why runs failed, each reason once."""
    messages = [read_message(run.folder) for run in runs]
    failed = [message for message in messages if message is not None]
    if not failed:
        return ""
    return f"{len(failed)} of {len(runs)} failed: {' / '.join(dict.fromkeys(failed))}"


def _join(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _describe_panel(panel: PaperPanel, cells: Cells, table: PaperTable) -> dict[str, Any]:
    lines = []
    for line in panel.lines:
        points = [cells[row, cell] for _, row, cell in line.points]
        if panel.gains:
            points = [
                _describe_gain(cells[row, cell], _find_base(cells, table, row, cell))
                for _, row, cell in line.points
            ]
        measured = [cell["ours"] or {"mean": None, "se": None, "n": 0} for cell in points]
        lines.append(
            {
                "label": line.label,
                "x": [x for x, _, _ in line.points],
                **{key: [number[key] for number in measured] for key in ("mean", "se", "n")},
                "paper": [cell["paper"] and cell["paper"]["value"] for cell in points],
            }
        )
    labels = {"title": panel.title, "x_label": panel.x_label, "y_label": panel.y_label}
    return {**labels, "lines": lines}


def _find_base(cells: Cells, table: PaperTable, row: PaperRow, cell: PaperCell) -> dict[str, Any]:
    """Return the baseline's cell that a cell's gain is counted from."""
    rows = [one for one in table.rows if (one.group, one.label) == (row.group, row.baseline)]
    key = (cell.measure, cell.on)
    return next(cells[rows[0], one] for one in rows[0].cells if (one.measure, one.on) == key)


def _describe_gain(cell: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return how much less than the baseline's a number is: the paper's, and ours by seed.

    With unequal numbers of seeds it is the difference of the means, without an error.
    """
    paper = ours = None
    if cell["paper"] and base["paper"]:
        values = [one["paper"]["value"] for one in (base, cell)]
        paper = None if None in values else {"value": round(values[0] - values[1], 4)}
    if cell["ours"] and base["ours"]:
        values, bases = cell["ours"]["values"], base["ours"]["values"]
        if len(values) == len(bases):
            ours = _estimate([there - here for here, there in zip(values, bases, strict=True)])
        else:
            num, mean = min(len(values), len(bases)), base["ours"]["mean"] - cell["ours"]["mean"]
            ours = {"mean": mean, "se": None, "n": num}
    return {"paper": paper, "ours": ours}


NUM_DOTS = 400
EDGES = {"digits": 16}  # others are CIFAR's
NUM_CLASSES = {"digits": 10, "cifar10": 10, "cifar100": 100}


def draw_offsets(recipe: Recipe) -> dict[str, Any]:
    """Draw a recipe's crop for the first images in the first epoch of seed 0."""
    edge = EDGES.get(recipe.data.name, 32)
    alone = Augment(crop=recipe.augment.crop, flip=False)
    (transform,) = build_transforms(alone, (0.0, 0.0, 0.0), edge)
    key = DrawKey(seed=0, epoch=0, index=torch.arange(NUM_DOTS))
    params = transform.draw(torch.zeros(NUM_DOTS, 3, edge, edge, dtype=torch.uint8), key=key)
    label = transform.report(torch.zeros(NUM_DOTS, dtype=torch.int64), params)
    confidence = torch.as_tensor(label.confidence(NUM_CLASSES[recipe.data.name]))
    if recipe.loss.soften == "none":
        confidence = torch.ones_like(confidence)
    return {
        "size": edge,
        "offsets": torch.stack([params.dx, params.dy], 1).tolist(),
        "confidence": [round(value, 4) for value in confidence.tolist()],
    }
