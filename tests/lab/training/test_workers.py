import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from softaug import SoftCrop, SoftLoss
from softaug.lab.training.demo import Arm, Plan, Trial, run_trials

ARM = Arm("soft", SoftCrop(0.1), SoftLoss("target"))
TINY = Trial(
    ARM, 0, Plan(1), num_train=20, width=8, split="validation", occlusion_draws=1, occlusion_fill=0
)

LONG = """
from rich.console import Console
from tests.training.test_workers import TINY, Plan, replace, run_trials
if __name__ == "__main__":
    run_trials([replace(TINY, plan=Plan(100_000))] * 2, 1, Console())
"""


def test_an_error_in_a_trial_is_raised_and_ends_the_others() -> None:
    wrong, endless = replace(TINY, num_train=7), replace(TINY, plan=Plan(100_000))
    with pytest.raises(ValueError, match="digits: num_train"):
        run_trials([wrong, endless], 1, Console(file=io.StringIO()))


def test_bad_number_of_processes_is_refused() -> None:
    with pytest.raises(ValueError, match="processes must be a whole number >= 1"):
        run_trials([TINY], 0, Console(file=io.StringIO()))


def descendants(pid: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == pid:
            child = int(status.parent.name)
            found |= {child} | descendants(child)
    return found


def wait_until(condition, seconds: float = 120) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return bool(condition())


def interrupt_soon() -> None:
    """Ctrl-C once the workers are there."""
    wait_until(multiprocessing.active_children)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_the_workers() -> None:
    threading.Thread(target=interrupt_soon, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_trials([replace(TINY, plan=Plan(100_000))] * 2, 1, Console(file=io.StringIO()))
    assert multiprocessing.active_children() == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_end_when_the_command_is_killed(tmp_path) -> None:
    script = tmp_path / "long.py"
    script.write_text(LONG)
    root = Path(__file__).parents[3]
    command = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert wait_until(lambda: len(descendants(command.pid)) >= 2)  # and a resource tracker
    workers = descendants(command.pid)
    command.kill()
    command.wait(60)
    assert wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
