"""The commands `softaug reproduce` and `softaug demo`."""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.text import Text

from softaug.checks import check_whole, refuse
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.demo import demo_study
from softaug.lab.recipes.paper_numbers import PaperTable
from softaug.lab.recipes.paper_tables import ALL, Settings, all_tables, find_tables
from softaug.lab.recipes.scale import SCALES, Scale, scaled
from softaug.lab.report.model import plural
from softaug.lab.reproduce.cost import estimate_hours, format_cost
from softaug.lab.reproduce.grid import Grid, print_plain
from softaug.lab.reproduce.local import default_at_once, run_locally
from softaug.lab.reproduce.plan import RUNS, Plan, check_recipes, check_scale, make_plan
from softaug.lab.reproduce.run_one import (
    ENDED,
    WHO,
    GridOptions,
    GridRun,
    Runner,
    count_states,
    is_finished,
)
from softaug.lab.training.logging import num_cores

LIST = "list"
HOME = Path("softaug-reproduce")


def reproduce(
    names: Annotated[tuple[str, ...], tyro.conf.Positional],
    scale: Literal["paper", "cpu", "smoke"] | None = None,
    seeds: int | None = None,
    out: Path | None = None,
    local: bool = False,
    address: str | None = None,
    at_once: int | None = None,
    plan: bool = False,
    data_dir: Path | None = None,
    device: str = "auto",
    settings: Annotated[Settings, tyro.conf.arg(name="as")] = "paper",
) -> None:
    """Run what tables and figures of the paper need, and write them with its numbers beside ours.

    The same command again goes on: finished runs are left alone, others resume.

    Args:
        names: list, all, or names that `softaug reproduce list` shows, such as table1, figure5
            or self-paced.
        scale: The paper's own, small networks and budgets for a CPU, or a trial of seconds
            (default: paper; cpu where only studies are named).
        seeds: Runs of each recipe, with seeds 0, 1, ... (default: 3, or what a study has).
        out: Folder for runs, tables and figures (default: softaug-reproduce/SCALE).
        local: Do without Ray: processes of this machine.
        address: Ray's address of a cluster; every node must see `out` and the data.
        at_once: Runs at a time (default: one per GPU, or one per core).
        plan: Only show which runs there are, what they cost and how far they are.
        data_dir: Where data sets are; else what SOFTAUG_DATA names, else ~/.cache/softaug/data.
        device: auto, cpu, cuda, ...
        settings: Of rows on CIFAR: the paper's, or those of the authors' released code, whose best
            test error of all evaluations stands beside the last epoch's.
    """
    console = Console()
    if LIST in names:
        if len(names) > 1:
            refuse(WHO, "list must stand alone", " ".join(names))
        show_list({one: out or HOME / one for one in SCALES}, console)
        return
    if not names:
        refuse(WHO, "at least one name must be given", "none", "`softaug reproduce list` has them")
    studies = {table.name for table in all_tables() if not table.of_paper}
    scale = scale or ("cpu" if studies.issuperset(names) else "paper")
    wanted = find_tables(names, scale, settings)
    for name, value in (("seeds", seeds), ("at_once", at_once)):
        if value is not None:
            check_whole(WHO, name, value, least=1)
    runner = choose_runner(local, address)
    out = (out or HOME / scale).absolute()
    check_scale(out, scale)
    planned = make_plan(wanted, scale, out, data_dir, seeds)
    check_recipes(planned)
    show_plan(planned, console)
    if plan:
        return
    num = at_once or (None if address else default_at_once(device))
    workers = None if num is None else max(1, num_cores() // num)
    options = GridOptions(data_dir, device, draws=3 if scale == "paper" else 1, workers=workers)
    Grid(planned, options, runner, at_once, console).run()


def demo(out: Path = Path("softaug-demo"), full: bool = False) -> None:
    """Train, evaluate and compare hard and soft crops on real images, in two to four minutes.

    The same command again goes on: finished runs are left alone.

    Args:
        out: Folder for runs, the table and the report, which any browser shows.
        full: Ten seeds and six arms, in about half an hour.
    """
    console = Console()
    check_scale(out, "cpu")
    plan = make_plan([demo_study(full)], "cpu", out.absolute(), data_dir=None)
    check_recipes(plan)
    show_plan(plan, console)
    options = GridOptions(device="cpu", draws=1)
    Grid(plan, options, run_locally, None, console).run()


def choose_runner(local: bool, address: str | None) -> Runner:
    """Return the requested runner: Ray where it is installed, unless `local`."""
    if local and address is not None:
        refuse(WHO, "address is for Ray, which --local does without", address, "leave one out")
    has_ray = find_spec("ray") is not None
    if local or (address is None and not has_ray):
        return run_locally
    if not has_ray:
        remedy = "pip install 'softaug[cluster]'"
        refuse(WHO, "ray must be installed for --address", "no ray", remedy)
    from softaug.lab.reproduce.ray import run_on_ray

    return partial(run_on_ray, address=address)


def show_list(folders: dict[Scale, Path], console: Console) -> None:
    """Print every table, figure and study: recipes, cost of one seed, finished runs in `folders`.

    On lines that an 80-column terminal has room for.
    """
    indent = max(len(table.name) for table in all_tables()) + 2
    for table in all_tables():
        console.print(Text(f"{table.name:{indent}}{table.title}", "bold"), soft_wrap=True)
        for line in _describe_table(table, folders):
            print_plain(" " * indent + line, console)
    print_plain(
        "\nCosts are of one seed, unknown where the paper gives none. A run that several\n"
        "need is done once. At --scale smoke a run takes seconds.",
        console,
    )


def _describe_table(table: PaperTable, folders: dict[Scale, Path]) -> list[str]:
    """Say how many recipes it has and what they cost; then how many runs are finished."""
    if not table.recipes:
        return ["from the equations alone: nothing to run"]
    parts, finished = [plural(len(table.recipes), "recipe")], []
    for scale in SCALES:
        recipes, _ = scaled(table, scale)
        if scale != "smoke" and recipes:
            hours = [
                estimate_hours(recipe, scale, find(name).cost) for name, recipe in recipes.items()
            ]
            parts.append(f"{scale}: {format_cost(hours, scale)}")
        names = [recipe.name for recipe in recipes.values()]
        runs = [run for name in names for run in (folders[scale] / RUNS).glob(f"{name}-seed*")]
        if num := sum(map(is_finished, runs)):
            finished.append(f"{num} {scale}")
    return ["; ".join(parts), *([f"finished: {', '.join(finished)}"] if finished else [])]


def show_plan(plan: Plan, console: Console) -> None:
    """Print a line for each recipe of a plan: what a run costs, how far its runs are; then a sum.

    A name that leaves no room for the rest in this terminal gets its own line.
    """
    by_recipe: dict[str, list[GridRun]] = {}
    for run in plan.runs:
        by_recipe.setdefault(run.recipe.name, []).append(run)
    longest = max(map(len, by_recipe), default=0) + 2
    for name, runs in by_recipe.items():
        rest = f"{format_cost([runs[0].hours], plan.scale):>10} a run, {_format_states(runs)}"
        fits = longest + len(rest) <= console.width
        print_plain(f"{name:{longest}}{rest}" if fits else f"{name}\n{rest}", console)
    print_plain(_summarize(plan), console)
    for reason in dict.fromkeys(run.no_data for run in plan.runs if run.no_data):
        print_plain(f"no data: {reason}", console)


def _summarize(plan: Plan) -> str:
    """Return a line about all of a plan."""
    every = len(plan.tables) == len(find_tables([ALL], plan.scale))
    names = ALL if every else ", ".join(table.name for table in plan.tables)
    if not plan.runs:
        return f"{names} at scale {plan.scale}: 0 runs (equations only)"
    left = [run.hours for run in plan.runs if run.state not in ENDED]
    cost = f", {format_cost(left, plan.scale)} left" if left else ""
    runs = f"{plural(len(plan.runs), 'run')} ({_format_states(plan.runs)})"
    return f"{names} at scale {plan.scale}: {runs}{cost}"


def _format_states(runs: Sequence[GridRun]) -> str:
    return ", ".join(f"{num} {state}" for state, num in count_states(runs).items())
