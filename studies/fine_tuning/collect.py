"""Keep the numbers of finished runs; write tables and chart of docs/results/finetuning.md.

    python -m studies.fine_tuning.collect softaug-reproduce/cpu

Without a folder they are made again from runs/. Every measure of every arm: tables.md.
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from softaug.lab.recipes.fine_tuning import GROUPS, LABELS, MODEL, PRETRAINED
from softaug.lab.recipes.rows import row_name
from studies.collect import (
    ALL_MEASURES,
    ECE,
    ERROR,
    HIDDEN,
    IMAGES,
    NLL,
    PAGES,
    UNCLEAR,
    Measure,
    Values,
    as_table,
    differences,
    draw_difference,
    keep_runs,
    means,
    put_between_markers,
    read_runs,
    write_tables,
)

KEPT = Path(__file__).parent
PAGE = PAGES / "finetuning.md"
TRAIN = Measure("train_error_clean", "training error, %")
SHOWN = (ERROR, NLL, ECE, HIDDEN[1], TRAIN)
COMPARED = (ERROR, NLL, ECE, HIDDEN[1])
PAIRS = {
    "soft crop minus hard crop": ("soft crop", "hard crop"),
    "soft crop minus label smoothing": ("soft crop", "label smoothing"),
    "label smoothing minus hard crop": ("label smoothing", "hard crop"),
}


def name_arms(data: str) -> dict[str, str]:
    """Return the recipe of each arm, by label."""
    return {label: row_name(data, MODEL, arm) for arm, label in LABELS.items()}


def name_pairs(arms: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the recipes of each comparison, by its words."""
    return {words: (arms[first], arms[second]) for words, (first, second) in PAIRS.items()}


def plot_differences(values: Values, groups: dict[str, dict[str, str]]) -> None:
    """Draw each difference with its 95 % interval: a row of panels for each data set."""
    size = (2.1 * len(COMPARED) + 2.4, 1.5 * len(groups) + 0.5)
    shape = len(groups), len(COMPARED)
    look: dict[str, Any] = {"sharey": True, "squeeze": False, "layout": "constrained"}
    figure, panels = plt.subplots(*shape, figsize=size, **look)
    for row, (group, arms) in zip(panels, groups.items(), strict=True):
        for axes, measure in zip(row, COMPARED, strict=True):
            for height, pair in enumerate(name_pairs(arms).values()):
                draw_difference(axes, height, values, pair, measure)
            axes.axvline(0, color=UNCLEAR, linewidth=0.8)
            axes.set_title(measure.title.replace(", ", ",\n", 1), fontsize=8)
            axes.set_yticks(range(len(PAIRS)), list(PAIRS), fontsize=8)
            axes.margins(y=0.3)
        row[0].invert_yaxis()
        row[0].set_ylabel(group.partition(",")[0])
    figure.savefig(IMAGES / "finetuning.png", dpi=150)
    plt.close(figure)


def tuning_table(data: str) -> str:
    """Make a row for each trial on held-out images."""
    rows = [row for row in json.loads((KEPT / "tuning.json").read_text()) if row["data"] == data]
    lines = [["arm", "settings", "n", "error, %", "NLL"]]
    for row in rows:
        words = ", ".join(f"{name.split('.')[-1]} {v}" for name, v in row["changes"].items())
        numbers = [f"{100 * row['error']:.2f}", f"{row['nll']:.3f}"]
        lines.append([row["arm"], words, str(row["n"]), *numbers])
    return as_table(lines)


def main() -> None:
    """Collect, then write tables and chart of the data sets whose runs are there."""
    arms = {data: name_arms(data) for data in GROUPS}
    if sys.argv[1:]:
        names = [PRETRAINED, *(name for each in arms.values() for name in each.values())]
        keep_runs(Path(sys.argv[1]) / "runs", names, KEPT / "runs")
    values = read_runs(KEPT / "runs")
    full, done = {}, {}
    for data, group in GROUPS.items():
        if not set(arms[data].values()) <= values.keys():
            continue
        done[group] = arms[data]
        pairs = name_pairs(arms[data])
        full[group] = means(values, arms[data], (*ALL_MEASURES, TRAIN))
        full[f"{group}: differences"] = differences(values, pairs, ALL_MEASURES)
        full[f"{group}: trials on held-out training images"] = tuning_table(data)
        put_between_markers(means(values, arms[data], SHOWN), PAGE, data)
        put_between_markers(differences(values, pairs, COMPARED), PAGE, f"{data}-differences")
    write_tables(KEPT / "tables.md", "Fine-tuning: all measures", full)
    plot_differences(values, done)


if __name__ == "__main__":
    main()
