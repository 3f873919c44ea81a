"""Keep the numbers of the SimSiam comparisons, and write the tables of docs/results/ssl.md.

    python -m studies.ssl.collect CIFAR10/comparison.json CIFAR100/comparison.json

Without files the tables are made again from results.json.
"""

import json
import sys
from pathlib import Path

from studies.collect import (
    IMAGES,
    PAGES,
    comparison_table,
    plot_differences,
    put_between_markers,
    slim_comparison,
)

PAGE, KEPT = PAGES / "ssl.md", Path(__file__).with_name("results.json")
DATA = ("cifar10", "cifar100")
KEYS = ("error", "knn_error", "nll", "ece_15", "occlusion/0.4")


def main() -> None:
    """Collect, then write tables and chart."""
    if sys.argv[1:]:
        read = [slim_comparison(json.loads(Path(file).read_text())) for file in sys.argv[1:]]
        KEPT.write_text(json.dumps(dict(zip(DATA, read, strict=True)), indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    for data, comparison in kept.items():
        for name, paired in (("means", False), ("differences", True)):
            table = comparison_table(comparison, _family(data), KEYS, paired)
            put_between_markers(table, PAGE, f"{data}-{name}")
    title = "Difference to SimSiam, CIFAR-10, 10,000 images, n = 3"
    plot_differences(kept["cifar10"], _family("cifar10"), KEYS, IMAGES / "ssl.png", title)


def _family(data: str) -> str:
    return f"{data}-simsiam-resnet8-s2-"


if __name__ == "__main__":
    main()
