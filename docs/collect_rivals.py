"""Keep the numbers of comparisons as one small JSON, and put their tables into docs/rivals.md.

    python docs/collect_rivals.py RUNS

Without RUNS the tables are made again from docs/results/rivals.json.
"""

import json
import sys
from pathlib import Path
from typing import Any

from collect_runs import put_between_markers

PAGE = Path(__file__).parent / "rivals.md"
KEPT = Path(__file__).parent / "results" / "rivals.json"
FAMILY = "cifar10-resnet8-s2-"
SHOWN = ("error", "nll", "ece_15", "occlusion/0.2", "occlusion/0.4", "occlusion/0.6")


def slim(comparison: dict[str, Any]) -> dict[str, Any]:
    """What the tables need: no curves, no pictures."""
    arms = [
        {key: arm[key] for key in ("name", "seeds", "values", "estimates")}
        | {"recipe": arm["evaluations"][0]["recipe"]}
        for arm in comparison["arms"]
    ]
    pairs = [
        {key: pair[key] for key in ("arm", "against", "seeds", "by_seed", "verdicts")}
        for pair in comparison["pairs"]
    ]
    kept = {key: comparison[key] for key in ("measures", "environment")}
    return {**kept, "arms": arms, "pairs": pairs}


def table(
    comparison: dict[str, Any],
    differences: bool,
    family: str = FAMILY,
    keys: tuple[str, ...] = SHOWN,
) -> str:
    """A row for each arm: means, or differences to the first arm with their verdicts."""
    measures = {measure["key"]: measure for measure in comparison["measures"]}
    shown = [measures[key] for key in keys]
    heads = ["arm", "n", *(measure["label"] for measure in shown)]
    rows = comparison["pairs"] if differences else comparison["arms"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for row in rows:
        cells = [difference(row, m) if differences else mean(row, m) for m in shown]
        name = row["arm" if differences else "name"].removeprefix(family)
        lines.append([name, str(len(row["seeds"])), *cells])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def mean(arm: dict[str, Any], measure: dict[str, Any]) -> str:
    """Mean ± standard error over seeds."""
    return spread(arm["estimates"][measure["key"]], measure, "")


def difference(pair: dict[str, Any], measure: dict[str, Any]) -> str:
    """Paired difference ± standard error over seeds; bold where the verdict is one."""
    key = measure["key"]
    shown = spread(pair["by_seed"][key], measure, "+")
    said = pair["verdicts"][key]["word"]
    return f"**{shown}** ({said})" if said in ("better", "worse") else shown


def spread(estimate: dict[str, Any], measure: dict[str, Any], sign: str) -> str:
    """A mean and its standard error in the measure's unit."""
    scale, digits = 100 if measure["percent"] else 1, measure["digits"]
    text = f"{scale * estimate['mean']:{sign}.{digits}f}"
    se = estimate["se"]
    return text if se is None else f"{text} ± {scale * se:.{digits}f}"


def tuning_table(rows: list[dict[str, Any]]) -> str:
    """What was tried on held-out images."""
    lines = [["arm", "setting", "value", "error, %", "NLL", "ECE (10 bins), %"]]
    lines += [["---", "---", *["---:"] * 4]]
    for row in rows:
        numbers = f"{100 * row['error']:.2f}", f"{row['nll']:.3f}", f"{100 * row['ece']:.2f}"
        lines.append([row["arm"], f"`{row['setting']}`", f"{row['value']:g}", *numbers])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def collect(runs: Path) -> dict[str, Any]:
    """The content of the JSON."""

    def read(name: str) -> Any:
        return json.loads((runs / name).read_text())

    return {
        "tuning": read("tuning.json"),
        "against_hard": slim(read("comparison/comparison.json")),
        "against_trivialaugment": slim(read("comparison-policy/comparison.json")),
        "against_naive": slim(read("comparison-curves/comparison.json")),
    }


def main() -> None:
    """Collect, then write the tables."""
    if sys.argv[1:]:
        KEPT.write_text(json.dumps(collect(Path(sys.argv[1])), indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    hard, trivial = kept["against_hard"], kept["against_trivialaugment"]
    put_between_markers(tuning_table(kept["tuning"]), PAGE, "tuning")
    put_between_markers(table(hard, differences=False), PAGE, "means")
    put_between_markers(table(hard, differences=True), PAGE, "against-hard")
    put_between_markers(table(trivial, differences=True), PAGE, "against-trivialaugment")
    put_between_markers(table(kept["against_naive"], differences=True), PAGE, "against-naive")


if __name__ == "__main__":
    main()
