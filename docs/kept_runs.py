"""Numbers of evaluated runs as small JSON files, and their tables: shared by docs/collect_*.py."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from softaug.lab.evaluation.stats import (
    Estimate,
    can_be_judged,
    estimate,
    paired_difference,
    seed_interval,
    verdict,
)


class Measure(NamedTuple):
    """How a number is shown."""

    key: str
    head: str
    scale: float = 100
    digits: int = 2
    higher_is_better: bool = False

    @property
    def title(self) -> str:
        """For charts, in full: all that should be high are accuracies, which tables leave out."""
        return f"accuracy, {self.head}, %" if self.higher_is_better else self.head


ERROR, NLL = Measure("error", "error, %"), Measure("nll", "NLL", 1, 3)
ECE, SCALED = Measure("ece_15", "ECE, %"), Measure("ece_15_scaled", "ECE, scaled, %")
HIDDEN = [
    Measure(f"occlusion/{share / 100:g}", f"{share} % hidden", 100, 1, True)
    for share in (20, 40, 60, 80)
]
SHOWN = (ERROR, NLL, ECE, SCALED, *HIDDEN)
Values = dict[str, dict[int, dict[str, float]]]  # recipe, seed, measure


def keep(runs: Path, names: Iterable[str], into: Path) -> None:
    """Write what matters of each finished run of these recipes: recipe, numbers, environment."""
    into.mkdir(parents=True, exist_ok=True)
    for folder in [folder for name in names for folder in runs.glob(f"{name}-seed*")]:
        if (folder / "evaluation.json").exists():
            kept = slim(json.loads((folder / "evaluation.json").read_text()))
            _write_once(kept, into / f"{folder.name}.json")


def _write_once(kept: dict[str, Any], path: Path) -> None:
    """Leave the numbers of other weights of the same recipe and seed, and say so."""
    there = json.loads(path.read_text()) if path.exists() else kept
    if there["weights_sha256"] != kept["weights_sha256"]:
        print(f"{path} has another network's numbers and stays; remove it to have these")
        return
    path.write_text(json.dumps(kept, indent=1) + "\n")


def slim(evaluation: dict[str, Any]) -> dict[str, Any]:
    """An evaluation without pictures, classes and folders."""
    (member,) = evaluation["members"]
    return {
        "recipe": evaluation["recipe"],
        "seed": member["seed"],
        "weights_sha256": member["weights_sha256"],
        "split": evaluation["split"],
        "measures": {one["key"]: one["value"] for one in evaluation["measures"]},
        "environment": evaluation["environment"],
    }


def read(*kept: Path) -> Values:
    """All runs that are kept in these folders."""
    found: Values = {}
    for file in sorted(file for folder in kept for file in folder.glob("*.json")):
        run = json.loads(file.read_text())
        found.setdefault(run["recipe"]["name"], {})[run["seed"]] = run["measures"]
    return found


def by_seed(values: Values, name: str, key: str) -> dict[int, float]:
    """A measure of a recipe."""
    return {seed: measures[key] for seed, measures in values[name].items()}


def as_table(lines: Sequence[Sequence[str]]) -> str:
    """Markdown; the first column is text."""
    ruled = [lines[0], ["---", *["---:"] * (len(lines[0]) - 1)], *lines[1:]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)


def means(values: Values, arms: dict[str, str]) -> str:
    """A row for each arm, by what it is called: mean ± standard error."""
    lines = [["arm", "n", *(measure.head for measure in SHOWN)]]
    for arm, name in arms.items():
        found = [estimate(list(by_seed(values, name, m.key).values())) for m in SHOWN]
        cells = [spread(one, m) for one, m in zip(found, SHOWN, strict=True)]
        lines.append([arm, str(found[0].n), *cells])
    return as_table(lines)


def spread(found: Estimate, measure: Measure) -> str:
    """A mean and its standard error in the measure's unit."""
    shown = f"{measure.scale * found.mean:.{measure.digits}f}"
    return shown if found.se is None else f"{shown} ± {measure.scale * found.se:.{measure.digits}f}"


def differences(values: Values, pairs: dict[str, tuple[str, str]], shown: Sequence[Measure]) -> str:
    """A row for each pair: first minus second, its 95 % interval, bold where it excludes 0."""
    lines = [["comparison", "n", *(measure.head for measure in shown)]]
    for words, (first, second) in pairs.items():
        found = [
            paired_difference(by_seed(values, first, m.key), by_seed(values, second, m.key))
            for m in shown
        ]
        cells = [judged(one, m) for one, m in zip(found, shown, strict=True)]
        lines.append([words, str(found[0].n), *cells])
    return as_table(lines)


def judged(found: Estimate, measure: Measure) -> str:
    """A difference with its interval; bold, and a word, where there is a verdict."""
    mean = f"{measure.scale * found.mean:+.{measure.digits}f}"
    if not can_be_judged(found):
        return mean
    ends = seed_interval(found)
    low, high = (f"{measure.scale * end:+.{measure.digits}f}" for end in (ends.low, ends.high))
    word = verdict(found, higher_is_better=measure.higher_is_better).word
    told = f"{mean} [{low}, {high}]"
    return f"**{told}** {word}" if word in ("better", "worse") else told


def draw_over_epochs(
    axes: Any, values: Values, measure: Measure, arms: dict[str, dict[int, str]]
) -> None:
    """A line with standard errors for each arm, of which `arms` has the recipe by epochs."""
    every = sorted({epochs for names in arms.values() for epochs in names})
    for arm, names in arms.items():
        there = {epochs: name for epochs, name in names.items() if name in values}
        found = [estimate(list(by_seed(values, n, measure.key).values())) for n in there.values()]
        middles = [measure.scale * one.mean for one in found]
        bars = [measure.scale * (one.se or 0) for one in found]
        axes.errorbar(list(there), middles, bars, label=arm, marker="o", capsize=2)
    axes.set(xscale="log", xlabel="epochs", title=measure.title)
    axes.set_xticks(every, [str(epochs) for epochs in every])
    axes.minorticks_off()
