"""Faults of the environment: full and read-only disks, no handles, a wild clock, vanishing data.

A run meets a fault and ends with a plain refusal, or in spite of it; when the fault is gone, the
same command ends with the bits of a run that never met it.
"""

import contextlib
import errno
import os
import random
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fault_layer import FileLayer

from campaign.attempts import Outcome, Part
from campaign.runs import (
    STOPPED,
    Hook,
    Kind,
    finish,
    last_words,
    make_kinds,
    make_photos_recipe,
    read_state,
    signal_at_step,
    start,
    train_one,
    wait,
)
from softaug.lab.training.trainer import Trainer

KINDS = ("supervised", "EMA", "paced", "self-supervised", "folder with workers")
REFUSED = 2


def prepare(folder: Path) -> SimpleNamespace:
    """Finish a run of some kinds without a fault."""
    kinds = {name: kind for name, kind in make_kinds(folder).items() if name in KINDS}
    states = {}
    for name, kind in kinds.items():
        assert not any(finish(kind, folder / name)), last_words(folder / name)
        states[name] = read_state(folder / name)
    return SimpleNamespace(folder=folder, kinds=kinds, states=states)


def attempt(bench: SimpleNamespace, draw: random.Random, folder: Path) -> Outcome:
    """Have a run meet a fault, take the fault away, let the run end, compare."""
    fault = draw.choice(list(FAULTS))
    name = draw.choice(KINDS)
    label = (fault,)
    try:
        problem = FAULTS[fault](bench, name, draw, folder)
    finally:
        unmount(folder / "disk")
    return Outcome(1, f"{fault}, {name}: {problem}" if problem else "", label)


def judge(bench: SimpleNamespace, name: str, run: Path, codes: list[int]) -> str:
    """Say what is wrong with how a run ended at a fault, and with what the next one makes of it."""
    if not set(codes) <= {0, REFUSED, STOPPED}:
        return f"ended with {codes}: {last_words(run)}"
    if REFUSED in codes and "refused: " not in last_words(run):
        return f"no reason was given: {last_words(run)}"
    codes = finish(bench.kinds[name], run)
    if codes != [0]:
        return f"afterwards {codes}: {last_words(run)}"
    state = read_state(run)
    return "" if state == bench.states[name] else f"other bits: {state}"[:800]


def full_disk(bench: SimpleNamespace, name: str, draw: random.Random, folder: Path) -> str:
    """Train on a file system of so few kilobytes that it is full at some write."""
    disk = mount(folder / "disk", f"size={draw.randint(200, 6000)}k")
    kind, run = bench.kinds[name], disk / "run"
    log = Path(f"{run}.log")
    log.symlink_to(folder / "run.log")  # what is said needs no room
    codes = wait(start(kind, run, lambda: None))
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    return judge(bench, name, run, codes)


def read_only(bench: SimpleNamespace, name: str, draw: random.Random, folder: Path) -> str:
    """Make the file system read-only before some step."""
    disk = mount(folder / "disk", "size=64m")
    run, kind = disk / "run", bench.kinds[name]
    Path(f"{run}.log").symlink_to(folder / "run.log")
    at = draw.randint(0, 5)
    codes = wait(start(kind, run, before_step(at, lambda: remount(disk, "ro"))))
    remount(disk, "rw")
    return judge(bench, name, run, codes)


def failing_call(bench: SimpleNamespace, name: str, draw: random.Random, folder: Path) -> str:
    """Have one call of saving fail, for one of several reasons."""
    at = draw.randint(0, 120)
    error = draw.choice((errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE, errno.EDQUOT))
    layer = FileLayer(at, "fail", error)
    codes = wait(start(bench.kinds[name], folder / "run", layer.install))
    return judge(bench, name, folder / "run", codes)


def no_handles(bench: SimpleNamespace, name: str, draw: random.Random, folder: Path) -> str:
    """Let the process open only a few files more, from some step on."""
    spare = draw.randint(0, 6)

    def limit() -> None:
        used = max(int(path) for path in os.listdir("/proc/self/fd"))
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + spare, hard))

    hook = before_step(draw.randint(0, 5), limit)
    return judge(bench, name, folder / "run", wait(start(bench.kinds[name], folder / "run", hook)))


def wild_clock(bench: SimpleNamespace, name: str, draw: random.Random, folder: Path) -> str:
    """Have the clock jump back and forth while a run trains, is killed, and goes on."""
    jumps = [draw.uniform(-1e6, 1e6) for _ in range(1000)]

    def hook() -> None:
        now, count = time.time, [0]

        def jumping() -> float:
            count[0] += 1
            return now() + jumps[count[0] % len(jumps)]

        time.time = jumping

    kind, run = bench.kinds[name], folder / "run"
    stop = signal_at_step(draw.randint(1, 5), 9, lambda: None)

    def both() -> None:
        hook()
        stop()

    wait(start(kind, run, both))
    return judge(bench, name, run, wait(start(kind, run, hook)))


def two_starts(bench: SimpleNamespace, name: str, draw: random.Random, folder: Path) -> str:
    """Start the same command two or three times at once: one trains, the others are refused."""
    kind, run = bench.kinds[name], folder / "run"
    starts = []
    for _ in range(draw.randint(2, 3)):
        starts += start(kind, run, lambda: None)
        time.sleep(draw.choice((0, 0, draw.uniform(0, 0.5))))
    codes = wait(starts)
    if 0 not in codes:
        return f"none of them ended: {codes}: {last_words(run)}"
    return judge(bench, name, run, codes)


def data_that_changes(bench: SimpleNamespace, name: str, draw: random.Random, folder: Path) -> str:
    """Remove, cut, exchange or rename image files in mid-run; then put them back."""
    photos = folder / "photos"
    shutil.copytree(bench.folder / "photos", photos)
    kind = Kind(train_one(make_photos_recipe(photos), workers=1))
    run, files = folder / "run", sorted(photos.rglob("*.jpg"))
    chosen = draw.sample(files, draw.randint(1, len(files)))
    change = draw.choice(("remove", "cut", "exchange", "rename"))
    whole = {file: file.read_bytes() for file in chosen}

    def spoil() -> None:
        for file in chosen:
            if change == "remove":
                file.unlink()
            elif change == "cut":
                file.write_bytes(whole[file][: len(whole[file]) // 2])
            elif change == "exchange":
                file.write_bytes(draw.choice(files).read_bytes() if file.exists() else b"")
            else:
                file.rename(file.with_name(f"z{file.name}"))

    stop = signal_at_step(draw.randint(2, 4), 15, lambda: None)
    wait(start(kind, run, stop))  # between two starts
    spoil()
    codes = wait(start(kind, run, lambda: None))
    begun = any((run / "checkpoints").glob("step-*"))
    same = all(file.exists() and file.read_bytes() == content for file, content in whole.items())
    if begun and not same and codes != [REFUSED]:
        return f"{change} of {len(chosen)} files was not noticed: {codes}"
    for file in photos.rglob("z*.jpg"):
        file.unlink()
    for file, content in whole.items():
        file.write_bytes(content)
    if finish(kind, run) != [0]:
        return f"afterwards: {last_words(run)}"
    state, expected = read_state(run), bench.states["folder with workers"]
    return "" if without_recipe(state) == without_recipe(expected) else "other bits"


def without_recipe(state: dict[str, Any]) -> dict[str, Any]:
    """Leave out the recipe, which names another folder of photographs."""
    result = {**state["result"], "recipe": None, "recipe_sha256": None}
    return {**state, "result": result}


def before_step(at: int, act: Callable[[], None]) -> Hook:
    """Return a hook: `act()` before the step that is the `at`-th of the process."""

    def hook() -> None:
        step, count = Trainer.train_step, [0]

        def counted(self: Trainer, batch: object) -> None:
            if count[0] == at:
                act()
            count[0] += 1
            step(self, batch)

        Trainer.train_step = counted  # type: ignore[method-assign]

    return hook


def mount(folder: Path, options: str) -> Path:
    """Mount a file system in memory."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)
    return folder


def remount(folder: Path, mode: str) -> None:
    """Remount it "ro" or "rw"; files open for writing keep it writable."""
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run(
            ["mount", "-o", f"remount,{mode}", str(folder)], check=True, capture_output=True
        )


def unmount(folder: Path) -> None:
    """Unmount it if it is mounted."""
    if os.path.ismount(folder):
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


FAULTS: dict[str, Callable[..., str]] = {
    "disk full (tmpfs)": full_disk,
    "read-only (tmpfs)": read_only,
    "a call of saving fails": failing_call,
    "no handles": no_handles,
    "clock back and forth": wild_clock,
    "two starts at once": two_starts,
    "data that change": data_that_changes,
}
PART = Part("environment", "faults", 200, 0.14, prepare, attempt)
