"""Keep the results of runs as one small JSON, and put their table into docs/training.md.

    python docs/collect_runs.py docs/results/cifar100-small.json runs/*

Without run folders the table is made again from the JSON.
"""

import json
import math
import re
import statistics
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "training.md"
MEASURES = {"error": ("error %", 100, 1), "nll": ("NLL", 1, 3), "ece": ("ECE %", 100, 1)}


def collect(folders: list[Path]) -> list[dict[str, Any]]:
    """The result of every finished run."""
    results = [json.loads((folder / "result.json").read_text()) for folder in folders]
    return sorted(results, key=lambda result: (result["recipe"]["name"], result["seed"]))


def table(results: list[dict[str, Any]]) -> str:
    """A row for each recipe, best error first: mean ± standard error over its seeds."""
    arms: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        arms.setdefault(result["recipe"]["name"], []).append(result)
    heads = ["recipe", "n", *(head for head, _, _ in MEASURES.values()), "training error %"]
    rows = sorted(arms.items(), key=lambda arm: mean(arm[1], "error"))
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    lines += [_row(name, runs) for name, runs in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    cells = [spread(runs, name, scale, digits) for name, (_, scale, digits) in MEASURES.items()]
    return [f"`{name}`", str(len(runs)), *cells, spread(runs, "train_error", 100, 1)]


def mean(runs: list[dict[str, Any]], name: str) -> float:
    """Over the runs of an arm."""
    return statistics.mean(run[name] for run in runs)


def spread(runs: list[dict[str, Any]], name: str, scale: float, digits: int) -> str:
    """Mean ± standard error; the mean alone for one run."""
    shown = f"{scale * mean(runs, name):.{digits}f}"
    if len(runs) < 2:
        return shown
    error = statistics.stdev(run[name] for run in runs) / math.sqrt(len(runs))
    return f"{shown} ± {scale * error:.{digits}f}"


def put_between_markers(text: str, page: Path, name: str) -> None:
    """Replace what stands between the page's two comments called `name`."""
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    pattern = re.compile(f"{re.escape(first)}.*?{re.escape(last)}", re.DOTALL)
    new, found = pattern.subn(lambda _: f"{first}\n{text}\n{last}", page.read_text(), count=1)
    if not found:
        raise ValueError(f"{page} must hold the comments {first} and {last}")
    page.write_text(new)


def main() -> None:
    """Collect, then write the table."""
    kept, folders = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    if folders:
        kept.write_text(json.dumps(collect(folders), indent=1) + "\n")
    put_between_markers(table(json.loads(kept.read_text())), PAGE, kept.stem)


if __name__ == "__main__":
    main()
