"""Keep the numbers of the Imagenette comparisons, and write docs/results/imagenette.md's tables.

    python -m studies.imagenette.collect BASELINE/comparison.json WINDOWS/comparison.json

The first has the usual windows for its baseline, the second the soft arm's with hard labels.
Without files the tables are made again from results.json.
"""

import json
import sys
from pathlib import Path

from studies.collect import PAGES, comparison_table, put_between_markers, slim_comparison

PAGE, KEPT = PAGES / "imagenette.md", Path(__file__).with_name("results.json")
FAMILY = "imagenette-resnet8-s2-"
KEYS = ("error", "nll", "ece_15", "occlusion/0.2", "occlusion/0.4", "occlusion/0.6")
NAMES = ("against_baseline", "against_hard_windows")


def main() -> None:
    """Collect, then write the tables."""
    if sys.argv[1:]:
        read = [slim_comparison(json.loads(Path(file).read_text())) for file in sys.argv[1:]]
        KEPT.write_text(json.dumps(dict(zip(NAMES, read, strict=True)), indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    put_between_markers(comparison_table(kept[NAMES[0]], FAMILY, KEYS), PAGE, "means")
    for name in NAMES:
        table = comparison_table(kept[name], FAMILY, KEYS, paired=True)
        put_between_markers(table, PAGE, name.replace("_", "-"))


if __name__ == "__main__":
    main()
