"""Carry out a plan: do what is left, collect after each run, write tables and comparisons."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import torch
from rich.console import Console

from softaug.checks import refuse
from softaug.lab.data.datasets import is_files
from softaug.lab.data.images import load
from softaug.lab.evaluation.compare import COMPARISON, compare_runs
from softaug.lab.evaluation.show import draw_versions
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import PaperTable
from softaug.lab.report.evaluation import print_findings, write_report
from softaug.lab.report.examples import Card, crops_figure
from softaug.lab.report.model import Figure, slug
from softaug.lab.report.paper import print_paper_table, write_paper_table
from softaug.lab.reproduce.collect import Collector
from softaug.lab.reproduce.cost import estimate_left, format_duration
from softaug.lab.reproduce.local import default_at_once
from softaug.lab.reproduce.plan import Plan, write_digits_if_needed, write_grid
from softaug.lab.reproduce.run_one import (
    WHO,
    GridOptions,
    GridRun,
    Outcome,
    Runner,
    begins_from,
    has_diverged,
    is_done,
    is_finished,
)
from softaug.lab.reproduce.status_page import INDEX, StatusPage
from softaug.lab.training.distributed import SIGNALS, handle_signals
from softaug.lab.training.run_dir import hold
from softaug.lab.training.trainer import StoppedError

NUM_CROPS = 8


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

    def run(self) -> None:
        """Do what is left, then write and print all; code 1 where runs have no result."""
        names = [table.name for table in self.plan.tables]
        left = self._find_left()
        out, remedy = self.plan.out, "wait for it, or choose another --out"
        rule = f"only one command may work in {out}"
        with _explain_write_errors(out), hold(out / ".lock", 0, WHO, rule, remedy):
            write_digits_if_needed(self.plan)
            write_grid(self.plan)
            self.collector.collect(names)
            self.page.write(live=True)
            try:
                self._run_all(left)
            except KeyboardInterrupt:
                self._write_partial(names)
                message = f"stopped; all is kept in {out}, the same command goes on"
                raise StoppedError(message) from None
            for file in self.collector.collect(names):
                render(file, self.console)
            pages = [
                page for table in self.plan.tables if table.compare for page in self._compare(table)
            ]
            self.page.write(live=False)
        problems = self._describe_problems(left)
        for line in (*problems, *(f"Report: {page}" for page in pages if not problems)):
            print_plain(line, self.console)
        if problems:
            raise SystemExit(1)

    def _find_left(self) -> list[GridRun]:
        """Return what is to be done and can be; refuse if there is something and nothing can."""
        todo = [run for run in self.plan.runs if not is_done(run, self.options)]
        left = [run for run in todo if run.no_data is None]
        if len(todo) == len(self.plan.runs) and todo and not left:
            raise ValueError("\n".join(dict.fromkeys(run.no_data for run in todo if run.no_data)))
        return left

    def _run_all(self, left: Sequence[GridRun]) -> None:
        """Do the runs; collect and write the page after each."""
        if left:
            print_plain(f"progress: {self.plan.out / INDEX}", self.console)
        by_name = {run.name: run for run in left}
        progress = GridProgress(left, self.at_once or default_at_once(self.options.device))
        outcomes = self._run_in_order(left)
        live = self.page.keep_updated(progress.seconds_left)
        with live, handle_signals(SIGNALS, self._interrupt), closing(outcomes):
            for outcome in outcomes:
                run = by_name[outcome.name]
                names = self.plan.tables_of(run.recipe)
                self.collector.collect(names)
                self.changed.update(names)
                print_plain(progress.update(outcome, self.collector.error_of(run)), self.console)
                self.page.write(progress.seconds_left(), live=True)

    def _run_in_order(self, left: Sequence[GridRun]) -> Generator[Outcome, None, None]:
        """Do runs first whose weights others begin from."""
        names = {run.name for run in left}
        later = [run for run in left if begins_from(run.recipe) in names]
        for part in ([run for run in left if run not in later], later):
            if part:
                yield from self.runner(part, self.options, self.at_once)

    def _interrupt(self, number: int, frame: FrameType | None) -> NoReturn:
        self.num_interrupts += 1
        print_plain("stopping: runs save their state", self.console)
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

    def _compare(self, study: PaperTable) -> Iterator[Path]:
        """Write the comparison of each group that has more than one finished arm."""
        groups: dict[str, dict[str, AnyRecipe]] = {}
        for row in study.rows:
            if recipe := self.plan.recipe_of(study, row):
                groups.setdefault(row.group, {})[row.label] = recipe
        is_trial = self.plan.scale == "smoke"
        for number, (group, arms) in enumerate(groups.items()):
            runs = [run for recipe in arms.values() for run in self.plan.runs_of(recipe)]
            finished = [run for run in runs if is_finished(run.folder)]
            if len({run.recipe.name for run in finished}) > 1:
                name = f"trial-{number}" if is_trial else slug(group)
                out = self.plan.out / "compare" / f"{study.name}-{name}"
                labels = {recipe.name: label for label, recipe in arms.items()}
                compare_runs([run.folder for run in finished], out, labels)
                opening = tuple(draw_soft_arm(arms, self.options.data_dir))
                title = study.title if len(groups) == 1 or is_trial else f"{study.title}: {group}"
                title = f"Trial run, no evidence: {title}" if is_trial else title
                yield write_report(out / COMPARISON, title, opening)
                if not is_trial:
                    self.console.print()
                    print_findings(out / COMPARISON, self.console)

    def _describe_problems(self, left: Sequence[GridRun]) -> list[str]:
        """Say what did not come out; what diverged in the paper may do so here."""
        unfinished = [run for run in left if not is_done(run, self.options)]
        expected = self.plan.may_diverge()
        diverged = [
            run.name
            for run in self.plan.runs
            if has_diverged(run.folder, run.recipe) and run.recipe.name not in expected
        ]
        problems = []
        if unfinished:
            num = len(unfinished)
            problems.append(f"{num} runs did not finish; the same command tries them again")
        if diverged:
            rule = "they are not tried again unless you remove their folders"
            problems.append(f"{len(diverged)} runs diverged; {rule}: {', '.join(diverged)}")
        return problems


def draw_soft_arm(arms: Mapping[str, AnyRecipe], data_dir: Path | None) -> Iterator[Figure]:
    """Draw test images as the first soft arm is trained on them; photographs are not drawn.

    Shows the first image of each of eight classes, the farthest of eight crops of each.
    """
    soft = {
        label: recipe
        for label, recipe in arms.items()
        if isinstance(recipe, Recipe) and recipe.loss.soften != "none"
    }
    label, recipe = next(iter(soft.items()), ("", None))
    if recipe is None or is_files(recipe.data.name):
        return
    data = load(recipe.data.name, data_dir)
    assert data.test is not None, "images in memory have test images"
    labels = data.test.labels
    first = [int((labels == number).nonzero()[0]) for number in range(NUM_CROPS)]
    images = data.test.fetch(torch.tensor(first))
    versions = draw_versions(
        images, recipe, images.shape[-1], draws=NUM_CROPS, seed=0, num_classes=len(data.class_names)
    )
    farthest = [min(crops, key=lambda crop: crop.visible) for crops in versions]
    cards = []
    for crop, name in zip(farthest, data.class_names, strict=False):
        visible, target = f"visible {100 * crop.visible:.0f} %", f"target {crop.confidence:.2f}"
        cards.append(Card(crop.image.permute(1, 2, 0).numpy(), name, visible, (target,)))
    yield crops_figure(label, cards)


def render(file: Path, console: Console) -> None:
    """Write the table or figure of a collected file beside it in every format, and print it."""
    written = write_paper_table(file)
    print_paper_table(file, console)
    print_plain(f"\n{file.parent}: {', '.join(path.name for path in written)}\n", console)


def print_plain(line: str, console: Console) -> None:
    """Print a line as it is: neither wrapped nor colored."""
    console.print(line, soft_wrap=True, highlight=False, markup=False)


class GridProgress:
    """Counts the runs of a grid as they end, and estimates the time left."""

    def __init__(self, runs: Sequence[GridRun], at_once: int) -> None:
        estimated = [run.hours for run in runs if run.hours is not None]
        mean = sum(estimated) / len(estimated) if estimated else 1.0
        self.costs = {run.name: mean if run.hours is None else run.hours for run in runs}
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
    """Say how to go on where a file cannot be written, such as on a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(out):
            raise
        remedy = "make room there, and the same command goes on, or choose another --out"
        refuse(WHO, f"results must be written to {out}", error, remedy)
