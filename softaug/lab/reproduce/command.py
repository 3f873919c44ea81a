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
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.recipes.paper_numbers import PaperTable
from softaug.lab.recipes.paper_tables import ALL, all_tables
from softaug.lab.recipes.scale import SCALES, Scale, scaled
from softaug.lab.reproduce.cost import estimate_hours, format_cost
from softaug.lab.reproduce.grid import Grid
from softaug.lab.reproduce.local import default_at_once, run_locally
from softaug.lab.reproduce.plan import (
    RUNS,
    Plan,
    PlannedRun,
    check_recipes,
    check_scale,
    count_states,
    make_plan,
)
from softaug.lab.reproduce.run_one import (
    ENDED,
    WHO,
    GridOptions,
    Runner,
    is_finished,
)
from softaug.lab.reproduce.studies import Study, demo_study, find_by_name, studies
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
    """
    console = Console()
    if LIST in names:
        if len(names) > 1:
            refuse(WHO, "list must stand alone", " ".join(names))
        show_list({one: out or HOME / one for one in SCALES}, console)
        return
    if not names:
        refuse(WHO, "at least one name must be given", "none", "`softaug reproduce list` has them")
    scale = scale or _default_scale(names)
    wanted = find_by_name(names, scale)
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
    for page in Grid(planned, options, runner, at_once, console).run():
        _print(f"Report: {page}", console)


def demo(out: Path = Path("softaug-demo"), full: bool = False) -> None:
    """Train, evaluate and compare hard and soft crops on real images, in about five minutes.

    The same command again goes on: finished runs are left alone.

    Args:
        out: Folder for runs, the table and the report, which any browser shows.
        full: More seeds and arms, in about half an hour.
    """
    console = Console()
    check_scale(out, "cpu")
    plan = make_plan([demo_study(full)], "cpu", out.absolute(), data_dir=None)
    check_recipes(plan)
    show_plan(plan, console)
    options = GridOptions(device="cpu", draws=1)
    for page in Grid(plan, options, run_locally, None, console).run():
        _print(f"Report: {page}", console)


def _default_scale(names: Sequence[str]) -> Scale:
    """Return "cpu" if only studies are named, which have no other scale, else "paper"."""
    ours = {study.name for study in studies()}
    ours |= {table.name for table in all_tables() if not table.of_paper}
    return "cpu" if ours.issuperset(names) else "paper"


def choose_runner(local: bool, address: str | None) -> Runner:
    """Return the runner that is asked for: Ray where it is installed, unless `local`."""
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
    every: list[PaperTable | Study] = [*all_tables(), *studies()]
    indent = max(len(one.name) for one in every) + 2
    for one in every:
        console.print(Text(f"{one.name:{indent}}{one.title}", "bold"), soft_wrap=True)
        for line in _describe_target(one, folders):
            _print(" " * indent + line, console)
    _print(
        "\nCosts are of one seed, unknown where the paper gives none. A run that several\n"
        "need is done once. At --scale smoke a run takes seconds.",
        console,
    )


def _describe_target(one: PaperTable | Study, folders: dict[Scale, Path]) -> list[str]:
    """Say how many recipes it has and what they cost; then how many runs are finished."""
    recipes = {scale: _recipes_at(one, scale) for scale in SCALES}
    if not recipes["smoke"]:
        return ["from the equations alone: nothing to run"]
    parts, finished = [_count(len(recipes["smoke"]), "recipe")], []
    for scale, found in recipes.items():
        if scale != "smoke" and found:
            words = {name: find(name).cost if scale == "paper" else "" for name in found}
            hours = [estimate_hours(found[name], scale, words[name]) for name in found]
            parts.append(f"{scale}: {format_cost(hours, scale)}")
        names = [recipe.name for recipe in found.values()]
        runs = [run for name in names for run in (folders[scale] / RUNS).glob(f"{name}-seed*")]
        if num := sum(map(is_finished, runs)):
            finished.append(f"{num} {scale}")
    return ["; ".join(parts), *([f"finished: {', '.join(finished)}"] if finished else [])]


def _recipes_at(one: PaperTable | Study, scale: Scale) -> dict[str, AnyRecipe]:
    if isinstance(one, Study):
        return {} if scale == "paper" else one.recipes(scale)
    found = scaled(one, scale)
    return {name: recipe for name, recipe in found.items() if not isinstance(recipe, str)}


def show_plan(plan: Plan, console: Console) -> None:
    """Print a line for each recipe of a plan: what a run costs, how far its runs are; then a sum.

    A name that leaves no room for the rest in this terminal gets its own line.
    """
    by_recipe: dict[str, list[PlannedRun]] = {}
    for planned in plan.runs:
        by_recipe.setdefault(planned.run.recipe.name, []).append(planned)
    longest = max(map(len, by_recipe), default=0)
    for name, runs in by_recipe.items():
        rest = f"{format_cost([runs[0].hours], plan.scale):>12} a run, {_format_states(runs)}"
        fits = longest + len(rest) <= console.width
        _print(f"{name:{longest}}{rest}" if fits else f"{name}\n{rest}", console)
    _print(_summarize(plan), console)
    for reason in dict.fromkeys(planned.no_data for planned in plan.runs if planned.no_data):
        _print(f"no data: {reason}", console)


def _summarize(plan: Plan) -> str:
    """Return a line about all of a plan."""
    every = len(plan.tables) == len(find_by_name([ALL], plan.scale))
    names = ALL if every else ", ".join(table.name for table in plan.tables)
    if not plan.runs:
        return f"{names} at scale {plan.scale}: 0 runs (equations only)"
    left = [planned.hours for planned in plan.runs if planned.state not in ENDED]
    cost = f", {format_cost(left, plan.scale)} left" if left else ""
    runs = f"{_count(len(plan.runs), 'run')} ({_format_states(plan.runs)})"
    return f"{names} at scale {plan.scale}: {runs}{cost}"


def _format_states(runs: Sequence[PlannedRun]) -> str:
    return ", ".join(f"{num} {state}" for state, num in count_states(runs).items())


def _count(num: int, noun: str) -> str:
    return f"{num} {noun}{'' if num == 1 else 's'}"


def _print(line: str, console: Console) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)
