"""Runs of every kind, each in a process of its own that something may happen to."""

import contextlib
import io
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from fault_layer import FileLayer
from photos import write_photos
from rich.console import Console
from team_harness import free_ports
from tiny_runs import final_state, tiny, tiny_pairs

from softaug.lab.recipes import Augment, Finetune, Mix, Pace, find
from softaug.lab.training.command import members, train, train_members
from softaug.lab.training.run_dir import RunOptions
from softaug.lab.training.setup import load_data
from softaug.lab.training.trainer import StoppedError, Trainer

PACE = Pace("confidence-match", find_k=True, by="sample")
STOPPED = 130
HANG = 240.0  # seconds
Work = Callable[[Path], None]
Hook = Callable[[], None]


class HangsError(Exception):
    """A process did not end."""


class Kind(NamedTuple):
    """A kind of run: how one process of it trains into a folder, and how many there are."""

    work: Work
    processes: int = 1


def make_kinds(folder: Path) -> dict[str, Kind]:
    """Return every kind of run that starts in this process; data are put into `folder`."""
    write_photos(folder / "photos", num_train=8)
    photos = make_photos_recipe(folder / "photos")
    train_one(tiny(epochs=1))(folder / "pretrained")
    weights = Finetune(str(folder / "pretrained"), layer_decay=0.5)
    policy = Augment(policy="trivialaugment")
    shared = tiny(loss_online_smoothing=0.5, optim_ema=0.5)
    load_data(tiny(), None)  # once, not in each child
    return {
        "supervised": Kind(train_one(tiny(epochs=3))),
        "paced": Kind(train_one(tiny(epochs=3, loss_online_smoothing=0.5, augment_pace=PACE))),
        "policy": Kind(train_one(tiny(epochs=3, augment=policy))),
        "mixing": Kind(train_one(tiny(epochs=3, mix=Mix("cutmix")))),
        "EMA": Kind(train_one(tiny(epochs=3, optim_ema=0.9))),
        "self-supervised": Kind(train_one(tiny_pairs())),
        "fine-tuned": Kind(train_one(tiny(finetune=weights))),
        "ensemble": Kind(train_ensemble(tiny(members=2))),
        "folder with workers": Kind(train_one(photos, workers=1)),
        "two processes": Kind(train_one(shared), processes=2),
    }


def make_photos_recipe(photos: Path) -> Any:
    """Make a recipe of two short epochs of a folder of photographs."""
    recipe = find("imagenette-resnet8-s2-soft").recipe
    data = replace(recipe.data, name=f"folder:{photos}", size=32)
    optim = replace(recipe.optim, warmup_epochs=0)
    return replace(recipe, data=data, optim=optim, batch=8, epochs=2)


def train_one(recipe: Any, **options: Any) -> Work:
    """Return what trains a recipe into a folder."""

    def work(folder: Path) -> None:
        chosen = RunOptions(out=folder, checkpoint_steps=2, device="cpu", threads=1, **options)
        train(recipe, chosen, Console(file=io.StringIO()))

    return work


def train_ensemble(recipe: Any) -> Work:
    """Return what trains the members of an ensemble."""

    def work(folder: Path) -> None:
        chosen = RunOptions(out=folder, checkpoint_steps=2, device="cpu", threads=1)
        train_members(recipe, chosen, Console(file=io.StringIO()))

    assert len(members(recipe)) == recipe.members
    return work


def read_state(folder: Path) -> Any:
    """Return all that must be the same, of a run or of each member."""
    if (folder / "result.json").exists():
        return final_state(folder)
    return {path.name: final_state(path) for path in sorted(folder.glob("member-*"))}


def start(kind: Kind, folder: Path, hook: Hook, rank_of_hook: int = 0) -> list[int]:
    """Start the processes of a run, one of them after `hook()`; return their numbers."""
    if kind.processes == 1:
        return [_fork(kind.work, folder, hook, {})]
    team = {"WORLD_SIZE": str(kind.processes), "MASTER_ADDR": "127.0.0.1"}
    team["MASTER_PORT"] = str(free_ports(1)[0])
    children = []
    for rank in range(kind.processes):
        numbers = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        own = hook if rank == rank_of_hook else lambda: None
        children.append(_fork(kind.work, folder, own, team | numbers))
    return children


def _fork(work: Work, folder: Path, hook: Hook, environment: dict[str, str]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setpgid(0, 0)
        os.environ.update(environment)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        torch.set_num_threads(1)
        with open(f"{folder}.log", "a") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        try:
            hook()
            work(folder)
            code = 0
        except (StoppedError, KeyboardInterrupt):
            code = STOPPED
        except (ValueError, OSError) as refused:
            print(f"refused: {refused}", file=sys.stderr, flush=True)
            code = 2
        except BaseException:
            traceback.print_exc()
    finally:
        os._exit(code)


def wait(children: list[int], seconds: float = HANG, grace: float = 20.0) -> list[int]:
    """Wait until all have ended; one that waits for another that was killed is killed too."""
    codes: dict[int, int] = {}
    until = time.monotonic() + seconds
    while len(codes) < len(children):
        for child in children:
            if child not in codes and (ended := os.waitpid(child, os.WNOHANG))[0]:
                codes[child] = os.waitstatus_to_exitcode(ended[1])
                with contextlib.suppress(ProcessLookupError):  # loader workers
                    os.killpg(child, signal.SIGKILL)
                if codes[child] < 0:  # as torchrun does to the others
                    until = min(until, time.monotonic() + grace)
        if time.monotonic() > until:
            late = [child for child in children if child not in codes]
            for child in late:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                codes[child] = -signal.SIGKILL
            if len(late) == len(children):
                raise HangsError(f"no end after {seconds:.0f} s")
        time.sleep(0.005)
    return [codes[child] for child in children]


def finish(kind: Kind, folder: Path) -> list[int]:
    """Run to the end."""
    return wait(start(kind, folder, lambda: None))


def last_words(folder: Path) -> str:
    """Return the end of what the processes of a run have said."""
    log = Path(f"{folder}.log")
    return log.read_text(errors="replace")[-800:] if log.exists() else ""


class SignalLayer(FileLayer):
    """Sends this process a signal in the middle of call number `at` of saving."""

    def __init__(self, at: int, number: int, note: Hook) -> None:
        super().__init__(None)
        self.moment, self.number, self.note = at, number, note

    def _call(self, name: str, half: Callable[[], Any] = lambda: None) -> None:
        if len(self.calls) == self.moment:
            if self.number == signal.SIGKILL:
                half()
            self.note()
            os.kill(os.getpid(), self.number)
        super()._call(name, half)


def signal_in_call(at: int, number: int, note: Hook) -> Hook:
    """Return a hook: a signal in a file call of that number."""
    return SignalLayer(at, number, note).install


def signal_at_step(at: int, number: int, note: Hook) -> Hook:
    """Return a hook: a signal before the step that is the `at`-th that this process takes."""

    def hook() -> None:
        step, count = Trainer.train_step, [0]

        def counted(self: Trainer, batch: Any) -> None:
            if count[0] == at:
                note()
                os.kill(os.getpid(), number)
            count[0] += 1
            step(self, batch)

        Trainer.train_step = counted  # type: ignore[method-assign]

    return hook
