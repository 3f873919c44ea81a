"""The course of a network's training, as far as its metrics.jsonl tells it."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from softaug.training.tracking import METRICS
from softaug.watch.tail import Tail

RECENT = 5  # epochs that the rate is taken from


class Epoch(NamedTuple):
    """What is drawn of an epoch; None where it was not measured or is no finite number."""

    epoch: int
    loss: float | None
    error: float | None


class Course:
    """Epoch by epoch, kept up with."""

    def __init__(self, folder: Path) -> None:
        self.tail = Tail(folder / METRICS)

    def update(self) -> None:
        """Read what was added."""
        self.tail.update()

    @property
    def epoch(self) -> int:
        """The last one that ended; 0 before that."""
        return _epoch(self.tail.rows[-1]) if self.tail.rows else 0

    @property
    def warning(self) -> str:
        """What training warned of at the end of the last epoch; mostly nothing."""
        return str(self.tail.rows[-1].get("warning", "")) if self.tail.rows else ""

    def epoch_seconds(self) -> float | None:
        """Seconds of an epoch, the mean of the last few; None before the first has ended."""
        rows = [{"epoch": 0, "seconds": 0.0}, *self.tail.rows][-RECENT - 1 :]
        first, last = rows[0], rows[-1]
        seconds = (_number(last.get("seconds")) or 0.0) - (_number(first.get("seconds")) or 0.0)
        epochs = _epoch(last) - _epoch(first)
        return round(seconds / epochs, 3) if epochs > 0 and seconds > 0 else None

    def after(self, num: int) -> list[Epoch]:
        """The epochs from row `num` on."""
        return [_drawn(row) for row in self.tail.rows[num:]]

    def so_far(self) -> float | None:
        """The error that was measured last."""
        found = (_number(row.get(_error_key(row))) for row in reversed(self.tail.rows))
        return next((error for error in found if error is not None), None)

    def measure(self) -> str:
        """What `error` is the error of, such as "test error"; empty before it was measured."""
        found = (_error_key(row) for row in reversed(self.tail.rows))
        key = next(filter(None, found), "")
        return key.replace("_knn_error", " error of nearest neighbours").replace("_", " ")


def _drawn(row: Mapping[str, Any]) -> Epoch:
    loss, error = _number(row.get("train_loss")), _number(row.get(_error_key(row)))
    return Epoch(_epoch(row), _short(loss), _short(error))


def _error_key(row: Mapping[str, Any]) -> str:
    """The error on images that were not trained on, of whichever split: "" if there is none."""
    return next((key for key in row if key.endswith("_error") and key != "train_error"), "")


def _epoch(row: Mapping[str, Any]) -> int:
    return int(_number(row.get("epoch")) or 0)


def _number(value: object) -> float | None:
    """A finite number; None for all else, which a browser's JSON does not know."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number of hundreds of digits
        return None


def _short(value: float | None) -> float | None:
    """Five digits: more than a curve can show."""
    return None if value is None else float(f"{value:.5g}")
