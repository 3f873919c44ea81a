"""The last few steps' losses, looked at together so that no step waits for the device."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from softaug.checks import NotFiniteError
from softaug.training.processes import Processes


class Totals(NamedTuple):
    """Sums over the images of an epoch so far, in all processes."""

    loss: float = 0.0
    other: float = 0.0  # what a job watches beside the loss, such as wrong answers
    images: int = 0

    @property
    def mean_loss(self) -> float:
        return self.loss / max(self.images, 1)

    @property
    def mean_other(self) -> float:
        return self.other / max(self.images, 1)

    def __add__(self, other: "Totals") -> "Totals":  # type: ignore[override]
        return Totals(self.loss + other.loss, self.other + other.other, self.images + other.images)


_NOTHING = Totals()


class NonFiniteLossError(NotFiniteError):
    """Training broke down, in all processes alike."""

    told = True  # by the first


class Window:
    """Collects `learner.step`'s findings; `close` sums them up over all processes."""

    def __init__(self, team: Processes) -> None:
        self.team = team
        self._entries: list[tuple[int, Tensor, Tensor]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, step: int, index: Tensor, found: Tensor) -> None:
        """Keep the losses and what else is watched, [B, 2], of this process's samples."""
        self._entries.append((step, index, found))

    def close(
        self, stop: bool, seconds: float = 0.0, before: Totals = _NOTHING
    ) -> tuple[Totals, bool, float]:
        """(sums, whether any process wants to stop, their mean `seconds` for a step).

        Steps are added to `before` one by one: the sum does not depend on where windows end.
        A loss that is no number is an error.
        """
        entries, self._entries = self._entries, []
        found = torch.cat([entry[2] for entry in entries]).cpu().double()
        sizes = [len(entry[1]) for entry in entries]
        sums = [part.sum(0) for part in found.split(sizes)]  # type: ignore[no-untyped-call]
        table = torch.stack([*sums, torch.tensor([float(stop), seconds]).double()])
        numbers = torch.tensor([*sizes, 0]).double()
        table = self.team.add_up(torch.cat([table, numbers[:, None]], dim=1))
        for (step, index, losses), row in zip(entries, table, strict=False):
            if not math.isfinite(row[0]):
                self._refuse(step, index, losses.cpu()[:, 0], float(row[0]))
        totals = before
        for loss, watched, num in table[:-1].tolist():
            totals = totals + Totals(loss, watched, int(num))
        pace = float(table[-1, 1]) / self.team.count / len(entries)
        return totals, bool(table[-1, 0] > 0), pace

    def _refuse(self, step: int, index: Tensor, losses: Tensor, value: float) -> None:
        parts = self.team.collect(index[~losses.isfinite()].tolist())
        samples = [sample for part in parts for sample in part]
        shown = ", ".join(map(str, samples[:20])) + (", ..." if len(samples) > 20 else "")
        raise NonFiniteLossError(
            f"train: the loss of every sample must be finite, got {value} at step {step} for "
            f"{len(samples)} samples: {shown}"
        )
