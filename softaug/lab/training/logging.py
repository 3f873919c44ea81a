"""What a run tells while it goes: metrics.jsonl and TensorBoard events."""

import json
import os
import platform
import time
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter

import softaug
from softaug.lab.io import write_text

METRICS = "metrics.jsonl"


class Tracker:
    """One line of numbers for each epoch, as JSON and as TensorBoard events.

    Begun again at `step`, it forgets what was written about later steps.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self._path = folder / METRICS
        earlier = [row for row in read_metrics(folder) if row["step"] <= step]
        write_text("".join(json.dumps(row) + "\n" for row in earlier), self._path)
        self._events = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def log(self, row: dict[str, Any]) -> None:
        """Keep a row; it has a `step`, and may have a `warning` in words."""
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        for name, value in row.items():
            if name not in ("step", "warning"):
                self._events.add_scalar(name, value, row["step"])
        self._events.flush()

    def close(self) -> None:
        """Finish the event file."""
        self._events.close()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run so far; a last line cut off by a crash is left out."""
    path = folder / METRICS
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


PHASES = ("data", "augment", "forward", "backward", "optimiser")
SAMPLED = 20  # on an accelerator, one step in this many is waited for and timed


class Stopwatch:
    """Seconds spent in each phase of the steps.

    `start(step)`, then `lap(phase)` at the end of each phase. A CPU is timed in every step;
    an accelerator works on while Python goes ahead, so there one step in 20 is timed, waiting
    for the device at the end of each phase.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._running = False
        self._last = 0.0

    def start(self, step: int) -> None:
        """Begin a step."""
        self._running = self.device.type == "cpu" or step % SAMPLED == 0
        self._last = self._now() if self._running else 0.0

    def lap(self, phase: str) -> None:
        """The time since the last lap was spent in `phase`."""
        if self._running:
            now = self._now()
            self.seconds[phase] += now - self._last
            self._last = now

    def shares(self) -> dict[str, float]:
        """What part of the timed steps each phase took; all 0 if none was timed."""
        total = sum(self.seconds.values())
        return {phase: used / total if total else 0.0 for phase, used in self.seconds.items()}

    def _now(self) -> float:
        if self.device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter()


def environment() -> dict[str, Any]:
    """What one needs to know to repeat a result, as plain strings and numbers."""
    packages = {name: package_version(name) for name in ("torch", "torchvision", "scikit-learn")}
    return {
        "softaug": softaug.__version__,
        "commit": commit(Path(softaug.__file__).parent.parent),
        "python": platform.python_version(),
        **packages,
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": num_cores(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def warm_allocator() -> None:
    """Spare page faults in every step that follows.

    glibc gives blocks above a threshold back to the system at once, and each new one costs a
    page fault per 4 kB. The threshold rises with the blocks freed, up to 32 MB: one of about
    that size is freed here.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


def num_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def package_version(name: str) -> str:
    """The installed version, or "not installed"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def cpu_name() -> str:
    """The processor as the system names it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def commit(repository: Path) -> str | None:
    """The checked-out commit, read from `.git`; None where there is none."""
    try:
        git, shared = _git_folders(repository)
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (shared / name).exists():
            return (shared / name).read_text().strip()
        packed = (shared / "packed-refs").read_text().splitlines()
    except OSError:
        return None
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)


def _git_folders(repository: Path) -> tuple[Path, Path]:
    """Where the head is and where branches are; they differ in a `git worktree`."""
    git = repository / ".git"
    if git.is_dir():
        return git, git
    git = repository / git.read_text().strip().removeprefix("gitdir: ")
    return git, git / (git / "commondir").read_text().strip()
