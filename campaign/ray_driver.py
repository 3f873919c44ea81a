"""The driver of a grid on Ray, for `campaign.signals`: does its two runs, and exits."""

import os
import sys
from pathlib import Path

import campaign.__main__  # noqa: F401  (finds the harnesses of the tests)
from campaign.signals import OPTIONS, make_grid
from softaug.lab.reproduce.ray import run_on_ray

if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        outcomes = list(run_on_ray(make_grid(Path(sys.argv[1])), OPTIONS, at_once=2))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(any(outcome.error or outcome.stopped for outcome in outcomes))
