"""Whether a Ray cluster answers at an address: Ray itself tries for minutes, then gives up."""

import socket
import subprocess
import sys
import threading
from queue import Empty, Queue

from softaug.checks import refuse

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
