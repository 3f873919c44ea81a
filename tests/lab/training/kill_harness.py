"""Kills training by SIGKILL at seeded moments; says as JSON how it ended. For test_kill.py.

Children are forked, so that each needs no seconds to import torch.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch
from rich.console import Console
from tiny_runs import final_state, tiny

from softaug.lab.recipes import Pace
from softaug.lab.training import checkpoint, command
from softaug.lab.training.logging import METRICS, MetricLogger
from softaug.lab.training.run_dir import RunOptions
from softaug.lab.training.setup import load_data

PACE = Pace("confidence-match", find_k=True, by="sample")
RECIPE = tiny(epochs=3, optim_ema=0.9, loss_online_smoothing=0.5, augment_pace=PACE)
KILLS = 3  # at least, by the clock


def die(*_: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def start(folder: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Train in a child process, after `prepare`; its number."""
    child = os.fork()
    if child:
        return child
    try:
        prepare()
        options = RunOptions(out=folder, checkpoint_steps=2)
        command.train(RECIPE, options, Console(file=sys.stderr))
        os._exit(0)
    finally:
        os._exit(1)


def wait(child: int) -> int:
    """0 for a run that finished, -9 for one that was killed."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code


def state(folder: Path) -> dict[str, Any]:
    names = sorted(path.name for path in (folder / "checkpoints").iterdir())
    return {**final_state(folder), "names": names}


def killed_by_the_clock(folder: Path, draw: random.Random, seconds: float) -> int:
    """Kill until it finishes by itself; the number of kills that found it running."""
    for kills in range(30):
        child = start(folder)
        time.sleep(draw.uniform(0.1, 0.6) * seconds)
        os.kill(child, signal.SIGKILL)
        if wait(child) == 0:
            return kills
    assert wait(start(folder)) == 0
    return 30


def half_a_file(number: int) -> Callable[[], None]:
    """Die within the write of that number."""

    def prepare() -> None:
        write, count = checkpoint._write, [0]

        def written(path: Path, content: bytes) -> None:
            count[0] += 1
            if count[0] == number:
                path.write_bytes(content[: len(content) // 2])
                die()
            write(path, content)

        checkpoint._write = written

    return prepare


def before_pruning() -> None:
    """Die when a third checkpoint has its name and the first is still there."""
    sync = checkpoint.sync_folder

    def synced(folder: Path) -> None:
        sync(folder)
        if len(checkpoint.steps(folder)) == 3:
            die()

    checkpoint.sync_folder = synced


def within_pruning() -> None:
    """Die when half of an old checkpoint is gone."""
    remove = shutil.rmtree

    def removed(path: Path, **options: Any) -> None:
        if path.name.startswith("step-"):
            (path / "manifest.json").unlink()
            die()
        remove(path, **options)

    checkpoint.shutil.rmtree = removed


def half_a_row() -> None:
    def log(self: MetricLogger, row: dict[str, Any]) -> None:
        with (self._path.parent / METRICS).open("a") as file:
            file.write(json.dumps(row)[:20])
        die()

    MetricLogger.log = log  # type: ignore[method-assign]


def before_the_result() -> None:
    write = command.write_json

    def written(content: Any, path: Path, **how: Any) -> Path:
        return die() if path.name == "result.json" else write(content, path, **how)

    command.write_json = written


def killed_in_the_act(folder: Path, draw: random.Random) -> int:
    """Kill in the middle of one thing after the other; how often."""
    files = 6  # of a checkpoint: model, optimizer, ema, task, state, manifest
    writes = [half_a_file(draw.randint(1, 2 * files)) for _ in range(2)]
    acts = [*writes, half_a_row, before_pruning, within_pruning, before_the_result]
    codes = [wait(start(folder, act)) for act in acts]
    assert codes == [-9] * len(acts), codes
    assert wait(start(folder)) == 0
    return len(acts)


def main(place: Path) -> None:
    torch.set_num_threads(1)
    load_data(RECIPE, None)  # once, not in each child
    begun = time.monotonic()
    assert wait(start(place / "unbroken")) == 0
    seconds, draw = time.monotonic() - begun, random.Random(0)
    kills, folders = 0, []
    while kills < KILLS:
        folders.append(place / f"killed-{len(folders)}")
        kills += killed_by_the_clock(folders[-1], draw, seconds)
    acts = killed_in_the_act(place / "acts", draw)
    report = {
        "unbroken": state(place / "unbroken"),
        "by the clock": [state(folder) for folder in folders],
        "in the act": state(place / "acts"),
        "kills": kills,
        "acts": acts,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
