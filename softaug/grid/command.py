"""The command `softaug reproduce`."""

import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal, NoReturn

import tyro
from rich.console import Console

from softaug.checks import check_whole, refuse
from softaug.grid.collect import Collector
from softaug.grid.data_there import needs_digits, write_digits
from softaug.grid.divergence import has_diverged
from softaug.grid.do_run import is_done
from softaug.grid.local import default_at_once
from softaug.grid.out import check_recipes, check_scale, held, written
from softaug.grid.plan import Plan, PlannedRun, make_plan, write_grid
from softaug.grid.present import present
from softaug.grid.run import GridOptions, Outcome, Runner
from softaug.grid.runners import choose_runner
from softaug.grid.show import show_list, show_plan
from softaug.grid.telling import Telling
from softaug.paper.exhibits import find_exhibits
from softaug.paper.scale import SCALES
from softaug.report.exhibits import write_exhibit
from softaug.training.environment import num_cores
from softaug.training.interruption import SIGNALS
from softaug.training.run import StoppedError

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
    exhibits = find_exhibits(names, scale)
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
