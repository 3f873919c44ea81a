"""Keep the numbers of comparisons as one small JSON, and put their tables into docs/rivals.md.

    python docs/collect_rivals.py docs/results/rivals.json RUNS/comparison RUNS/comparison-policy

Without comparisons the tables are made again from the JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

from collect_runs import put_between_markers

PAGE = Path(__file__).parent / "rivals.md"
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


def table(comparison: dict[str, Any], differences: bool) -> str:
    """A row for each arm: means, or differences to the first arm with their verdicts."""
    measures = {measure["key"]: measure for measure in comparison["measures"]}
    shown = [measures[key] for key in SHOWN]
    heads = ["arm", "n", *(measure["label"] for measure in shown)]
    rows = comparison["pairs"] if differences else comparison["arms"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for row in rows:
        cells = [difference(row, m) if differences else mean(row, m) for m in shown]
        name = row["arm" if differences else "name"].removeprefix(FAMILY)
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


def main() -> None:
    """Collect, then write the tables."""
    kept, folders = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    if folders:
        files = [json.loads((folder / "comparison.json").read_text()) for folder in folders]
        kept.write_text(json.dumps([slim(found) for found in files], indent=1) + "\n")
    hard, policy = json.loads(kept.read_text())
    put_between_markers(table(hard, differences=False), PAGE, "means")
    put_between_markers(table(hard, differences=True), PAGE, "against-hard")
    put_between_markers(table(policy, differences=True), PAGE, "against-trivialaugment")


if __name__ == "__main__":
    main()
