"""Plans on a terminal: what there is to reproduce, what runs cost, what is there already."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from softaug.grid.cost import cost_of, sum_in_short
from softaug.grid.plan import RUNS, Plan, PlannedRun
from softaug.grid.state import ENDED, STATES, is_finished, state_of
from softaug.paper.exhibit import Exhibit
from softaug.paper.exhibits import ALL, exhibits, find_exhibits
from softaug.paper.scale import SCALES, Scale, scaled
from softaug.recipes.catalogue import find
from softaug.recipes.pretrain import AnyRecipe

NO_DATA = "no data"
INDENT = " " * len("figure1  ")


def show_list(folders: dict[Scale, Path], console: Console) -> None:
    """Every table and figure: recipes, what a seed of all costs, finished runs in `folders`.

    On lines that an 80-column terminal has room for.
    """
    for exhibit in exhibits():
        console.print(Text(f"{exhibit.name:{len(INDENT)}}{exhibit.title}", "bold"), soft_wrap=True)
        for line in _told(exhibit, folders):
            _print(INDENT + line, console)
    _print(
        "\nCosts are of one seed, unknown where the paper says none. A run that several\n"
        "need is done once. At --scale smoke a run takes seconds.",
        console,
    )


def _told(exhibit: Exhibit, folders: dict[Scale, Path]) -> list[str]:
    """How many recipes and what they cost; in a second line how many runs are finished."""
    if not exhibit.recipes:
        return ["from the equations alone: nothing to run"]
    there = [_there(exhibit, scale, folders[scale]) for scale in SCALES]
    finished = ", ".join(filter(None, there))
    costs = [f"{scale}: {_cost(exhibit, scale)}" for scale in ("paper", "cpu")]
    told = "; ".join([_counted(len(exhibit.recipes), "recipe"), *costs])
    return [told, f"finished: {finished}"] if finished else [told]


def _counted(num: int, what: str) -> str:
    return f"{num} {what}{'' if num == 1 else 's'}"


def _recipes(exhibit: Exhibit, scale: Scale) -> dict[str, AnyRecipe]:
    found = scaled(exhibit, scale)
    return {name: recipe for name, recipe in found.items() if not isinstance(recipe, str)}


def _cost(exhibit: Exhibit, scale: Scale) -> str:
    """The sum over recipes, by one seed."""
    recipes = _recipes(exhibit, scale)
    costs = [cost_of(find(name).cost, recipe, scale) for name, recipe in recipes.items()]
    return sum_in_short(costs, scale) if costs else "none"


def _there(exhibit: Exhibit, scale: Scale, out: Path) -> str:
    """How many runs are finished, of any seed."""
    names = [recipe.name for recipe in _recipes(exhibit, scale).values()]
    found = (folder for name in names for folder in (out / RUNS).glob(f"{name}-seed*"))
    num = sum(map(is_finished, found))
    return f"{num} {scale}" if num else ""


def show_plan(plan: Plan, console: Console) -> None:
    """A line for each recipe of a plan: what a run costs, how far its runs are; then the sum.

    A name that leaves no room for the rest in this terminal stands above it.
    """
    by_recipe: dict[str, list[PlannedRun]] = {}
    for planned in plan.runs:
        by_recipe.setdefault(planned.run.recipe.name, []).append(planned)
    longest = max(map(len, by_recipe), default=0)
    for name, runs in by_recipe.items():
        rest = f"{_run_costs(runs[:1], plan.scale):>11} a run, {count_states(runs)}"
        fits = longest + len(rest) <= console.width
        _print(f"{name:{longest}}{rest}" if fits else f"{name}\n{rest}", console)
    _print(_summary(plan), console)
    for reason in dict.fromkeys(planned.no_data for planned in plan.runs if planned.no_data):
        _print(f"no data: {reason}", console)


def _summary(plan: Plan) -> str:
    """What all of a plan is, in a line."""
    every = list(plan.exhibits) == find_exhibits([ALL], plan.scale)
    names = ALL if every else ", ".join(exhibit.name for exhibit in plan.exhibits)
    if not plan.runs:
        return f"{names} at scale {plan.scale}: 0 runs (equations only)"
    left = [planned for planned in plan.runs if shown_state(planned) not in ENDED]
    cost = f", {_run_costs(left, plan.scale)} left" if left else ""
    told = f"{_counted(len(plan.runs), 'run')} ({count_states(plan.runs)}){cost}"
    return f"{names} at scale {plan.scale}: {told}"


def _run_costs(runs: Sequence[PlannedRun], scale: Scale) -> str:
    """The sum over runs."""
    return sum_in_short([cost_of(one.cost, one.run.recipe, scale) for one in runs], scale)


def _print(line: str, console: Console) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)


def count_states(runs: Sequence[PlannedRun]) -> str:
    """How many runs are in which state, the done first."""
    found = Counter(shown_state(planned) for planned in runs)
    return ", ".join(f"{found[state]} {state}" for state in (*STATES, NO_DATA) if found[state])


def shown_state(planned: PlannedRun) -> str:
    """A run's state; one that has not ended and cannot be done has no data."""
    state = state_of(planned.run.folder)
    return NO_DATA if planned.no_data and state not in ENDED else state
