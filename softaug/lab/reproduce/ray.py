"""Runs on Ray: on this machine, or on a cluster whose nodes share a folder."""

import importlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import torch

from softaug.checks import refuse
from softaug.lab.io import write_text
from softaug.lab.reproduce.local import GRACE, default_at_once
from softaug.lab.reproduce.plan import GridOptions, GridRun, Outcome
from softaug.lab.reproduce.run_one import LOG, attempt, note_failure, told
from softaug.lab.training.logging import environment

AUTO = "auto"  # the cluster that this machine is a node of
CONNECT_SECONDS = 7  # the lookup of the name included
JOIN_SECONDS = 7  # both together are less than 15
# In a process of its own, since nothing but a kill ends Ray's waiting.
TRIAL = """
import sys, ray
print("imported", flush=True)
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
"""
START = "start it with `ray start --head`, and run this on one of its nodes (docs/scale.md)"


def check_address(address: str) -> None:
    """Refuse an address that is not HOST:PORT or "auto", or where nothing listens."""
    if address == AUTO:
        return
    host, _, port = address.rpartition(":")
    rule = "address must be HOST:PORT of a Ray cluster, or auto"
    if "/" in address:
        remedy = "a ray:// connection is lost too easily for long runs: run this on a node"
        refuse("reproduce", rule, repr(address), remedy)
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        refuse("reproduce", rule, repr(address), "Ray's own port is 6379, as in head:6379")
    failed = _connect(host.strip("[]"), int(port))
    if failed is not None:
        rule = f"a Ray cluster must answer at {address}"
        refuse("reproduce", rule, getattr(failed, "strerror", None) or failed, START)


def _connect(host: str, port: int) -> Exception | None:
    """Why nothing answers there; None if something does.

    In a thread that can be left alone: nothing ends the lookup of a name before its time, and
    each address that it finds would be given all of ours.
    """
    outcome = Queue[Exception | None]()

    def connect() -> None:
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
        except (OSError, UnicodeError) as failed:  # the latter for what can be no name
            outcome.put(failed)
        else:
            outcome.put(None)

    threading.Thread(target=connect, daemon=True).start()
    try:
        return outcome.get(timeout=CONNECT_SECONDS)
    except Empty:
        return TimeoutError(f"no answer within {CONNECT_SECONDS} s")


def check_joins(address: str) -> None:
    """Refuse what answers but cannot be joined: no Ray, another version, no node of it here."""
    command = [sys.executable, "-c", TRIAL, address]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as trial:
        assert trial.stdout is not None, "it is a pipe"
        try:
            trial.stdout.readline()  # an import may take long where files are far
            said = trial.communicate(timeout=JOIN_SECONDS)[1]
            limit = ""
        except subprocess.TimeoutExpired:
            trial.kill()
            said = trial.communicate()[1]
            limit = f" within {JOIN_SECONDS} s"
        finally:
            trial.kill()  # also when interrupted
    if trial.returncode != 0:
        rule = f"the Ray cluster at {address} must let us join{limit}"
        refuse("reproduce", rule, said.strip().rpartition("\n")[2] or "no answer", START)


OWN = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent to anyone
    # Off, Ray listens on loopback alone, as it does on macOS and Windows without being asked.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "OMP_NUM_THREADS": "1",  # for the workers, which inherit it
}
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
ONE_THREAD = {"env_vars": {"OMP_NUM_THREADS": "1"}}
STORE_BYTES = 100 * 2**20  # results go to files; Ray would take 30 % of the memory


@contextmanager
def own_ray(at_once: int, device: str = "auto") -> Iterator[None]:
    """A Ray on this machine only, for so many runs at once; it ends with the block.

    It has no dashboard, and what workers print stays in Ray's logs. Where this process is
    connected to a Ray already, that one is used, and left as it is.
    """
    on_gpus = device in ("auto", "cuda") and torch.cuda.is_available()
    settings = {
        "address": "local",
        "num_cpus": at_once,
        "num_gpus": torch.cuda.device_count() if on_gpus else 0,
        "object_store_memory": STORE_BYTES,
        "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
    }
    with _variables(OWN):
        if ray_module().is_initialized():
            yield
        else:
            with _connection(settings):
                yield


@contextmanager
def joined(address: str) -> Iterator[None]:
    """The cluster at `address`; refused if there is none that can be joined.

    Looking for it takes at most 15 s, the import of Ray not counted.
    """
    check_address(address)
    check_joins(address)
    with _connection({"address": address, "runtime_env": ONE_THREAD}):
        yield


@contextmanager
def _connection(settings: Mapping[str, Any]) -> Iterator[None]:
    ray = ray_module()
    try:
        with _kept_sigterm():
            _start(ray, settings)
        yield
    finally:
        ray.shutdown()


def _start(ray: Any, settings: Mapping[str, Any]) -> None:
    try:
        ray.init(**QUIET, **settings)
    except Exception as failed:  # Ray gives itself 30 s, and raises bare Exceptions
        remedy = "try again when the machine is less busy, or say --local"
        refuse("reproduce", "Ray must start", f"{failed}", remedy)


@contextmanager
def _kept_sigterm() -> Iterator[None]:
    """Ray takes SIGTERM for itself and ends at once, but runs are to save first."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def ray_module() -> Any:
    """Ray, imported only where it is used; refused where it is not installed.

    (It reads its environment when it is imported, and other commands can do without it.)
    """
    try:
        return importlib.import_module("ray")
    except ImportError:
        remedy = "pip install 'softaug[cluster]', or say --local"
        refuse("reproduce", "Ray must be installed", "none", remedy)


@contextmanager
def _variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for this process and those it starts inside."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


CODE = ("softaug", "commit", "torch", "torchvision")
NODE_SECONDS = 180  # a node's first worker imports torch, perhaps from a slow disk


@dataclass(frozen=True)
class Meeting:
    """What a node must find: a file by its text, and its own code by its versions."""

    file: Path
    text: str
    code: dict[str, str | None]


@contextmanager
def meeting(folder: Path) -> Iterator[Meeting]:
    """A file in `folder` by which nodes tell that they see it."""
    text = secrets.token_hex(8)
    file = write_text(text, folder / f".meeting-{text}")
    try:
        yield Meeting(file, text, code_here())
    finally:
        file.unlink(missing_ok=True)


def code_here() -> dict[str, str | None]:
    """What a number may depend on, of this process."""
    here = environment()
    return {name: here[name] for name in CODE}


def check_node(place: Meeting) -> None:
    """On a node: refuse if it does not see the folder, cannot write to it, or has other code."""
    folder = place.file.parent
    if not place.file.is_file() or place.file.read_text() != place.text:
        remedy = "choose an --out that all nodes share"
        refuse("reproduce", f"every node must see {folder}", "another folder or none", remedy)
    write_text("", folder / f".{secrets.token_hex(8)}").unlink()
    for name, ours in place.code.items():
        theirs = code_here()[name]
        if ours is not None and theirs is not None and ours != theirs:
            rule = f"every node must have {name} {ours}"
            refuse("reproduce", rule, theirs, "install the same on all, or share one environment")


def check_nodes(place: Meeting) -> None:
    """Ask every node that can do runs; the first that is unfit is named and refused."""
    ray = ray_module()
    asked = {_ask(node, place): node["NodeManagerAddress"] for node in able_nodes(ray.nodes())}
    if not asked:
        return  # of a cluster that grows when there is work
    answers, late = ray.wait(list(asked), num_returns=len(asked), timeout=NODE_SECONDS)
    for answer in answers:
        try:
            ray.get(answer)
        except ray.exceptions.RayError as failed:
            why = told(getattr(failed, "cause", None) or failed)
            raise ValueError(f"reproduce: node {asked[answer]} is unfit: {why}") from None
    if late:
        rule = f"every node must answer within {NODE_SECONDS} s"
        refuse("reproduce", rule, f"nothing from {asked[late[0]]}", "look at it, or take it out")


def able_nodes(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are alive and have a core for a run; a head often has none."""
    return [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]


def _ask(node: dict[str, Any], place: Meeting) -> Any:
    ray = ray_module()
    there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        node["NodeID"], soft=False
    )
    task = ray.remote(num_cpus=0, scheduling_strategy=there)(check_node)
    return task.remote(place)


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
