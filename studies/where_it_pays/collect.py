"""Keep the numbers of finished runs; write tables and charts of docs/results/where-it-pays.md.

    python -m studies.where_it_pays.collect softaug-reproduce/cpu

Without a folder they are made again from runs/. Every measure of every arm: tables.md. The page,
its charts and the README take what has at least three seeds.
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from softaug.lab.evaluation.stats import (
    estimate,
    paired_difference,
    verdict,
)
from softaug.lab.recipes.paper_tables import find_tables
from studies.collect import (
    ALL_MEASURES,
    BETTER,
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
    by_seed,
    differences,
    draw_difference,
    estimate_over_seeds,
    format_spread,
    keep_runs,
    means,
    put_between_markers,
    read_runs,
    write_tables,
)

KEPT = Path(__file__).parent
PAGE, README = PAGES / "where-it-pays.md", KEPT.parents[1] / "README.md"
CORRUPTED = Measure("common/mean", "corrupted", 100, 1, True)
TRAIN = Measure("train_error_clean", "training error, %")
LEAST_SEEDS = 3
SHOWN = (ERROR, NLL, ECE, HIDDEN[0], HIDDEN[1], CORRUPTED)
AUROC = (
    Measure("ood/cifar100-probability", "AUROC of CIFAR-100, %", 100, 1, True),
    Measure("ood/fashion-mnist-probability", "AUROC of Fashion-MNIST, %", 100, 1, True),
)


def study_arms(study: str) -> dict[str, dict[str, str]]:
    """Return label and recipe of each arm, by group; the first arm of each is the baseline."""
    (table,) = find_tables([study])
    groups: dict[str, dict[str, str]] = {}
    for row in table.rows:
        assert row.recipe is not None, "studies quote nobody"
        groups.setdefault(row.group, {})[row.label] = row.recipe
    return groups


def finished(values: Values, arms: dict[str, str]) -> dict[str, str]:
    """Return those arms that have runs."""
    return {label: name for label, name in arms.items() if name in values}


def with_seeds(values: Values, arms: dict[str, str]) -> dict[str, str]:
    """Return those arms that have runs of at least three seeds."""
    return {label: name for label, name in arms.items() if len(values[name]) >= LEAST_SEEDS}


def measured(values: Values, names: dict[str, str], among: tuple[Measure, ...]) -> list[Measure]:
    """Return those measures that every run of these arms has."""
    runs = [run for name in names.values() for run in values[name].values()]
    return [measure for measure in among if all(measure.key in run for run in runs)]


def make_headline(values: Values, arms: dict[str, str]) -> str:
    """Make the README's table: three arms, and the verdict on the soft crop against the hard."""
    chosen = {label: arms[label] for label in ("hard crop", "label smoothing", "soft crop")}
    lines = [["", *chosen, "soft against hard"]]
    for measure in measured(values, chosen, SHOWN):
        found = [estimate_over_seeds(values, name, measure) for name in chosen.values()]
        hard, _, soft = (by_seed(values, name, measure.key) for name in chosen.values())
        difference = paired_difference(soft, hard)
        word = verdict(difference, higher_is_better=measure.higher_is_better).word
        lines.append([measure.title, *(format_spread(one, measure) for one in found), word])
    return as_table(lines)


def plot_differences(values: Values, pairs: dict[str, tuple[str, str]]) -> None:
    """Draw each difference with its 95 % interval, in a panel for each measure."""
    every = {name: name for pair in pairs.values() for name in pair}
    shown = measured(values, every, SHOWN)
    size = (2.0 * len(shown) + 1.8, 0.5 * len(pairs) + 1.3)
    figure, panels = plt.subplots(1, len(shown), figsize=size, sharey=True, layout="constrained")
    for axes, measure in zip(panels, shown, strict=True):
        for height, pair in enumerate(pairs.values()):
            draw_difference(axes, height, values, pair, measure)
        axes.axvline(0, color=UNCLEAR, linewidth=0.8)
        axes.set_title(measure.title.replace(", ", ",\n", 1), fontsize=9)
        axes.set_yticks(range(len(pairs)), list(pairs))
        axes.margins(y=0.3)
        axes.invert_yaxis()
    figure.suptitle("Differences with 95 % intervals; green: shown better, red: worse", fontsize=10)
    figure.savefig(IMAGES / "where-it-pays-differences.png", dpi=150)
    plt.close(figure)


def read_curves(folder: Path) -> dict[str, dict[int, dict[int, dict[str, float]]]]:
    """Read what was measured while runs went on: by recipe, seed and epoch."""
    curves: dict[str, dict[int, dict[int, dict[str, float]]]] = {}
    for file in sorted(folder.glob("*.json")):
        run = json.loads(file.read_text())
        rows = {row["epoch"]: row for row in run["curve"]}
        curves.setdefault(run["recipe"]["name"], {})[run["seed"]] = rows
    return curves


def plot_crossover(curves: dict[str, Any], pairs: dict[str, tuple[str, str]]) -> None:
    """Draw soft minus hard error over samples seen, and over the hard arm's training error."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for label, (soft, hard) in pairs.items():
        seeds = sorted(curves[soft].keys() & curves[hard].keys())
        epochs = sorted(set.intersection(*(set(curves[a][s]) for a in (soft, hard) for s in seeds)))
        gaps, known = [], []
        for epoch in epochs:
            points = [(curves[soft][s][epoch], curves[hard][s][epoch]) for s in seeds]
            gaps.append(estimate([100 * (a["test_error"] - b["test_error"]) for a, b in points]))
            known.append(sum(100 * b["train_error_clean"] for _, b in points) / len(points))
        middles = [one.mean for one in gaps]
        bars = [one.se or 0 for one in gaps]
        look: dict[str, Any] = {"label": label, "marker": ".", "capsize": 2}
        num_images = 5000 if "-5000x" in hard else 50_000
        samples = [num_images * epoch / 1e6 for epoch in epochs]
        panels[0].errorbar(samples, middles, bars, **look)
        panels[1].errorbar(known, middles, bars, **look)
    panels[0].set(xscale="log", xlabel="samples seen, millions")
    panels[0].set_ylabel("soft minus hard error, points")
    panels[1].set(xscale="symlog", xlabel="error of the hard arm on its training images, %")
    panels[1].invert_xaxis()
    for axes in panels:
        axes.axhline(0, color=UNCLEAR, linewidth=0.8)
    panels[0].legend(frameon=False, fontsize="small")
    figure.savefig(IMAGES / "where-it-pays-crossover.png", dpi=150)
    plt.close(figure)


def plot_trade_off(values: Values, arms: dict[str, str]) -> None:
    """Draw error against accuracy with 40 % hidden; the front is where none is better in both."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    points = {
        label: tuple(
            measure.scale * estimate_over_seeds(values, name, measure).mean
            for measure in (ERROR, HIDDEN[1])
        )
        for label, name in arms.items()
    }
    for label, (x, y) in points.items():
        axes.plot(x, y, "o", color=UNCLEAR if label == "hard crop" else BETTER)
        axes.annotate(label, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=8)
    front = sorted(
        (x, y)
        for x, y in points.values()
        if not any(a <= x and b >= y and (a, b) != (x, y) for a, b in points.values())
    )
    axes.step(*zip(*front, strict=True), where="post", color=UNCLEAR, linewidth=0.8)
    axes.set(xlabel="error, %", ylabel="accuracy, 40 % hidden, %")
    axes.margins(x=0.25)
    figure.savefig(IMAGES / "where-it-pays-laws.png", dpi=150)
    plt.close(figure)


def collect_held_out(values: Values, study: str, start: str) -> dict[str, str]:
    """Make the tables of a study of held-out images, against the hard crop and the arm `start`."""
    tables = {}
    for group, arms in study_arms(study).items():
        done = finished(values, arms)
        if not {"hard crop", start} <= done.keys():
            continue
        pairs = {
            f"{label} minus {base}": (name, done[base])
            for base in ("hard crop", start)
            for label, name in done.items()
            if label not in ("hard crop", base)
        }
        shown = measured(values, done, SHOWN)
        tables[group] = means(values, done, shown)
        tables[f"{group}: differences"] = differences(values, pairs, shown)
        if with_seeds(values, done) != done:
            continue
        put_between_markers(tables[group], PAGE, study)
        if study == "sigma-laws":
            plot_trade_off(values, done)
    return tables


def collect_tested(values: Values, study: str) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Make tables and charts of a study of test images; return soft and hard arm by group too."""
    tables: dict[str, str] = {}
    crossover: dict[str, tuple[str, str]] = {}
    for group, arms in study_arms(study).items():
        done = finished(values, arms)
        if not {"hard crop", "soft crop"} <= done.keys():
            continue
        hard, soft = done["hard crop"], done["soft crop"]
        pairs = {f"{label} minus hard crop": (name, hard) for label, name in done.items()}
        del pairs["hard crop minus hard crop"]
        if "label smoothing" in done:
            pairs["soft crop minus label smoothing"] = (soft, done["label smoothing"])
        shown = measured(values, done, (*SHOWN, TRAIN))
        every = measured(values, done, (*ALL_MEASURES, *SHOWN[5:], *AUROC, TRAIN))
        tables[group] = means(values, done, every)
        tables[f"{group}: differences"] = differences(values, pairs, every)
        done = with_seeds(values, done)
        if not {"hard crop", "soft crop"} <= done.keys():
            continue
        crossover[group] = (soft, hard)
        if study == "where-it-pays" and hard.startswith("cifar10-"):
            pairs = {words: pair for words, pair in pairs.items() if {*pair} <= {*done.values()}}
            put_between_markers(means(values, done, shown), PAGE, "arms")
            put_between_markers(differences(values, pairs, shown), PAGE, "differences")
            if "label smoothing" in done:
                put_between_markers(make_headline(values, done), README, "headline")
            plot_differences(values, pairs)
    return tables, crossover


def main() -> None:
    """Collect, then write tables and charts."""
    studies = ("where-it-pays", "fast-cifar", "tail", "sigma-laws")
    if sys.argv[1:]:
        arms = [arms for study in studies for arms in study_arms(study).values()]
        names = [name for each in arms for name in each.values()]
        keep_runs(Path(sys.argv[1]) / "runs", names, KEPT / "runs")
    values = read_runs(KEPT / "runs")
    tables: dict[str, str] = {}
    crossover: dict[str, tuple[str, str]] = {}
    for study in studies[:2]:
        of_study, pairs = collect_tested(values, study)
        tables |= of_study
        crossover |= pairs
    tables |= collect_held_out(values, "tail", "Crops of sigma 0.2, k 1, to the end")
    tables |= collect_held_out(values, "sigma-laws", "Sigma 0.3 for every image")
    write_tables(KEPT / "tables.md", "Where it pays: all measures", tables)
    if crossover:
        plot_crossover(read_curves(KEPT / "runs"), crossover)


if __name__ == "__main__":
    main()
