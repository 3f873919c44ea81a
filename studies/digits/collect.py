"""Write table and chart of docs/results/digits.md from results.json.

python -m studies.digits.collect
"""

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from softaug.lab.evaluation.stats import Estimate, estimate
from studies.collect import IMAGES, PAGES, Measure, as_table, format_spread, put_between_markers

PAGE, KEPT = PAGES / "digits.md", Path(__file__).with_name("results.json")
ERROR = Measure("error", "error, %", digits=1)
EPOCHS = (20, 60, 200)
ARMS = {
    "hard crop of 1 px": ("uniform", 1, "none"),
    "sigma 0.05, hard labels": ("normal", 0.05, "none"),
    "sigma 0.05, soft": ("normal", 0.05, "both"),
    "sigma 0.1, soft": ("normal", 0.1, "both"),
    "sigma 0.3, hard labels": ("normal", 0.3, "none"),
    "sigma 0.3, soft": ("normal", 0.3, "both"),
}
Errors = dict[str, dict[int, Estimate]]


def read_errors(cells: list[dict[str, Any]]) -> Errors:
    """Return the error of each arm by epochs."""
    by_key = {(c["crop"], c["strength"], c["soften"], c["epochs"]): c for c in cells}
    return {
        name: {epochs: estimate(by_key[(*key, epochs)]["error"]) for epochs in EPOCHS}
        for name, key in ARMS.items()
    }


def plot(errors: Errors) -> None:
    """Draw error over epochs, a line for each arm."""
    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for name, found in errors.items():
        middles = [100 * one.mean for one in found.values()]
        bars = [100 * (one.se or 0) for one in found.values()]
        axes.errorbar(list(found), middles, bars, label=name, marker="o", capsize=2)
    axes.set(xscale="log", yscale="log", xlabel="epochs", ylabel="validation error, %")
    axes.set_xticks(EPOCHS, [str(epochs) for epochs in EPOCHS])
    axes.set_yticks((5, 10, 20, 40), ("5", "10", "20", "40"))
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(IMAGES / "digits.png", dpi=150)


def main() -> None:
    """Write table and chart."""
    errors = read_errors(json.loads(KEPT.read_text())["main"]["cells"])
    lines = [["arm", *(f"error, %: {epochs} epochs" for epochs in EPOCHS)]]
    for name, found in errors.items():
        lines.append([name, *(format_spread(one, ERROR) for one in found.values())])
    put_between_markers(as_table(lines), PAGE, "errors")
    plot(errors)


if __name__ == "__main__":
    main()
