"""Being connected to a Ray: one of our own on this machine, or a cluster that is there."""

import importlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from softaug.checks import refuse
from softaug.grid.ray_address import check_address, check_joins

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
