"""Where a result was made: versions, hardware, commit."""

import os
import platform
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import softaug


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
