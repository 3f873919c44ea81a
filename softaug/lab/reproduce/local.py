"""Runs on this machine without Ray: a process a core, or one a GPU, each does many runs."""

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import connection, get_context, parent_process, set_start_method
from types import FrameType
from typing import NoReturn

import torch
from rich.console import Console

from softaug.lab.reproduce.plan import GridOptions, GridRun, Outcome
from softaug.lab.reproduce.run_one import attempt, note_failure
from softaug.lab.training.logging import num_cores
from softaug.lab.training.signals import ignore_sigint

GRACE = 60  # seconds for a run to finish its step and save, when it is to stop


def run_locally(
    runs: Sequence[GridRun], options: GridOptions, at_once: int | None = None
) -> Iterator[Outcome]:
    """Do `runs`, `at_once` at a time, and tell each as it ends.

    A process that dies fails its run alone. Closed early or interrupted, all runs save where
    they stand.
    """
    waiting = deque(runs)
    num = min(at_once or default_at_once(options.device), len(runs))
    crew = [Worker(device_for(options, place)) for place in range(num)]
    try:
        for worker in crew:
            worker.begin(waiting.popleft())
        while busy := [worker for worker in crew if worker.run is not None]:
            for worker in wait_for(busy):
                yield worker.outcome()
                if waiting:
                    worker.begin(waiting.popleft())
    finally:
        stop(crew)


def default_at_once(device: str) -> int:
    """A run a GPU where they are used, else one a core."""
    on_gpus = device in ("auto", "cuda") and torch.cuda.is_available()
    return torch.cuda.device_count() if on_gpus else num_cores()


def device_for(options: GridOptions, place: int) -> GridOptions:
    """The options of the process at `place`: GPUs are dealt out in turn."""
    if options.device in ("auto", "cuda") and torch.cuda.is_available():
        return replace(options, device=f"cuda:{place % torch.cuda.device_count()}")
    return options


class Worker:
    """A process that does one run after another; a new one takes the place of one that died."""

    run: GridRun | None = None  # what it does now

    def __init__(self, options: GridOptions) -> None:
        self._options = options
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")  # a fork would inherit threads and locks of torch
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._options))
        with ignore_sigint():
            self._process.start()
        theirs.close()  # so that its end is seen when it dies

    def begin(self, run: GridRun) -> None:
        """Have it do `run`; one that died when it had nothing to do is replaced."""
        if not self._process.is_alive():
            self._start()
        self.run = run
        with suppress(BrokenPipeError):  # it died this very moment: its outcome tells
            self.pipe.send(run)

    def outcome(self) -> Outcome:
        """How its run ended; it is free then."""
        run, self.run = self.run, None
        assert run is not None, "it has a run"
        try:
            found: Outcome = self.pipe.recv()
        except (EOFError, OSError):
            return self._died(run)
        return found

    def _died(self, run: GridRun) -> Outcome:
        self._process.join()
        code = self._process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
        message = f"its process ended by {how}; the same command goes on with it"
        note_failure(run.folder, message)
        self._start()
        return Outcome(run.name, error=message)

    def tell_to_stop(self) -> None:
        """An idle process ends by itself, one at work saves and ends."""
        self.pipe.close()
        if self.run is not None and self._process.is_alive():
            self._process.terminate()

    def join(self) -> None:
        """Wait until it has ended; too slow a one is killed."""
        self._process.join(GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def wait_for(busy: Sequence[Worker]) -> list[Worker]:
    """Those of the busy that have ended their runs, at least one."""
    ready = connection.wait([worker.pipe for worker in busy])
    return [worker for worker in busy if worker.pipe in ready]


def stop(crew: Sequence[Worker]) -> None:
    """End all processes; first tell each, then wait, so that they save side by side."""
    for worker in crew:
        worker.tell_to_stop()
    for worker in crew:
        worker.join()


def _work(pipe: "connection.Connection[Outcome, GridRun]", options: GridOptions) -> None:
    """Do runs as they come, until nobody sends any more."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    set_start_method(None, force=True)  # readers of files: as in any run, not spawned
    signal.signal(signal.SIGTERM, _leave)  # training has its own way: it saves first
    try:
        while True:
            pipe.send(attempt(pipe.recv(), options))
    except (EOFError, BrokenPipeError):
        return


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)  # by way of what was to be done at the end, locks and readers


def _end_with_parent() -> None:
    """When the parent dies in whatever way, the run at work saves and stops."""
    parent = parent_process()
    assert parent is not None, "it was spawned"
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


class Telling:
    """Counts the runs of a grid as they end."""

    def __init__(self, total: int, console: Console) -> None:
        self.total, self.console = total, console
        self.done = 0
        self._begun = time.monotonic()

    def tell(self, outcome: Outcome, error: float | None) -> None:
        """Say how a run ended; `error` is its headline number, in %."""
        self.done += 1
        line = f"{self.done} of {self.total}  {outcome.name}: {_how(outcome, error)}{self._left()}"
        self.console.print(line, soft_wrap=True, highlight=False, markup=False)

    def _left(self) -> str:
        left = self.total - self.done
        if not left:
            return ""
        return f"; about {duration((time.monotonic() - self._begun) / self.done * left)} left"


def _how(outcome: Outcome, error: float | None) -> str:
    if outcome.error is not None:
        return f"FAILED: {outcome.error}"
    if outcome.diverged is not None:
        return f"DIVERGED: {outcome.diverged}"
    if outcome.stopped:
        return "stopped"
    return "finished" if error is None else f"finished, error {error:.2f} %"


def duration(seconds: float) -> str:
    """A time as one speaks of it.

    >>> duration(42.4), duration(600), duration(10_000), duration(200_000)
    ('42 s', '10 min', '2.8 h', '2.3 days')
    """
    for unit, length, digits in (("days", 86400, 1), ("h", 3600, 1), ("min", 60, 0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.{digits}f} {unit}"
    return f"{seconds:.0f} s"
