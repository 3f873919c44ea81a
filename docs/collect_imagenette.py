"""Keep the numbers of the Imagenette comparisons, and put their tables into docs/imagenet.md.

    python docs/collect_imagenette.py BASELINE/comparison.json WINDOWS/comparison.json

The first has the usual windows for its baseline, the second the soft row's with hard labels.
Without files the tables are made again from docs/results/imagenette.json.
"""

import json
import sys
from pathlib import Path

from collect_rivals import slim, table
from collect_runs import put_between_markers

PAGE = Path(__file__).parent / "imagenet.md"
KEPT = Path(__file__).parent / "results" / "imagenette.json"
FAMILY = "imagenette-resnet8-s2-"


def main() -> None:
    """Collect, then write the tables."""
    if sys.argv[1:]:
        found = [slim(json.loads(Path(file).read_text())) for file in sys.argv[1:]]
        named = dict(zip(("against_baseline", "against_hard_windows"), found, strict=True))
        KEPT.write_text(json.dumps(named, indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    usual, same = kept["against_baseline"], kept["against_hard_windows"]
    put_between_markers(table(usual, False, FAMILY), PAGE, "means")
    put_between_markers(table(usual, True, FAMILY), PAGE, "against-baseline")
    put_between_markers(table(same, True, FAMILY), PAGE, "against-hard-windows")


if __name__ == "__main__":
    main()
