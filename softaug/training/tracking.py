"""What a run tells while it goes: metrics.jsonl and TensorBoard events."""

import json
import os
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from softaug.files import write_text

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
