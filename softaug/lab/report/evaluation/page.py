"""One self-contained HTML page from an evaluation or a comparison, and its figures as files."""

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

from markupsafe import Markup

from softaug.lab.report import palette
from softaug.lab.report.evaluation.calibration import (
    histogram_pictures,
    reliability_pictures,
    second_reliability_pictures,
)
from softaug.lab.report.evaluation.calibration_tables import calibration_tables, temperature_table
from softaug.lab.report.evaluation.cautions import cautions
from softaug.lab.report.evaluation.class_table import class_table
from softaug.lab.report.evaluation.classes import change_picture, confusion_pictures
from softaug.lab.report.evaluation.curves import ordeal_pictures, training_pictures
from softaug.lab.report.evaluation.drawing import Picture
from softaug.lab.report.evaluation.examples import (
    example_pictures,
    occluded_cards,
    shown_evaluations,
    whole_cards,
)
from softaug.lab.report.evaluation.headline import findings
from softaug.lab.report.evaluation.reading import find_file, read_comparison
from softaug.lab.report.evaluation.settings import (
    commands,
    environment_rows,
    flat,
    member_table,
    recipe_tables,
    recipes,
)
from softaug.lab.report.evaluation.shapes import Comparison
from softaug.lab.report.evaluation.tables import main_table, pair_table, run_table, split_images
from softaug.lab.report.page import environment

REPORT, FIGURES = "report.html", "figures"


def write_evaluation_report(path: Path) -> Path:
    """Write report.html and figures/NAME.svg, NAME.png beside a result file; return the page.

    `path` is a comparison.json or an evaluation.json, or a folder that holds one.
    """
    file = find_file(path)
    comparison = read_comparison(file)
    pictures = draw_all(comparison)
    page = render(comparison, pictures, file.name)
    for picture in (one for group in pictures.values() for one in group):
        for kind, content in picture.files().items():
            _write(content, file.parent / FIGURES / f"{picture.name}.{kind}")
    return _write(page.encode(errors="replace"), file.parent / REPORT)


def _write(content: bytes, path: Path) -> Path:
    """Write beside `path`, then rename: who reads it finds a whole file."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(content)
    return part.replace(path)


def draw_all(comparison: Comparison) -> dict[str, list[Picture]]:
    """Every figure, by the section of the page it stands in."""
    arms = comparison["arms"]
    pairs = enumerate(comparison["pairs"])
    return {
        "reliability": reliability_pictures(arms),
        "second": second_reliability_pictures(arms),
        "histograms": histogram_pictures(arms),
        "robustness": ordeal_pictures(arms),
        "changes": [change_picture(pair, comparison, index) for index, pair in pairs],
        "confusion": confusion_pictures(arms),
        "training": training_pictures(arms),
        "examples": example_pictures(whole_cards(arms), occluded_cards(arms)),
    }


def render(comparison: Comparison, pictures: dict[str, list[Picture]], file: str) -> str:
    """The page as text; `file` is the name of the result file."""
    templates = environment()
    script = templates.get_template("evaluation.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return templates.get_template("evaluation.html").render(
        **_content(comparison),
        pictures=pictures,
        file=file,
        colours=(*palette.PAGE, *palette.SERIES),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )


def _content(comparison: Comparison) -> dict[str, Any]:
    arms, pairs = comparison["arms"], comparison["pairs"]
    unlike, alike = recipe_tables(arms)
    return {
        "arms": arms,
        "title": _title(comparison),
        "lead": _lead(comparison),
        "findings": findings(comparison),
        "cautions": cautions(comparison),
        "main": main_table(comparison),
        "pairs": [pair_table(p, comparison["measures"], index) for index, p in enumerate(pairs)],
        "pair_names": [f"{pair['arm']} against {pair['against']}" for pair in pairs],
        "split": arms[0]["evaluations"][0]["split"],
        "calibration": calibration_tables(comparison),
        "classes": class_table(arms),
        "temperature": temperature_table(comparison),
        "every_run": run_table(comparison),
        "whole": whole_cards(arms),
        "occluded": occluded_cards(arms),
        "shown_seeds": {name: seed for name, (seed, _) in shown_evaluations(arms).items()},
        "unlike": unlike,
        "alike": alike,
        "members": member_table(arms),
        "recipes": recipes(arms),
        "environment": environment_rows(comparison),
        "softaug": str(comparison["environment"].get("softaug", "")),
        "commands": commands(comparison),
    }


def _title(comparison: Comparison) -> str:
    names = [arm["name"] for arm in comparison["arms"]]
    if len(names) == 2 and comparison["pairs"]:
        return f"{names[1]} against {names[0]}"
    return f"Evaluation of {names[0]}" if len(names) == 1 else f"{len(names)} arms compared"


def _lead(comparison: Comparison) -> str:
    """What was measured: networks, data, seeds."""
    arms = comparison["arms"]
    recipes = [dict(flat(e["recipe"])) for arm in arms for e in arm["evaluations"]]
    models, data = (
        " and ".join(dict.fromkeys(recipe.get(key, "not known") for recipe in recipes))
        for key in ("model", "data.name")
    )
    first = arms[0]["evaluations"][0]
    seeds = "; ".join(f"{arm['name']}: {', '.join(map(str, arm['seeds']))}" for arm in arms)
    return (
        f"{models} on {data}, {len(first['class_names'])} classes, "
        f"{split_images(first)}. Seeds of {seeds}."
    )
