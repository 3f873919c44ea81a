"""Runs of seconds, and what can happen to the processes that do them."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

from softaug.lab.recipes import find
from softaug.lab.reproduce.run_one import GridOptions, GridRun

OPTIONS = GridOptions(device="cpu", draws=1)
DIGITS = find("digits-resnet8-soft").recipe
EPOCHS = 16  # long enough to be broken off in the middle on a busy machine


def grid_run(out, name="run", **changes):
    recipe = replace(DIGITS, **{"epochs": EPOCHS, **changes})
    return GridRun(name, recipe, out / "runs" / name)


def weights(run):
    newest = max(run.folder.glob("checkpoints/step-*"))
    return (newest / "model.safetensors").read_bytes()


def log_of(run):
    return (run.folder / "log.txt").read_text()


def has_begun(run):
    return any(run.folder.glob("checkpoints/step-*"))


def workers_of(run):
    """The processes that do `run`: Ray gives them its name."""
    title = f"ray::{run.name}\0".encode()
    processes = [path for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [int(path.name) for path in processes if _title(path).startswith(title)]


def _title(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def kill_workers(run):
    for process in workers_of(run):
        os.kill(process, signal.SIGKILL)


class Meanwhile(threading.Thread):
    """Does `act` beside the test, as soon as something is `due`."""

    def __init__(self, due, act):
        super().__init__(daemon=True)
        self.due, self.act = due, act
        self.start()

    def run(self):
        while not self.due():
            time.sleep(0.02)
        self.act()
