"""`python -m benchmarks`: softaug and its peers side by side."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from benchmarks.run import run_bench


def bench(
    suites: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    rounds: int = 25,
    out: Path | None = None,
    markdown: Path | None = None,
) -> None:
    """Measure speed and memory beside other libraries: one thread, ratios in one run.

    Args:
        suites: Which to run (crop, scaling, loss, memory, noise-erase, policy, input,
            two-views, pairs, training, evaluation); none means all.
        rounds: How often each variant is timed; all variants take turns in each round.
        out: File for the numbers, as JSON.
        markdown: Page whose tables are replaced, such as docs/performance.md.
    """
    run_bench(suites, rounds, out, markdown, Console())


if __name__ == "__main__":
    tyro.cli(bench, prog="python -m benchmarks")
