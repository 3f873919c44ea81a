"""What a run logs: sums over steps, metrics.jsonl, TensorBoard events, a profile, the machine."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

import softaug
from softaug.checks import NotFiniteError
from softaug.lab.io import remove_path, write_text
from softaug.lab.schema import MetricsRow

if TYPE_CHECKING:
    from softaug.lab.training.distributed import DistContext

EVENTS = "tensorboard"
METRICS = "metrics.jsonl"
RESULT = "result.json"


class Losses(NamedTuple):
    """What a task makes of this process's share of a batch."""

    losses: Tensor  # [B], or [1] where the samples have one loss together
    metric: Tensor  # [B], what is watched beside the loss
    num: int  # the sum of all processes' losses is divided by this


class Totals(NamedTuple):
    """Sums over the images of an epoch so far, in all processes."""

    loss: float = 0.0
    metric: float = 0.0  # what a task watches beside the loss, such as wrong answers
    images: int = 0

    @property
    def mean_loss(self) -> float:
        return self.loss / max(self.images, 1)

    @property
    def mean_metric(self) -> float:
        return self.metric / max(self.images, 1)


_NOTHING = Totals()


class NonFiniteLossError(NotFiniteError):
    """Training broke down, in all processes alike."""

    reported = True  # by rank zero


class MetricBuffer:
    """Collects losses and metrics on the device; `flush` sums them up over all processes."""

    def __init__(self, context: DistContext) -> None:
        self.context = context
        self._entries: list[tuple[int, Tensor, Tensor]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, step: int, sample: Tensor, step_losses: Losses) -> None:
        """Add the losses of a step's samples [B] in this process."""
        losses = step_losses.losses.detach().float().expand_as(step_losses.metric)
        table = torch.stack([losses, step_losses.metric.float()], dim=1)  # [B, 2]
        self._entries.append((step, sample, table))

    def flush(
        self, stop: bool, seconds: float = 0.0, before: Totals = _NOTHING
    ) -> tuple[Totals, bool, float]:
        """Return the sums, whether any process wants to stop, and their mean seconds for a step.

        Steps are added to `before` one by one: the sum does not depend on the log interval. A
        loss that is not finite is an error.
        """
        entries, self._entries = self._entries, []
        rows = torch.cat([table for *_, table in entries]).cpu().double()
        sizes = [len(table) for *_, table in entries]
        sums = [part.sum(0) for part in rows.split(sizes)]  # type: ignore[no-untyped-call]
        rows = torch.stack([*sums, torch.tensor([float(stop), seconds]).double()])
        numbers = torch.tensor([*sizes, 0]).double()
        rows = self.context.all_reduce(torch.cat([rows, numbers[:, None]], dim=1))
        for (step, sample, table), row in zip(entries, rows, strict=False):
            if not math.isfinite(row[0]):
                self._refuse(step, sample, table.cpu()[:, 0], float(row[0]))
        totals = before
        for loss, metric, num in rows[:-1].tolist():
            totals = Totals(totals.loss + loss, totals.metric + metric, totals.images + int(num))
        pace = float(rows[-1, 1]) / self.context.world_size / len(entries)
        return totals, bool(rows[-1, 0] > 0), pace

    def _refuse(self, step: int, sample: Tensor, losses: Tensor, value: float) -> None:
        parts = self.context.all_gather_object(sample[~losses.isfinite()].tolist())
        samples = [number for part in parts for number in part]
        shown = ", ".join(map(str, samples[:20])) + (", ..." if len(samples) > 20 else "")
        raise NonFiniteLossError(
            f"train: the loss of every sample must be finite, got {value} at step {step} for "
            f"{len(samples)} samples: {shown}"
        )


class MetricLogger:
    """Logs one row of numbers for each epoch, as JSON and as TensorBoard events.

    It begins with the `rows` of a checkpoint. A file that has others of these steps, or lines that
    cannot be read, is reported and set aside. The events are written anew, into one file: readers
    order files by the clock, which may have gone back.
    """

    def __init__(
        self,
        folder: Path,
        rows: Sequence[dict[str, Any]] = (),
        report: Callable[[str], None] = print,
    ) -> None:
        self._path = folder / METRICS
        step = rows[-1]["step"] if rows else 0
        before, bad = scan_metrics(self._path)
        if bad or [row for row in before if row["step"] <= step] != [*rows]:
            aside = folder / f"damaged-{METRICS}"
            remove_path(aside)
            if self._path.exists():
                self._path.rename(aside)
            lines = f"lines that cannot be read: {', '.join(map(str, bad))}; " if bad else ""
            report(
                f"{self._path} was not as the run wrote it; {lines}"
                f"its rows are those of the checkpoint again, and the file is now {aside.name}"
            )
        write_text("".join(json.dumps(row) + "\n" for row in rows), self._path)
        from torch.utils.tensorboard import SummaryWriter  # a second to import

        for events in (folder / EVENTS).glob("events.out.tfevents.*"):
            remove_path(events)
        self._events = SummaryWriter(str(folder / EVENTS))
        for row in rows:
            self._add_events(row)

    def log(self, row: dict[str, Any]) -> None:
        """Write a row; it has a `step`, and may have a `warning`."""
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._add_events(row)
        self._events.flush()

    def _add_events(self, row: dict[str, Any]) -> None:
        for name, value in row.items():
            if name not in ("step", "warning"):
                self._events.add_scalar(name, value, row["step"])

    def close(self) -> None:
        """Finish the event file."""
        self._events.close()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read the rows of a run so far; lines that cannot be read are left out."""
    return scan_metrics(folder / METRICS)[0]


def scan_metrics(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """Read the rows, and the numbers of lines that cannot be read.

    A last line without an end is no such line: a crash may have cut it off.
    """
    rows: list[dict[str, Any]] = []
    bad: list[int] = []
    *lines, last = path.read_bytes().split(b"\n") if path.is_file() else [b""]
    for number, line in enumerate([*lines, *filter(None, [last])], start=1):
        try:
            rows.append(MetricsRow.model_validate_json(line).model_dump(exclude_unset=True))
        except ValueError:
            if number <= len(lines):
                bad.append(number)
    return rows, bad


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
