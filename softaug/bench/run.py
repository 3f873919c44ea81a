"""Run suites, show them, keep their numbers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from softaug.bench.crop import crop_suite
from softaug.bench.evaluation import evaluation_suite
from softaug.bench.input import input_suite
from softaug.bench.loss import loss_suite
from softaug.bench.memory import memory_suite
from softaug.bench.noise_erase import noise_erase_suite
from softaug.bench.pairs import pairs_suite
from softaug.bench.policy import policy_suite
from softaug.bench.scaling import scaling_suite
from softaug.bench.show import check_markers, print_tables, write_markdown
from softaug.bench.table import Table
from softaug.bench.training import training_suite
from softaug.bench.two_views import two_views_suite
from softaug.checks import check_choice, refuse
from softaug.files import write_json
from softaug.training.environment import environment, package_version

SUITES: Mapping[str, Callable[[int], list[Table]]] = {
    "crop": crop_suite,
    "scaling": scaling_suite,
    "loss": loss_suite,
    "memory": memory_suite,
    "noise-erase": noise_erase_suite,
    "policy": policy_suite,
    "input": input_suite,
    "two-views": two_views_suite,
    "pairs": pairs_suite,
    "training": training_suite,
    "evaluation": evaluation_suite,
}


def run_bench(
    names: tuple[str, ...] = (),
    rounds: int = 25,
    out: Path | None = None,
    markdown: Path | None = None,
    console: Console | None = None,
) -> dict[str, list[Table]]:
    """Run the suites `names` (none means all) and show their tables on `console`.

    All numbers go to `out` as JSON; the tables of `markdown`, such as docs/performance.md,
    are replaced by the new ones.
    """
    for name in names:
        check_choice("bench", "suites", name, tuple(SUITES))
    if rounds < 1:
        refuse("bench", "rounds must be at least 1", rounds)
    if markdown is not None:
        check_markers(names or tuple(SUITES), markdown)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    console = console or Console()
    results = {name: _run_suite(name, rounds, console) for name in names or SUITES}
    where = bench_environment(rounds)
    if out is not None:
        suites = {name: [table.as_json() for table in found] for name, found in results.items()}
        write_json({"environment": where, "suites": suites}, out, indent=2)
    if markdown is not None:
        write_markdown(results, where, markdown)
    return results


def _run_suite(name: str, rounds: int, console: Console) -> list[Table]:
    with console.status(f"{name}: {rounds} rounds"):
        tables = SUITES[name](rounds)
    print_tables(tables, console)
    return tables


def bench_environment(rounds: int) -> dict[str, Any]:
    """Where and how it was measured."""
    peers = {name: package_version(name) for name in ("kornia", "albumentations")}
    return {**environment(), **peers, "threads": 1, "rounds": rounds}
