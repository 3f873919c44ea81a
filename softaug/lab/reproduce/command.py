"""The command `softaug reproduce`."""

import signal
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal, NoReturn

import tyro
from rich.console import Console
from rich.text import Text

from softaug.checks import check_whole, refuse
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.recipes.paper_figures import ALL, all_tables, find_tables
from softaug.lab.recipes.paper_tables import PaperTable
from softaug.lab.recipes.scale import SCALES, Scale, scaled
from softaug.lab.report.exhibits import write_exhibit
from softaug.lab.reproduce.collect import Collector, present
from softaug.lab.reproduce.cost import cost_of, sum_in_short
from softaug.lab.reproduce.local import Telling, default_at_once, run_locally
from softaug.lab.reproduce.plan import (
    ENDED,
    RUNS,
    STATES,
    GridOptions,
    Outcome,
    Plan,
    PlannedRun,
    Runner,
    check_recipes,
    check_scale,
    held,
    is_finished,
    make_plan,
    needs_digits,
    state_of,
    write_digits,
    write_grid,
    written,
)
from softaug.lab.reproduce.run_one import has_diverged, is_done
from softaug.lab.training.logging import num_cores
from softaug.lab.training.signals import SIGNALS
from softaug.lab.training.trainer import StoppedError

NO_DATA = "no data"
INDENT = " " * len("figure1  ")


def show_list(folders: dict[Scale, Path], console: Console) -> None:
    """Every table and figure: recipes, what a seed of all costs, finished runs in `folders`.

    On lines that an 80-column terminal has room for.
    """
    for exhibit in all_tables():
        console.print(Text(f"{exhibit.name:{len(INDENT)}}{exhibit.title}", "bold"), soft_wrap=True)
        for line in _told(exhibit, folders):
            _print(INDENT + line, console)
    _print(
        "\nCosts are of one seed, unknown where the paper says none. A run that several\n"
        "need is done once. At --scale smoke a run takes seconds.",
        console,
    )


def _told(exhibit: PaperTable, folders: dict[Scale, Path]) -> list[str]:
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


def _recipes(exhibit: PaperTable, scale: Scale) -> dict[str, AnyRecipe]:
    found = scaled(exhibit, scale)
    return {name: recipe for name, recipe in found.items() if not isinstance(recipe, str)}


def _cost(exhibit: PaperTable, scale: Scale) -> str:
    """The sum over recipes, by one seed."""
    recipes = _recipes(exhibit, scale)
    costs = [cost_of(find(name).cost, recipe, scale) for name, recipe in recipes.items()]
    return sum_in_short(costs, scale) if costs else "none"


def _there(exhibit: PaperTable, scale: Scale, out: Path) -> str:
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
    every = list(plan.exhibits) == find_tables([ALL], plan.scale)
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


def choose_runner(local: bool, address: str | None) -> Runner:
    """The runner that is asked for; Ray at `address` is a cluster's, else it is started here."""
    if local and address is not None:
        refuse(WHO, "address is for Ray, which --local does without", address, "leave one out")
    if local or (address is None and find_spec("ray") is None):
        return run_locally
    if find_spec("ray") is None:
        remedy = "pip install 'softaug[cluster]'"
        refuse(WHO, "ray must be installed for --address", "no ray", remedy)
    from softaug.lab.reproduce.ray import run_on_ray

    return partial(run_on_ray, address=address)


LIST = "list"
HOME = Path("softaug-reproduce")
WHO = "reproduce"


def reproduce(
    names: Annotated[tuple[str, ...], tyro.conf.Positional],
    scale: Literal["paper", "cpu", "smoke"] = "paper",
    seeds: int = 3,
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
        names: list, all, or any of table1 ... table9, figure1 ... figure7, or a study of
            ours: evidence, variants, budgets, self-paced, pacing-rules.
        scale: The paper's own, small networks and budgets for a CPU, or a trial of seconds.
        seeds: Runs of each recipe, by seeds 0, 1, ...
        out: Folder for runs, tables and figures (default: softaug-reproduce/SCALE).
        local: Do without Ray: processes of this machine.
        address: Ray's address of a cluster; every node must see `out` and the data.
        at_once: Runs at a time (default: one a GPU, or one a core).
        plan: Only show which runs there are, what they cost and how far they are.
        data_dir: Where data sets lie; else what SOFTAUG_DATA names, else ~/.cache/softaug/data.
        device: auto, cpu, cuda, ...
    """
    console = Console()
    if LIST in names:
        _list(names, out, console)
        return
    exhibits = find_tables(names, scale)
    if not exhibits:
        refuse(WHO, "at least one name must be given", "none", "`softaug reproduce list` has them")
    check_whole(WHO, "seeds", seeds, least=1)
    if at_once is not None:
        check_whole(WHO, "at_once", at_once, least=1)
    runner = choose_runner(local, address)
    out = (out or HOME / scale).absolute()
    check_scale(out, scale)
    planned = make_plan(exhibits, scale, range(seeds), out, data_dir)
    check_recipes(planned)
    show_plan(planned, console)
    if plan:
        return
    num = at_once or (None if address else default_at_once(device))
    workers = None if num is None else max(1, num_cores() // num)
    options = GridOptions(data_dir, device, draws=3 if scale == "paper" else 1, workers=workers)
    Grid(planned, options, runner, at_once, console).go()


def _list(names: tuple[str, ...], out: Path | None, console: Console) -> None:
    if len(names) > 1:
        refuse(WHO, "list must stand alone", " ".join(names))
    show_list({scale: out or HOME / scale for scale in SCALES}, console)


@dataclass
class Grid:
    """A plan and who carries it out."""

    plan: Plan
    options: GridOptions
    runner: Runner
    at_once: int | None
    console: Console
    collector: Collector = field(init=False)
    changed: set[str] = field(default_factory=set)  # exhibits of which a run has ended
    times_asked: int = 0  # to stop

    def __post_init__(self) -> None:
        self.collector = Collector(self.plan, self.options.data_dir)

    def go(self) -> None:
        """Do what is left, then write and print all; runs without a result make it code 1."""
        names = [exhibit.name for exhibit in self.plan.exhibits]
        left = self._left()
        with held(self.plan.out), written(self.plan.out):
            if needs_digits([planned.run.recipe for planned in left], self.plan.out):
                write_digits(self.plan.out)
            write_grid(self.plan)
            self.collector.collect(names)
            try:
                self._do(left)
            except KeyboardInterrupt:
                self._renew(names)
                told = f"stopped; all is kept in {self.plan.out}"
                raise StoppedError(f"{told}, the same command goes on") from None
            self._present(names)
        problems = self._problems(left)
        for told in problems:
            self.console.print(told, soft_wrap=True, highlight=False)
        if problems:
            raise SystemExit(1)

    def _problems(self, left: list[PlannedRun]) -> list[str]:
        """What did not come out, in words; that what diverged in the paper does so is none."""
        unfinished = [one for one in left if not is_done(one.run, self.options)]
        lost = [one for one in self.plan.runs if has_diverged(one.run)]
        lost = [one for one in lost if one.run.recipe.name not in self.plan.may_diverge()]
        told = []
        if unfinished:
            told.append(f"{len(unfinished)} runs did not finish; the same command tries them again")
        if lost:
            names = ", ".join(one.run.name for one in lost)
            told.append(
                f"{len(lost)} runs diverged; they are not tried again unless you remove their "
                f"folders: {names}"
            )
        return told

    def _left(self) -> list[PlannedRun]:
        """What is to be done and can be; refused if there is something and nothing can."""
        todo = [one for one in self.plan.runs if not is_done(one.run, self.options)]
        left = [one for one in todo if one.no_data is None]
        if len(todo) == len(self.plan.runs) and todo and not left:
            reasons = dict.fromkeys(one.no_data for one in todo if one.no_data)
            raise ValueError("\n".join(reasons))
        return left

    def _do(self, left: list[PlannedRun]) -> None:
        """Do the runs and collect after each."""
        runs = {one.run.name: one.run for one in left}
        telling = Telling(len(runs), self.console)
        with _stopping(self._stop), _closed(self._outcomes(left)) as outcomes:
            for outcome in outcomes:
                run = runs[outcome.name]
                names = self.plan.exhibits_of(run.recipe)
                self.collector.collect(names)
                self.changed.update(names)
                telling.tell(outcome, self.collector.error_of(run))

    def _outcomes(self, left: list[PlannedRun]) -> Iterator[Outcome]:
        return self.runner([one.run for one in left], self.options, self.at_once)

    def _stop(self) -> NoReturn:
        self.times_asked += 1
        self.console.print("stopping: runs save where they stand", highlight=False)
        raise KeyboardInterrupt

    def _renew(self, names: list[str]) -> None:
        """Leave what has come so far, in every format unless asked to stop for a second time.

        Signals act as usual by now: one more ends it at once, and every file is whole.
        """
        files = self.collector.collect(names)
        for file in files if self.times_asked < 2 else ():
            if file.stem in self.changed:
                write_exhibit(file)

    def _present(self, names: list[str]) -> None:
        """Collect once more, write every format, print."""
        for file in self.collector.collect(names):
            present(file, self.console)


@contextmanager
def _closed(outcomes: Iterator[Outcome]) -> Iterator[Iterator[Outcome]]:
    """End the processes behind `outcomes` whatever happens inside."""
    try:
        yield outcomes
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()


@contextmanager
def _stopping(stop: Callable[[], NoReturn]) -> Iterator[None]:
    """Ctrl-C, and what a cluster sends before it takes a machine away, call `stop`."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def handle(number: int, frame: FrameType | None) -> NoReturn:
        stop()

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
