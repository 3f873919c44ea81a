"""Carry out a plan: do what is left, collect after each run, write tables and comparisons."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rich.console import Console

from softaug.checks import refuse
from softaug.lab.evaluation.compare import COMPARISON, compare_runs
from softaug.lab.report.paper import print_paper_table, write_paper_table
from softaug.lab.report.write import print_findings, write_report
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.cost import estimate_left, format_duration
from softaug.lab.reproduce.local import default_at_once
from softaug.lab.reproduce.plan import (
    Plan,
    PlannedRun,
    lock_folder,
    write_digits_if_needed,
    write_grid,
)
from softaug.lab.reproduce.run_one import (
    WHO,
    GridOptions,
    Outcome,
    Runner,
    has_diverged,
    is_done,
    is_finished,
)
from softaug.lab.reproduce.status_page import INDEX, StatusPage
from softaug.lab.reproduce.studies import Study, draw_soft_arm
from softaug.lab.training.distributed import SIGNALS, handle_signals
from softaug.lab.training.trainer import StoppedError


class Grid:
    """A plan, and who carries it out."""

    def __init__(
        self,
        plan: Plan,
        options: GridOptions,
        runner: Runner,
        at_once: int | None,
        console: Console,
    ) -> None:
        self.plan, self.options, self.console = plan, options, console
        self.runner, self.at_once = runner, at_once
        self.collector = Collector(plan, options.data_dir)
        self.page = StatusPage(plan, self.collector)
        self.changed: set[str] = set()  # tables of which a run has ended
        self.num_interrupts = 0

    def run(self) -> list[Path]:
        """Do what is left, then write and print all; return the pages of comparisons.

        Runs without a result end the command with code 1.
        """
        names = [table.name for table in self.plan.tables]
        left = self._find_left()
        with lock_folder(self.plan.out), _explain_write_errors(self.plan.out):
            write_digits_if_needed(self.plan)
            write_grid(self.plan)
            self.collector.collect(names)
            self.page.write(live=True)
            try:
                self._run_all(left)
            except KeyboardInterrupt:
                self._write_partial(names)
                message = f"stopped; all is kept in {self.plan.out}, the same command goes on"
                raise StoppedError(message) from None
            for file in self.collector.collect(names):
                render(file, self.console)
            pages = [page for study in self.plan.studies for page in self._compare(study)]
            self.page.write(live=False)
        problems = self._describe_problems(left)
        for problem in problems:
            self.console.print(problem, soft_wrap=True, highlight=False)
        if problems:
            raise SystemExit(1)
        return pages

    def _find_left(self) -> list[PlannedRun]:
        """Return what is to be done and can be; refuse if there is something and nothing can."""
        todo = [one for one in self.plan.runs if not is_done(one.run, self.options)]
        left = [one for one in todo if one.no_data is None]
        if len(todo) == len(self.plan.runs) and todo and not left:
            reasons = dict.fromkeys(one.no_data for one in todo if one.no_data)
            raise ValueError("\n".join(reasons))
        return left

    def _run_all(self, left: Sequence[PlannedRun]) -> None:
        """Do the runs; collect and write the page after each."""
        if left:
            line = f"progress: {self.plan.out / INDEX}"
            self.console.print(line, soft_wrap=True, highlight=False, markup=False)
        by_name = {one.run.name: one for one in left}
        progress = GridProgress(left, self.at_once or default_at_once(self.options.device))
        outcomes = self.runner([one.run for one in left], self.options, self.at_once)
        live = self.page.keep_updated(progress.seconds_left)
        with live, handle_signals(SIGNALS, self._interrupt), closing(outcomes):
            for outcome in outcomes:
                planned = by_name[outcome.name]
                names = self.plan.tables_of(planned.run.recipe)
                self.collector.collect(names)
                self.changed.update(names)
                line = progress.update(outcome, self.collector.error_of(planned))
                self.console.print(line, soft_wrap=True, highlight=False, markup=False)
                self.page.write(progress.seconds_left(), live=True)

    def _interrupt(self, number: int, frame: FrameType | None) -> NoReturn:
        self.num_interrupts += 1
        self.console.print("stopping: runs save their state", highlight=False)
        raise KeyboardInterrupt

    def _write_partial(self, names: Sequence[str]) -> None:
        """Write what has come so far, in every format unless asked to stop a second time.

        Signals act as usual by now: one more ends it at once, and every file is whole.
        """
        files = self.collector.collect(names)
        self.page.write(live=False)
        for file in files if self.num_interrupts < 2 else ():
            if file.stem in self.changed:
                write_paper_table(file)

    def _compare(self, study: Study) -> Iterator[Path]:
        """Write the comparison of each group that has more than one finished arm."""
        recipes = study.recipes(self.plan.scale)
        for title, arms in study.groups.items():
            groups = [self.plan.runs_of(recipes[arm.recipe.name]) for arm in arms.values()]
            runs = [planned.run for group in groups for planned in group]
            finished = [run.folder for run in runs if is_finished(run.folder)]
            if len({run.recipe.name for run in runs if run.folder in finished}) > 1:
                slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
                out = self.plan.out / "compare" / f"{study.name}-{slug}"
                run = {label: recipes[arm.recipe.name] for label, arm in arms.items()}
                compare_runs(finished, out, {recipe.name: label for label, recipe in run.items()})
                opening = tuple(draw_soft_arm(run, self.options.data_dir))
                page = write_report(out / COMPARISON, study.title, opening)
                self.console.print()
                print_findings(out / COMPARISON, self.console)
                yield page

    def _describe_problems(self, left: Sequence[PlannedRun]) -> list[str]:
        """Say what did not come out; what diverged in the paper may do so here."""
        unfinished = [one for one in left if not is_done(one.run, self.options)]
        expected = self.plan.may_diverge()
        diverged = [
            one.run.name
            for one in self.plan.runs
            if has_diverged(one.run.folder, one.run.recipe) and one.run.recipe.name not in expected
        ]
        problems = []
        if unfinished:
            num = len(unfinished)
            problems.append(f"{num} runs did not finish; the same command tries them again")
        if diverged:
            rule = "they are not tried again unless you remove their folders"
            problems.append(f"{len(diverged)} runs diverged; {rule}: {', '.join(diverged)}")
        return problems


def render(file: Path, console: Console) -> None:
    """Write the table or figure of a collected file beside it in every format, and print it."""
    written = write_paper_table(file)
    print_paper_table(file, console)
    line = f"\n{file.parent}: {', '.join(path.name for path in written)}\n"
    console.print(line, soft_wrap=True, highlight=False, markup=False)


class GridProgress:
    """Counts the runs of a grid as they end, and estimates the time left."""

    def __init__(self, runs: Sequence[PlannedRun], at_once: int) -> None:
        known = [one.hours for one in runs if one.hours is not None]
        mean = sum(known) / len(known) if known else 1.0
        self.costs = {one.run.name: mean if one.hours is None else one.hours for one in runs}
        self.at_once = at_once
        self.seconds: dict[str, float] = {}
        self._begun: float | None = None

    def update(self, outcome: Outcome, error: float | None) -> str:
        """Count a run that has ended; return a line about it. `error` is in %."""
        if self._begun is None:
            self._begun = time.monotonic() - outcome.seconds
        self.seconds[outcome.name] = outcome.seconds
        line = f"{len(self.seconds)} of {len(self.costs)}  {outcome.name}: {_how(outcome, error)}"
        left = self.seconds_left()
        return f"{line}; about {format_duration(left)} left" if left is not None else line

    def seconds_left(self) -> float | None:
        """Return the time left by the runs that have ended; None if none has, or all have."""
        if self._begun is None or len(self.seconds) == len(self.costs):
            return None
        elapsed = time.monotonic() - self._begun
        return estimate_left(self.costs, self.seconds, self.at_once, elapsed)


def _how(outcome: Outcome, error: float | None) -> str:
    if outcome.error is not None:
        return f"FAILED: {outcome.error}"
    if outcome.diverged is not None:
        return f"DIVERGED: {outcome.diverged}"
    if outcome.stopped:
        return "stopped"
    return "finished" if error is None else f"finished, error {error:.2f} %"


@contextmanager
def _explain_write_errors(out: Path) -> Iterator[None]:
    """Where a file in the folder cannot be written, such as on a full disk, say how to go on."""
    try:
        yield
    except OSError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(out):
            raise
        remedy = "all else is kept: make room there, and the same command goes on"
        refuse(WHO, f"results must be written to {out}", error, remedy)
