"""Run on Ray: on this machine, or on a cluster whose nodes share the results' folder."""

import math
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType
from typing import Any

from softaug.checks import refuse
from softaug.lab.reproduce.local import GRACE, default_at_once
from softaug.lab.reproduce.run_one import (
    WHO,
    GridOptions,
    GridRun,
    Outcome,
    describe_error,
    save_failure,
    try_run,
)
from softaug.lab.training.logging import environment

RETRIES = 3  # after a worker or its node died
ANSWER_SECONDS = 30
RUNTIME_ENV = {"env_vars": {"OMP_NUM_THREADS": "1"}}  # another number changes the last bits
OWN_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # send nothing to anyone
    "RAY_task_oom_retries": str(RETRIES),  # by default without end
    # Off, Ray listens on loopback only, as it does on macOS and Windows by default.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
STORE_BYTES = 100 * 2**20  # results go to files; by default Ray takes 30 % of the memory


class UnfitNodeError(Exception):
    """A node cannot do runs of this grid."""


def run_on_ray(
    runs: Sequence[GridRun],
    options: GridOptions,
    at_once: int | None = None,
    address: str | None = None,
) -> Generator[Outcome, None, None]:
    """Do `runs`, at most `at_once` at a time, and yield each outcome as it comes.

    Without an `address` on a Ray that ends with the runs, else on the cluster there. A run whose
    worker dies goes on from its checkpoint on another. Closed early or interrupted, all runs save
    their state.
    """
    if not runs:
        return
    if options.data_dir is not None:  # workers may have another working directory
        options = replace(options, data_dir=options.data_dir.absolute())
    if address is None:
        with own_ray(at_once or default_at_once(options.device)) as ray:
            yield from _run_tasks(ray, runs, options, at_once, None)
        return
    check_cluster(address)
    folder = runs[0].folder.parent
    folder.mkdir(parents=True, exist_ok=True)
    with _connect(address) as ray, NamedTemporaryFile(dir=folder) as marker:
        yield from _run_tasks(ray, runs, options, at_once, Path(marker.name))


def check_cluster(address: str) -> None:
    """Refuse an address where no Ray cluster answers soon: `ray.init` would wait for minutes."""
    if "://" in address:
        remedy = "a ray:// connection is lost too easily for long runs: run this on a node"
        refuse(WHO, "address must be HOST:PORT of a Ray cluster, or auto", repr(address), remedy)
    command = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
    try:
        status = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
        reason = status.stderr.strip().rpartition("\n")[2] or "nothing" if status.returncode else ""
    except subprocess.TimeoutExpired:
        reason = f"no answer within {ANSWER_SECONDS} s"
    if reason:
        remedy = "start it with `ray start --head`, and run this on a node (docs/guide/scale.md)"
        refuse(WHO, f"a Ray cluster must answer at {address}", reason, remedy)


@contextmanager
def own_ray(num_cpus: int) -> Iterator[ModuleType]:
    """Start a Ray for this machine only; it ends with the block.

    Where this process is connected to a Ray already, that one is used and left running.
    """
    os.environ.update(OWN_SETTINGS)  # Ray reads them when it is imported
    ray = import_module("ray")
    if ray.is_initialized():
        yield ray
        return
    own = {"num_cpus": num_cpus, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    with _connect("local", _node_ip_address="127.0.0.1", **own):
        yield ray


@contextmanager
def _connect(address: str, **settings: Any) -> Iterator[ModuleType]:
    """Connect to Ray; keep the handler of SIGTERM, which Ray replaces by an immediate exit."""
    ray = import_module("ray")
    handler = signal.getsignal(signal.SIGTERM)
    settings |= {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        ray.init(address, runtime_env=RUNTIME_ENV, **settings)
    except Exception as error:  # Ray raises bare Exceptions
        ray.shutdown()
        remedy = "try again when the machine is less busy, or say --local"
        refuse(WHO, "Ray must start", error, remedy)
    finally:
        signal.signal(signal.SIGTERM, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _run_tasks(
    ray: ModuleType,
    runs: Sequence[GridRun],
    options: GridOptions,
    at_once: int | None,
    marker: Path | None,
) -> Iterator[Outcome]:
    """Have Ray do `runs`, a core each, or a GPU where there are any."""
    share = gpu_share(options.device, int(ray.cluster_resources().get("GPU", 0)), at_once)
    if share:
        options = replace(options, device="cuda")  # Ray shows a task only its own
    task = ray.remote(num_cpus=1, num_gpus=share, max_retries=RETRIES)(_run_in_worker)
    waiting, pending = deque(runs), dict[Any, GridRun]()
    versions = code_versions()
    try:
        while waiting or pending:
            while waiting and len(pending) < (at_once or len(runs)):
                run = waiting.popleft()
                named = task.options(name=run.name)
                pending[named.remote(run, options, marker, versions)] = run
            ended = ray.wait(list(pending))[0][0]
            yield _get_outcome(ray, ended, pending.pop(ended))
    finally:
        for unfinished in pending:
            ray.cancel(unfinished)  # as Ctrl-C does: they save and end
        if pending:
            ray.wait(list(pending), num_returns=len(pending), timeout=GRACE)


def _run_in_worker(
    run: GridRun, options: GridOptions, marker: Path | None, versions: dict[str, Any]
) -> Outcome:
    if marker is not None:
        check_node(marker, versions)
    return try_run(run, options)


def check_node(marker: Path, versions: dict[str, Any]) -> None:
    """Refuse, on a node, a folder that it does not see and code of another version.

    `marker` is a file of a random name in the folder.
    """
    if not marker.is_file():
        rule = f"every node must see {marker.parent}"
        raise UnfitNodeError(f"{rule}; choose an --out that all nodes share")
    for name, version in code_versions().items():
        if None not in (versions[name], version) and versions[name] != version:
            rule = f"every node must have {name} {versions[name]}, got {version}"
            raise UnfitNodeError(f"{rule}; install the same on all, or share one environment")


def code_versions() -> dict[str, Any]:
    """Return the versions of this process's code that a number may depend on."""
    here = environment()
    return {name: here[name] for name in ("softaug", "commit", "torch", "torchvision")}


def _get_outcome(ray: ModuleType, task: Any, run: GridRun) -> Outcome:
    """Return how a run ended; an unfit node ends the grid, before it fails run after run."""
    try:
        outcome: Outcome = ray.get(task)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, UnfitNodeError):
            raise ValueError(f"{WHO}: {cause}") from None
        message = describe_error(cause).strip().partition("\n")[0]
        save_failure(run.folder, message)
        return Outcome(run.name, error=message)
    return outcome


def gpu_share(device: str, num_gpus: int, at_once: int | None) -> float:
    """Return how much of a GPU a run takes: 1, less if more runs than GPUs are asked for, or 0.

    >>> gpu_share("auto", 0, None), gpu_share("auto", 4, None), gpu_share("auto", 4, 8)
    (0, 1.0, 0.5)
    """
    if device.startswith("cuda:"):
        refuse(WHO, "Ray assigns the GPUs", f"device {device}", "say cuda, or auto")
    if device == "cuda" and num_gpus == 0:
        refuse(WHO, "the device cuda needs a GPU", "none that Ray sees", "say cpu")
    if device not in ("auto", "cuda") or num_gpus == 0:
        return 0
    return 1 / math.ceil((at_once or 1) / num_gpus)
