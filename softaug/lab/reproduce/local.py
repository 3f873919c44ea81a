"""Run on this machine without Ray: a process per core, or one per GPU, each does many runs.

(Not concurrent.futures: there, one process that dies breaks the whole pool.)
"""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import connection, get_context, parent_process, set_start_method
from types import FrameType
from typing import NoReturn

import torch

from softaug.lab.reproduce.run_one import GridOptions, GridRun, Outcome, save_failure, try_run
from softaug.lab.training.distributed import ignore_sigint
from softaug.lab.training.logging import num_cores

GRACE = 60  # seconds for a run to finish its step and save, when it is to stop


def run_locally(
    runs: Sequence[GridRun], options: GridOptions, at_once: int | None = None
) -> Generator[Outcome, None, None]:
    """Do `runs`, `at_once` at a time, and yield each outcome as it comes.

    A process that dies fails its run only. Closed early or interrupted, all runs save their
    state.
    """
    waiting = deque(runs)
    num = min(at_once or default_at_once(options.device), len(runs))
    gpus = _count_gpus(options.device)
    devices = [f"cuda:{rank % gpus}" if gpus else options.device for rank in range(num)]
    workers = [Worker(replace(options, device=device)) for device in devices]
    try:
        for worker in workers:
            worker.begin(waiting.popleft())
        while busy := [worker for worker in workers if worker.run is not None]:
            ready = connection.wait([worker.pipe for worker in busy])
            for worker in (worker for worker in busy if worker.pipe in ready):
                yield worker.receive_outcome()
                if waiting:
                    worker.begin(waiting.popleft())
    finally:
        stop_workers(workers)


def default_at_once(device: str) -> int:
    """Return the number of GPUs where they are used, else of cores."""
    return _count_gpus(device) or num_cores()


def _count_gpus(device: str) -> int:
    return torch.cuda.device_count() if device in ("auto", "cuda") else 0


class Worker:
    """A process that does one run after another; it is started again if it dies."""

    run: GridRun | None = None  # what it does now

    def __init__(self, options: GridOptions) -> None:
        self._options = options
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")  # a fork would inherit threads and locks of torch
        self.pipe, worker_end = context.Pipe()
        self._process = context.Process(target=_work, args=(worker_end, self._options))
        with ignore_sigint():
            self._process.start()
        worker_end.close()  # so that its death is seen as the end of the pipe

    def begin(self, run: GridRun) -> None:
        """Give it a run; a process that died while idle is replaced."""
        if not self._process.is_alive():
            self._start()
        self.run = run
        with suppress(BrokenPipeError):  # it died this very moment: `receive_outcome` notices
            self.pipe.send(run)

    def receive_outcome(self) -> Outcome:
        """Return how its run ended, in death too; it is free then."""
        run, self.run = self.run, None
        assert run is not None, "it has a run"
        try:
            outcome: Outcome = self.pipe.recv()
            return outcome
        except (EOFError, OSError):
            self._process.join()
        code = self._process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
        message = f"its process ended by {how}; the same command goes on with it"
        save_failure(run.folder, message)
        self._start()
        return Outcome(run.name, error=message)

    def request_stop(self) -> None:
        """Let an idle process end; have one at work save and end."""
        self.pipe.close()
        if self.run is not None and self._process.is_alive():
            self._process.terminate()

    def join(self) -> None:
        """Wait until it has ended; kill it if that takes too long."""
        self._process.join(GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def stop_workers(workers: Sequence[Worker]) -> None:
    """End all processes, which save side by side."""
    for worker in workers:
        worker.request_stop()
    for worker in workers:
        worker.join()


def _work(pipe: "connection.Connection[Outcome, GridRun]", options: GridOptions) -> None:
    """Do runs as they come, until the pipe is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    set_start_method(None, force=True)  # readers of files: as in any run, not spawned
    signal.signal(signal.SIGTERM, _exit)  # training has its own handler, which saves first
    try:
        while True:
            pipe.send(try_run(pipe.recv(), options))
    except (EOFError, BrokenPipeError):
        return


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)  # runs `finally` clauses: locks and readers


def _end_with_parent() -> None:
    """Save and stop the run at work when the parent dies in whatever way."""
    parent = parent_process()
    assert parent is not None, "it was spawned"
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
