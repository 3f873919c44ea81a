"""Runs on Ray: on this machine, or on a cluster whose nodes share a folder."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from softaug.checks import refuse
from softaug.grid.do_run import LOG, attempt, note_failure, told
from softaug.grid.local import GRACE, default_at_once
from softaug.grid.ray_nodes import Meeting, check_node, check_nodes, meeting
from softaug.grid.ray_start import joined, own_ray, ray_module
from softaug.grid.run import GridOptions, GridRun, Outcome

TRIES = 4  # the first, and three after deaths of the worker
DEATHS = ("WorkerCrashedError", "OutOfMemoryError", "NodeDiedError")


def run_on_ray(
    runs: Sequence[GridRun],
    options: GridOptions,
    at_once: int | None = None,
    address: str | None = None,
) -> Iterator[Outcome]:
    """Do `runs`, at most `at_once` at a time, and tell each as it ends.

    Without an `address` on a Ray of our own, which ends with the runs; with one, on the cluster
    there. A run whose worker dies goes on from its checkpoint on another. Closed early or
    interrupted, all runs save where they stand.
    """
    if not runs:
        return
    if options.data_dir is not None:  # workers may stand in another folder
        options = replace(options, data_dir=options.data_dir.absolute())
    with ExitStack() as stack:
        if address is None:
            stack.enter_context(own_ray(at_once or default_at_once(options.device), options.device))
            place = None
        else:
            stack.enter_context(joined(address))
            place = stack.enter_context(meeting(runs[0].folder.parent))
            check_nodes(place)
        yield from _do(runs, _begin(options, at_once, place), at_once or len(runs))


def _begin(
    options: GridOptions, at_once: int | None, place: Meeting | None
) -> Callable[[GridRun], Any]:
    """What hands a run to Ray: a core each, or a GPU where there are any."""
    ray = ray_module()
    share = gpu_share(options.device, int(ray.cluster_resources().get("GPU", 0)), at_once)
    if share:
        options = replace(options, device="cuda")  # Ray shows a task only its own
    # Deaths are counted here: Ray would retry those for want of memory without end.
    task = ray.remote(num_cpus=1, num_gpus=share, max_retries=0)(_do_there)
    return lambda run: task.options(name=run.name).remote(run, options, place)


def gpu_share(device: str, num_gpus: int, at_once: int | None) -> float:
    """How much of a GPU a run takes: 1, less where more runs than GPUs are asked for, or 0.

    >>> gpu_share("auto", 0, None), gpu_share("auto", 4, None), gpu_share("auto", 4, 8)
    (0, 1, 0.5)
    """
    if device not in ("auto", "cuda"):
        if device.startswith("cuda"):
            refuse("reproduce", "Ray deals out the GPUs", f"device {device}", "say cuda, or auto")
        return 0
    if num_gpus == 0:
        if device == "cuda":
            refuse("reproduce", "the device cuda needs a GPU", "none that Ray sees", "say cpu")
        return 0
    runs_a_gpu = -(-(at_once or 1) // num_gpus)
    return 1 if runs_a_gpu == 1 else 1 / runs_a_gpu


def _do_there(run: GridRun, options: GridOptions, place: Meeting | None) -> Outcome:
    """In a worker: do a run, in the folder that all see."""
    if place is not None:  # a node may have joined after all were asked
        check_node(place)
    return attempt(run, options)


def _do(
    runs: Sequence[GridRun], begin: Callable[[GridRun], Any], at_once: int
) -> Iterator[Outcome]:
    """Keep `at_once` runs under way; those whose worker died come first again."""
    ray = ray_module()
    waiting, under_way, tries = deque(runs), dict[Any, GridRun](), Counter[str]()
    try:
        while waiting or under_way:
            while waiting and len(under_way) < at_once:
                run = waiting.popleft()
                under_way[begin(run)] = run
                tries[run.name] += 1
            ended = ray.wait(list(under_way))[0][0]
            run = under_way.pop(ended)
            outcome = _outcome(ended, run, last=tries[run.name] >= TRIES)
            if outcome is None:
                waiting.appendleft(run)
            else:
                yield outcome
    finally:
        _stop(list(under_way))


def _outcome(task: Any, run: GridRun, last: bool) -> Outcome | None:
    """How a run ended; None if its worker died and this was not the last try."""
    ray = ray_module()
    try:
        outcome: Outcome = ray.get(task)
    except tuple(getattr(ray.exceptions, name) for name in DEATHS) as died:
        _log(run, f"its worker died: {first_line(died)}")
        why = f"its worker died {TRIES} times: {first_line(died)}"
        return _failed(run, why) if last else None
    except ray.exceptions.RayError as failed:
        return _failed(run, told(getattr(failed, "cause", None) or failed))
    return outcome


def first_line(failed: Exception) -> str:
    """The first line of what Ray says, which may go on for pages."""
    return f"{failed}".strip().partition("\n")[0]


def _log(run: GridRun, line: str) -> None:
    run.folder.mkdir(parents=True, exist_ok=True)
    with (run.folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


def _failed(run: GridRun, message: str) -> Outcome:
    note_failure(run.folder, message)
    return Outcome(run.name, error=message)


def _stop(tasks: list[Any]) -> None:
    """Have runs save and end, as Ctrl-C does; too slow ones end without having saved."""
    ray = ray_module()
    for task in tasks:
        ray.cancel(task)
    if tasks:
        ray.wait(tasks, num_returns=len(tasks), timeout=GRACE)
