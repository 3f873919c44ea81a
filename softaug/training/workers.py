"""Many independent trials over processes of one thread each."""

import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any

import torch
from rich.console import Console

from softaug.checks import check_whole
from softaug.progress import Show, progress
from softaug.training.interruption import deaf_to_ctrl_c
from softaug.training.trial import Trial, run_trial

_shared: tuple["Synchronized[int]", Event]  # images seen by all workers; time to stop


class ToldToStopError(Exception):
    """A worker was told to stop."""


def run_trials(trials: Sequence[Trial], processes: int, console: Console) -> list[dict[str, Any]]:
    """The results of `trials`, in their order; their bits do not depend on `processes`.

    Each trial runs in a spawned process of one thread, even with one process. Ctrl-C, an
    error in a trial or the death of this process ends the workers.
    """
    check_whole("run_trials", "processes", processes, least=1)
    context = multiprocessing.get_context("spawn")
    seen, stop = context.Value("q", 0), context.Event()
    workers = min(processes, len(trials))
    pool = ProcessPoolExecutor(workers, context, _start_worker, (seen, stop))
    total = sum(trial.num_images for trial in trials)
    try:
        with progress(console, total, "images") as show:
            with deaf_to_ctrl_c():
                futures = [pool.submit(_run, trial) for trial in trials]
            _watch(futures, seen, show)
            return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _watch(
    futures: "Sequence[Future[dict[str, Any]]]", seen: "Synchronized[int]", show: Show
) -> None:
    """Show the progress until all are done; raise at once what a trial raises."""
    pending = set(futures)
    while pending:
        show(seen.value, f"{len(futures) - len(pending)} of {len(futures)} runs")
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
    show(seen.value, f"{len(futures)} of {len(futures)} runs")


def _start_worker(seen: "Synchronized[int]", stop: Event) -> None:
    global _shared
    _shared = seen, stop
    torch.set_num_threads(1)  # another number of threads changes the bits
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """End with the parent even if it was killed and could not say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run(trial: Trial) -> dict[str, Any]:
    return run_trial(trial, _report)


def _report(num_images: int) -> None:
    seen, stop = _shared
    if stop.is_set():
        raise ToldToStopError
    with seen.get_lock():
        seen.value += num_images
