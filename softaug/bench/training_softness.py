"""Suite "training", part a: what softness adds to a step, by timers inside the step."""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor

from softaug.bench.table import Bound, Row, Table
from softaug.bench.timing import one_thread, spread
from softaug.bench.training_data import hard_recipe, soft_recipe, training_data
from softaug.bench.training_ours import OurLoop
from softaug.data.images import Images
from softaug.label import MixedLabel, SoftLabel
from softaug.losses import SoftLoss
from softaug.training.batches import Batches

MOST = 0.02
STEP = "hard step"
ADDED = "added by softness: soft less hard, draw, crop, flip and loss"


class TimedLoss(SoftLoss):
    """Any loss of each sample, with the CPU seconds that its forward and backward took."""

    def __init__(self, loss: Callable[[Tensor, SoftLabel], Tensor]) -> None:
        super().__init__(reduction="none")
        self.inner = loss
        self.seconds = 0.0

    def forward(self, logits: Tensor, label: Tensor | SoftLabel | MixedLabel) -> Tensor:
        assert isinstance(label, SoftLabel)
        self._start()
        losses = self.inner(logits, label)
        self._stop()
        # Backward enters by the losses and leaves for the network by the logits.
        losses.register_hook(self._start)  # type: ignore[no-untyped-call]
        logits.register_hook(self._stop)  # type: ignore[no-untyped-call]
        return losses

    def _start(self, _: Tensor | None = None) -> None:
        self.seconds -= time.process_time()

    def _stop(self, _: Tensor | None = None) -> None:
        self.seconds += time.process_time()


def hard_loss(logits: Tensor, label: SoftLabel) -> Tensor:
    """Cross-entropy of each sample; how much is left does not matter."""
    return F.cross_entropy(logits, label.label, reduction="none")  # type: ignore[arg-type]


class StepCost(NamedTuple):
    """CPU seconds of a step and of its parts that softness changes."""

    step: float
    augment: float
    loss: float


class Arm(NamedTuple):
    """Batches and loss, for one network that both arms train."""

    batches: Batches
    loss: TimedLoss


def softness_table(model: str, images: Images, batch: int, rounds: int) -> Table:
    """Soft and hard steps by turns; the parts as shares of the hard step of the same round."""
    soft, hard = measure_arms(model, images, batch, rounds)
    added = [s.augment + s.loss - h.augment - h.loss for s, h in zip(soft, hard, strict=True)]
    parts = {
        STEP: [cost.step for cost in hard],
        "hard: draw, crop, flip": [cost.augment for cost in hard],
        "soft: draw, crop, flip": [cost.augment for cost in soft],
        "hard: F.cross_entropy, forward and backward": [cost.loss for cost in hard],
        "soft: SoftLoss, forward and backward": [cost.loss for cost in soft],
        ADDED: added,
    }
    rows = [_row(name, seconds, parts[STEP]) for name, seconds in parts.items()]
    title = f"What softness adds to a step of {model}, batch {batch}"
    return Table(title, STEP, "ms", rows, [softness_bound(rows)])


def softness_bound(rows: list[Row]) -> Bound:
    """What softness may add."""
    (share,) = [row.ratio for row in rows if row.name == ADDED]
    assert share is not None
    return Bound("added by softness / hard step", share.median, MOST)


def measure_arms(
    model: str, images: Images, batch: int, rounds: int
) -> tuple[list[StepCost], list[StepCost]]:
    """(soft, hard) for each round: one network, a step of each arm by turns."""
    data, recipe = training_data(images), soft_recipe(model, batch)
    loop = OurLoop(recipe, data)
    hard_batches = Batches(hard_recipe(model, batch), data.train, data.mean, loop.team, loop.clock)
    soft = Arm(loop.batches, TimedLoss(loop.learner.loss))
    hard = Arm(hard_batches, TimedLoss(hard_loss))
    found: dict[Arm, list[StepCost]] = {soft: [], hard: []}
    with one_thread():
        for place in range(1 + rounds):
            for arm in (soft, hard) if place % 2 else (hard, soft):
                found[arm].append(_one_step(loop, arm))
    return found[soft][1:], found[hard][1:]  # the first pays for caches


def _one_step(loop: OurLoop, arm: Arm) -> StepCost:
    loop.batches, loop.learner.loss = arm.batches, arm.loss
    arm.loss.seconds, augment = 0.0, loop.clock.seconds["augment"]
    started = time.process_time()
    loop.step()
    whole = time.process_time() - started
    return StepCost(whole, loop.clock.seconds["augment"] - augment, arm.loss.seconds)


def _row(name: str, seconds: list[float], step: list[float]) -> Row:
    shares = spread([part / whole for part, whole in zip(seconds, step, strict=True)])
    return Row(name, shares, 1000 * spread(seconds).median)
