"""Reading and checking the file of a table or figure."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from softaug.checks import describe, refuse
from softaug.lab.io import read_json
from softaug.lab.report.exhibits.shapes import Cell, Crops, Examples, Exhibit, Panels, Row, State
from softaug.lab.report.shape import check_shape

SCHEMA = 1
RERUN = "run `softaug reproduce` again"
SHAPES: dict[str, type] = {
    "figure1": Crops,
    "figure3": Panels,
    "figure4": Examples,
    "figure5": Panels,
    "figure6": Examples,
    "figure7": Examples,
    "budgets": Panels,
}
_NAME = re.compile(r"[a-z][a-z0-9-]*")


def read_exhibit(file: Path) -> Exhibit:
    """Read and check tableN.json or figureN.json."""
    who = f"exhibit {file}"
    return check_exhibit(read_json(file, who, RERUN), who)


def check_exhibit(value: Mapping[str, Any], who: str = "exhibit") -> Exhibit:
    """Return `value` if it is what a grid collects for a table or figure."""
    schema = value.get("schema") if isinstance(value, Mapping) else describe(value)
    _need(schema == SCHEMA, who, f"the file must have schema {SCHEMA}", schema)
    name = str(value.get("name"))
    _need(bool(_NAME.fullmatch(name)), who, "name must be a word in small letters", name)
    check_shape(value, SHAPES.get(name, Exhibit), who, RERUN)
    exhibit = cast(Exhibit, value)
    complete = exhibit["complete"]
    _need(isinstance(complete, bool), who, "complete must be true or false", complete)
    for row in exhibit["rows"]:
        _check_row(row, exhibit["rows"], f"{who}, row {row['label']!r}")
    _check_parts(value, who)
    return exhibit


def _need(true: bool, who: str, rule: str, got: object) -> None:
    if not true:
        refuse(who, rule, got, RERUN)


def _check_row(row: Row, rows: list[Row], who: str) -> None:
    labels = [other["label"] for other in rows]
    known = row["baseline"] is None or row["baseline"] in labels
    _need(known, who, "baseline must be the label of a row", row["baseline"])
    for cell in row["cells"]:
        _check_cell(cell, who)


def _check_cell(cell: Cell, who: str) -> None:
    state, ours = cell["state"], cell["ours"]
    _need(state in get_args(State), who, f"state must be one of {get_args(State)}", state)
    lost = cell.get("diverged")
    _need(state != "diverged" or bool(lost), who, "a diverged cell must say which seeds", lost)
    if ours is None:
        done = state in ("complete", "partial")
        _need(not done, who, f"a {state} cell must have ours", "none")
    else:
        good = len(ours["values"]) == ours["n"] <= ours["planned"] and ours["n"] > 0
        _need(good, who, "n must count the values and be at most planned", dict(ours))


def _check_parts(value: Mapping[str, Any], who: str) -> None:
    """What belongs together in a figure has one length."""
    for panel in value.get("panels", []):
        for line in panel["lines"]:
            lengths = {key: len(line[key]) for key in ("x", "mean", "se", "n", "paper")}
            rule = f"x, mean, se, n and paper of line {line['label']!r} must have one length"
            _need(len(set(lengths.values())) == 1, who, rule, lengths)
    runs = value.get("runs", [])
    labels = value.get("labels", runs)
    good = len(set(labels)) == len(labels) == len(runs)
    _need(good, who, "labels must be one for each of the runs, all different", labels)
    for crop in value.get("crops", []):
        pairs = all(len(offset) == 2 for offset in crop["offsets"])
        good = pairs and len(crop["offsets"]) == len(crop["confidence"])
        rule = f"crop {crop['label']!r} must have a confidence for each offset [dx, dy]"
        _need(good, who, rule, f"{len(crop['offsets'])} and {len(crop['confidence'])}")
