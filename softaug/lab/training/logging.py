"""What a run logs: metrics.jsonl and TensorBoard events, a profile, and where it ran."""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import softaug
from softaug.lab.io import write_text

METRICS = "metrics.jsonl"
RESULT = "result.json"


class MetricLogger:
    """Logs one row of numbers for each epoch, as JSON and as TensorBoard events.

    Begun again at `step`, it drops the rows of later steps.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self._path = folder / METRICS
        earlier = [row for row in read_metrics(folder) if row["step"] <= step]
        write_text("".join(json.dumps(row) + "\n" for row in earlier), self._path)
        from torch.utils.tensorboard import SummaryWriter  # a second to import

        self._events = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def log(self, row: dict[str, Any]) -> None:
        """Write a row; it has a `step`, and may have a `warning` in words."""
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
    """Read the rows of a run so far; a last line cut off by a crash is left out."""
    path = folder / METRICS
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


@contextmanager
def profile_steps(path: Path | None) -> Iterator[torch.profiler.profile | None]:
    """Profile the third to fifth step and write the trace to `path`; None profiles nothing."""
    if path is None:
        yield None
        return
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
    ) as profiler:
        yield profiler


def environment() -> dict[str, Any]:
    """Describe the machine and the versions, as plain strings and numbers."""
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


def commit(repository: Path) -> str | None:
    """Return the checked-out commit of a repository; None where there is none."""
    if not (repository / ".git").exists():  # git would look in the folders above
        return None
    command = ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:  # git is not installed
        return None
    return done.stdout.strip() or None


def package_version(name: str) -> str:
    """Return the installed version, or "not installed"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def cpu_name() -> str:
    """Return the processor's name as the system has it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def num_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def warm_allocator() -> None:
    """Spare page faults in every step that follows.

    glibc gives blocks above a threshold back to the system at once, and each new one costs a
    page fault per 4 kB. The threshold rises with the blocks freed, up to 32 MB: one of about
    that size is freed here.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)
