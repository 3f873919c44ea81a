"""Exhibits written by hand, as a grid collects them, with numbers that can be worked out."""

import importlib.util
import json
import statistics
from pathlib import Path

import pytest

_OTHERS = Path(__file__).parents[1] / "evaluation" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("evaluations_by_hand", _OTHERS)
evaluations = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(evaluations)

ENVIRONMENT = {"softaug": "0.1.0", "commit": None, "cpu": "EPYC", "cores": 2}


def paper(value, se=None):
    return {"value": value, "se": se}


def ours(*values, planned=3):
    se = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
    count = {"n": len(values), "planned": planned}
    return {"values": list(values), "mean": statistics.fmean(values), "se": se, **count}


def cell(theirs=None, mine=None, state=None, *, measure="error", on="", why="", diverged=None):
    if state is None:
        state = "complete" if mine["n"] == mine["planned"] else "partial"
    return {
        "measure": measure,
        "on": on,
        "paper": theirs,
        "ours": mine,
        "diverged": diverged,
        "state": state,
        "why": why,
    }


def row(label, *cells, group="CIFAR-100", baseline=None, quoted=None, recipe="same"):
    named = label.lower().replace(" ", "-") if recipe == "same" else recipe
    named = None if quoted else named
    texts = {"group": group, "label": label, "recipe": named}
    return {**texts, "baseline": baseline, "quoted": quoted, "cells": list(cells)}


def exhibit(name, rows=(), *, scale="paper", complete=True, notes=(), title="Errors", **more):
    head = {"schema": 1, "name": name, "title": title, "scale": scale, "complete": complete}
    return {**head, "notes": list(notes), "environment": ENVIRONMENT, "rows": list(rows), **more}


def make_table():
    """Every state, two groups, two measures, gains, a quoted row."""
    hard = cell(paper(20.8, 0.11), ours(30.0, 31.0, 32.0))
    soft = cell(paper(18.31, 0.17), ours(27.0, 29.0, 28.0))
    smoothing = cell(paper(19.47, 0.18), ours(29.5, 30.0))
    rows = [
        row("Baseline", cell(paper(25.6), state="quoted"), quoted="Zhang et al. (Mixup)"),
        row("Hard crop", hard, cell(paper(4.86, 0.1), ours(6.0, 6.0, 6.0), measure="ece")),
        row("Label smoothing", smoothing, baseline="Hard crop"),
        row(
            "Soft Augmentation",
            soft,
            cell(paper(1.76, 0.15), ours(2.0, 3.0, 4.0), measure="ece"),
            baseline="Hard crop",
        ),
        row("Mixup", cell(paper(19.88, 0.38), state="waiting"), baseline="Hard crop"),
        row("TrivialAugment alone", cell(None, ours(29.0, 30.0, 31.0)), baseline="Hard crop"),
        row(
            "PyramidNet-272",
            cell(paper(15.77, 0.17), state="not at this scale", why="no small counterpart"),
        ),
        row(
            "ResNet-50",
            cell(paper(22.62, 0.0), ours(22.0, 22.5, 23.0)),
            cell(
                paper(34.97, 0.03),
                state="no data",
                on="ImageNet-V2",
                why="put ImageNet-V2 into the data folder",
            ),
            group="ImageNet-1K",
        ),
    ]
    return exhibit("table1", rows, complete=False, notes=["SA#2 diverged above 0.2."])


def make_panels(name="figure5"):
    lines = [
        {
            "label": label,
            "x": [0.0, 20.0, 40.0, 60.0, 80.0],
            "mean": means,
            "se": [0.5, 0.6, 0.7, None, 0.8],
            "n": [3, 3, 3, 1, 3],
            "paper": [None, None, None, None, theirs],
        }
        for label, means, theirs in (
            ("baseline", [77.0, 70.0, 52.0, 25.0, 3.0], 3.42),
            ("RandAugment", [78.0, 72.0, 56.0, 30.0, 6.0], None),
            ("Soft Augmentation", [78.0, 73.0, 62.0, 40.0, 15.0], None),
            ("both", [79.0, 75.0, 65.0, 44.0, None], 18.98),
        )
    ]
    panel = {
        "title": "ResNet-50 on ImageNet",
        "x_label": "hidden share of the image, %",
        "y_label": "accuracy, %",
        "lines": lines,
    }
    rows = [row("baseline", cell(paper(96.58), ours(97.0, planned=3), on="images 80 % hidden"))]
    return exhibit(name, rows, complete=False, title="Occlusion", panels=[panel])


def make_crops():
    steps = [(x, y) for x in (-4, -1, 2) for y in (-3, 0, 4)]
    wide = [(8 * x, 7 * y) for x, y in steps]

    def shares(offsets):
        return [(1 - abs(x) / 32) * (1 - abs(y) / 32) for x, y in offsets]

    crops = [
        {"label": "Hard crop", "size": 32, "offsets": steps, "confidence": [1.0] * 9},
        {"label": "Soft crop", "size": 32, "offsets": wide, "confidence": shares(wide)},
    ]
    crops = json.loads(json.dumps(crops))
    rows = [
        row("Hard crop", cell(paper(20.8, 0.11), ours(30.0, 31.0, 32.0))),
        row("Soft crop", cell(paper(18.31, 0.17), state="waiting"), baseline="Hard crop"),
    ]
    return exhibit("figure1", rows, title="Offsets", complete=False, crops=crops)


def make_study():
    """Two arms that the paper has no numbers for."""
    hard, soft = ours(30.0, 31.0, 32.0), ours(27.0, 29.0, 28.0)
    rows = [row("hard", cell(None, hard)), row("soft", cell(None, soft), baseline="hard")]
    return exhibit("evidence", rows, scale="cpu", title="Soft against hard")


@pytest.fixture
def study():
    return make_study()


@pytest.fixture
def table():
    return make_table()


@pytest.fixture
def panels():
    return make_panels()


@pytest.fixture
def crops():
    return make_crops()


@pytest.fixture
def saved(tmp_path):
    """Write an exhibit as a grid does; its path."""

    def save(content):
        file = tmp_path / f"{content['name']}.json"
        file.write_text(json.dumps(content))
        return file

    return save


@pytest.fixture
def exhibit_of():
    return exhibit


@pytest.fixture
def examples(tmp_path):
    """Figure 6 of two evaluated runs, and the folder that holds them."""
    runs = []
    for name in ("hard", "soft"):
        folder = tmp_path / f"runs/{name}-seed0"
        folder.mkdir(parents=True)
        found = evaluations.make_evaluation(name, 0, 0.1)
        (folder / "evaluation.json").write_text(json.dumps(found))
        runs.append(f"runs/{name}-seed0")
    labels = ["Baseline", "Soft Augmentation"]
    return exhibit("figure6", title="Answers", labels=labels, runs=runs), tmp_path


@pytest.fixture
def other_images():
    """Let an evaluation be about other images."""

    def change(file):
        found = json.loads(file.read_text())
        found["examples"]["whole"][0]["index"] += 1
        file.write_text(json.dumps(found))

    return change
