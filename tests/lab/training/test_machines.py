"""Two machines, as two agents of torchrun on one: they agree on one run as its two processes."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from photos import write_photos
from team_harness import descendants, free_ports
from tiny_runs import rows, weights

SETTINGS = [
    *("--data.size", "32", "--batch", "8", "--epochs", "2", "--optim.warmup-epochs", "0"),
    *("--threads", "1", "--workers", "1", "--checkpoint-steps", "1"),
]


def agent(place, out, *torchrun):
    """One agent of torchrun with one process or more, which trains on the photos of `place`."""
    data = ["--data.name", f"folder:{place / 'photos'}"]
    command = ["train", "imagenette-resnet8-s2-soft", *data, *SETTINGS, "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *torchrun, "-m", "softaug", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def machines(place, out):
    """Two agents that find each other on loopback."""
    meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_ports(1)[0]}"]
    both = ["--nnodes", "2", "--nproc-per-node", "1", "--local-addr", "127.0.0.1", *meet]
    return [agent(place, out, *both) for _ in range(2)]


def ends(agents):
    """Exit codes, and what was said."""
    try:
        said = [one.communicate(timeout=300)[0] for one in agents]
    finally:
        kill(agents)
    return [one.returncode for one in agents], "".join(said)


def kill(agents):
    """Agents, their processes and loader workers: all at once."""
    for process in descendants([one.pid for one in agents]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def kill_in_mid_epoch(agents, out):
    """Every process of both machines dies after the second checkpoint, in the first epoch."""
    until = time.monotonic() + 240
    while len(list((out / "checkpoints").glob("step-*"))) < 2:
        if time.monotonic() > until:
            kill(agents)
        assert time.monotonic() < until, ends(agents)
        time.sleep(0.02)
    kill(agents)
    ends(agents)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One machine with two processes; two machines that were killed and begun again."""
    place = tmp_path_factory.mktemp("machines")
    write_photos(place / "photos", num_train=20)
    codes, said = ends([agent(place, place / "one", "--standalone", "--nproc-per-node", "2")])
    assert not any(codes), said
    kill_in_mid_epoch(machines(place, place / "killed"), place / "killed")
    codes, said = ends(machines(place, place / "killed"))
    assert not any(codes), said
    (place / "said").write_text(said)
    return place


def test_two_machines_killed_in_mid_epoch_learn_what_two_processes_of_one_learn(place):
    step = int(re.search(r"going on from step (\d+)", (place / "said").read_text())[1])
    assert step % 8, "it was killed between two epochs"  # 60 photographs in steps of 8
    assert weights(place / "killed") == weights(place / "one")
    assert rows(place / "killed") == rows(place / "one")
