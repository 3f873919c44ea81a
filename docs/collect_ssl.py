"""Keep the numbers of comparisons without labels, and put their tables into docs/ssl.md.

    python docs/collect_ssl.py CIFAR10/comparison.json CIFAR100/comparison.json

Without files the tables are made again from docs/results/ssl.json.
"""

import json
import sys
from pathlib import Path

from collect_rivals import slim, table
from collect_runs import put_between_markers

PAGE = Path(__file__).parent / "ssl.md"
KEPT = Path(__file__).parent / "results" / "ssl.json"
DATA = ("cifar10", "cifar100")
SHOWN = ("error", "knn_error", "nll", "ece_15", "occlusion/0.4")


def main() -> None:
    """Collect, then write the tables."""
    if sys.argv[1:]:
        found = [slim(json.loads(Path(file).read_text())) for file in sys.argv[1:]]
        KEPT.write_text(json.dumps(dict(zip(DATA, found, strict=True)), indent=1) + "\n")
    for data, comparison in json.loads(KEPT.read_text()).items():
        family = f"{data}-simsiam-resnet8-s2-"
        put_between_markers(table(comparison, False, family, SHOWN), PAGE, f"{data}-means")
        put_between_markers(table(comparison, True, family, SHOWN), PAGE, f"{data}-differences")


if __name__ == "__main__":
    main()
