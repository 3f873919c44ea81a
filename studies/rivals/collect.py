"""Keep the numbers of the rivals' comparisons, and write the tables of docs/results/rivals.md.

    python -m studies.rivals.collect RUNS

Without RUNS the tables are made again from results.json.
"""

import json
import sys
from pathlib import Path
from typing import Any

from studies.collect import (
    IMAGES,
    PAGES,
    as_table,
    comparison_table,
    plot_differences,
    put_between_markers,
    slim_comparison,
    write_tables,
)

PAGE, KEPT = PAGES / "rivals.md", Path(__file__).with_name("results.json")
FAMILY = "cifar10-resnet8-s2-"
KEYS = ("error", "nll", "ece_15", "occlusion/0.4", "occlusion/0.6")
FOLDERS = {
    "against_hard": "comparison",
    "against_trivialaugment": "comparison-policy",
    "against_naive": "comparison-curves",
}
ON_PAGE = ("against_hard", "against_trivialaugment")


def tuning_table(rows: list[dict[str, Any]]) -> str:
    """Return what was tried on held-out images."""
    lines = [["setting of an arm", "value", "error, %", "NLL", "ECE (10 bins), %"]]
    for row in rows:
        numbers = f"{100 * row['error']:.2f}", f"{row['nll']:.3f}", f"{100 * row['ece']:.2f}"
        lines.append([f"{row['arm']}: `{row['setting']}`", f"{row['value']:g}", *numbers])
    return as_table(lines)


def collect(runs: Path) -> dict[str, Any]:
    """Return the content of results.json."""

    def read(name: str) -> Any:
        return json.loads((runs / name).read_text())

    compared = {
        key: slim_comparison(read(f"{folder}/comparison.json")) for key, folder in FOLDERS.items()
    }
    return {"tuning": read("tuning.json"), **compared}


def main() -> None:
    """Collect, then write tables and chart."""
    if sys.argv[1:]:
        KEPT.write_text(json.dumps(collect(Path(sys.argv[1])), indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    tried = {"Strengths tried on held-out images, seed 0": tuning_table(kept["tuning"])}
    naive = comparison_table(kept["against_naive"], FAMILY, KEYS, paired=True)
    tables = {**tried, "Fitted against naive curves": naive}
    write_tables(KEPT.with_name("tables.md"), "Rivals: strengths", tables)
    put_between_markers(comparison_table(kept["against_hard"], FAMILY, KEYS), PAGE, "means")
    for key in ON_PAGE:
        table = comparison_table(kept[key], FAMILY, KEYS, paired=True)
        put_between_markers(table, PAGE, key.replace("_", "-"))
    title = "Difference to the hard crop, CIFAR-10, 5,000 images, n = 3"
    shown = ("error", "nll", "ece_15", "occlusion/0.4")
    plot_differences(kept["against_hard"], FAMILY, shown, IMAGES / "rivals.png", title)


if __name__ == "__main__":
    main()
