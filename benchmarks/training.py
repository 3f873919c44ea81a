"""Suite "training": our training loop beside a plain one, and what softness adds to a step."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor

from benchmarks.timing import Bound, Row, Table, Timing, one_thread, spread
from benchmarks.training_loops import (
    OurLoop,
    PlainCifar,
    PlainLoop,
    hard_recipe,
    random_images,
    soft_recipe,
    training_data,
)
from softaug.lab.data.images import Images
from softaug.lab.training.batches import Batches
from softaug.lab.training.logging import num_cores
from softaug.label import MixedLabel, SoftLabel
from softaug.losses import SoftLoss

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
    rows = [_row_of_step(name, seconds, parts[STEP]) for name, seconds in parts.items()]
    title = f"What softness adds to a step of {model}, batch {batch}"
    share = spread([part / whole for part, whole in zip(added, parts[STEP], strict=True)]).median
    return Table(title, STEP, "ms", rows, [Bound("added by softness / hard step", share, MOST)])


def measure_arms(
    model: str, images: Images, batch: int, rounds: int
) -> tuple[list[StepCost], list[StepCost]]:
    """(soft, hard) for each round: one network, a step of each arm by turns."""
    data, recipe = training_data(images), soft_recipe(model, batch)
    loop = OurLoop(recipe, data)
    hard_batches = Batches(hard_recipe(model, batch), data.train, data.mean)
    soft = Arm(loop.batches, TimedLoss(loop.task.criterion))
    hard = Arm(hard_batches, TimedLoss(hard_loss))
    found: dict[Arm, list[StepCost]] = {soft: [], hard: []}
    with one_thread():
        for place in range(1 + rounds):
            for arm in (soft, hard) if place % 2 else (hard, soft):
                found[arm].append(_one_step(loop, arm))
    return found[soft][1:], found[hard][1:]  # the first pays for caches


def _one_step(loop: OurLoop, arm: Arm) -> StepCost:
    loop.batches, loop.task.criterion = arm.batches, arm.loss
    arm.loss.seconds = 0.0
    started = time.process_time()
    augment = loop.step()
    return StepCost(time.process_time() - started, augment, arm.loss.seconds)


def _row_of_step(name: str, seconds: list[float], step: list[float]) -> Row:
    shares = spread([part / whole for part, whole in zip(seconds, step, strict=True)])
    return Row(name, shares, 1000 * spread(seconds).median)


LEAST = 1.7
ONE = "1 process"
TWO = "2 processes (gloo)"
APART = "2 processes that do not exchange gradients: what the machine allows"
NOTE = "ratio: images/s by wall time, one thread a process, the same batch over all processes."


def processes_table(model: str, num_images: int, batch: int, rounds: int, steps: int) -> Table:
    """Images a second of one batch over two processes; more is better here."""
    title = f"Training {model}, batch {batch}, in processes of one thread"
    if num_cores() < 2:
        return Table(title, ONE, "images/s", [Row(TWO, note="needs two cores")])
    timing = measure_processes(model, num_images, batch, rounds, steps)
    rows = [_row_of_processes(timing, name, batch * steps) for name in (ONE, TWO, APART)]
    bound = Bound(f"{TWO} / {ONE}", timing.ratio(ONE, TWO).median, LEAST, at_least=True)
    return Table(title, ONE, "images/s", rows, [bound], [NOTE])


def measure_processes(model: str, num_images: int, batch: int, rounds: int, steps: int) -> Timing:
    """Wall seconds of each way, measured by turns within one launch of two processes."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    numbers = map(str, (num_images, batch, rounds, steps))
    with TemporaryDirectory() as folder:
        out = Path(folder) / "seconds.json"
        command = [*launch, "-m", "benchmarks.training_pair", str(out), model, *numbers]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"bench: the two processes failed: {done.stderr[-2000:]}")
        seconds = json.loads(out.read_text())
    ways = {ONE: "alone", TWO: "together", APART: "apart"}
    return Timing({name: seconds[way] for name, way in ways.items()})


def _row_of_processes(timing: Timing, name: str, num_images: int) -> Row:
    return Row(name, timing.ratio(ONE, name), num_images / timing.median(name))


class Cost(NamedTuple):
    """Seconds of one step: of this process's CPU, and by the clock on the wall."""

    cpu: float
    wall: float


class Turns(NamedTuple):
    """All rounds by each clock."""

    cpu: Timing
    wall: Timing


def timed(step: Callable[[], object], num: int) -> Cost:
    """The mean cost of `num` steps."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(num):
        step()
    return Cost((time.process_time() - cpu) / num, (time.perf_counter() - wall) / num)


def take_turns(stretches: Mapping[str, Callable[[], Cost]], rounds: int) -> Turns:
    """Every stretch once in every round, with one thread; steps before them warm up."""
    costs: dict[str, list[Cost]] = {name: [] for name in stretches}
    with one_thread():
        for _ in range(rounds):
            for name, stretch in stretches.items():
                costs[name].append(stretch())
    cpu = {name: [cost.cpu for cost in found] for name, found in costs.items()}
    wall = {name: [cost.wall for cost in found] for name, found in costs.items()}
    return Turns(Timing(cpu), Timing(wall))


OURS = "softaug"
PLAIN = "plain loop"
LAYOUT = "plain loop, channels_last"
WORKER = "plain loop, channels_last, a loader worker on a second core (wall time)"
NOTES = [
    "ratio: time per image. CPU time, one thread; the row with a loader worker is wall time "
    "against softaug's wall time, two cores against one.",
]


def rates_table(
    model: str, images: Images, batch: int, rounds: int, steps: int, least: float
) -> Table:
    """Time per image; the plain loop must take `least` times ours or more."""
    turns = _measure(model, images, batch, rounds, steps)
    rows = [_row(turns.cpu, name, batch) for name in (OURS, PLAIN, LAYOUT)]
    rows += [_row(turns.wall, WORKER, batch)]
    ratio = turns.cpu.ratio(PLAIN, OURS).median
    bound = Bound(f"{PLAIN} / {OURS}", ratio, least, at_least=True)
    return Table(f"Training {model}, batch {batch}", OURS, "images/s", rows, [bound], NOTES)


def _measure(model: str, images: Images, batch: int, rounds: int, steps: int) -> Turns:
    recipe, plain_data = soft_recipe(model, batch), PlainCifar(images)
    ours = OurLoop(recipe, training_data(images))
    plain = PlainLoop(recipe, plain_data)
    layout = PlainLoop(recipe, plain_data, channels_last=True)
    worker = PlainLoop(recipe, plain_data, channels_last=True, workers=1)
    with one_thread():
        for loop in (ours, plain, layout, worker):  # the first step pays for caches
            loop.step()
    worker.restart()
    stretches = {
        OURS: partial(timed, ours.step, steps),
        PLAIN: partial(timed, plain.step, steps),
        LAYOUT: partial(timed, layout.step, steps),
        WORKER: partial(_with_worker, worker, steps),
    }
    return take_turns(stretches, rounds)


def _with_worker(loop: PlainLoop, steps: int) -> Cost:
    """The worker starts and loads ahead before the timing, and is gone after it."""
    loop.step()
    cost = timed(loop.step, steps)
    loop.restart()
    return cost


def _row(timing: Timing, name: str, batch: int) -> Row:
    return Row(name, timing.ratio(name, OURS), batch / timing.median(name))


SMALL, LARGE = "resnet8-s2", "resnet18"


@dataclass(frozen=True)
class Sizes:
    """How much is trained on: CIFAR-100's sizes, and a small batch where a step takes seconds."""

    images: int = 50_000
    batch: int = 128
    large_batch: int = 32
    steps: int = 2
    """of the small network, for one sample of the plain loop's comparison"""
    process_steps: int = 5
    """of the small network, for one sample of the processes' comparison"""


def training_suite(rounds: int, sizes: Sizes | None = None) -> list[Table]:
    """The small network in all three parts, the large one beside the plain loop alone."""
    sizes = sizes or Sizes()
    images, few = random_images(sizes.images), max(1, rounds // 5)
    batch, large = sizes.batch, sizes.large_batch
    return [
        softness_table(SMALL, images, batch, 2 * rounds),
        rates_table(SMALL, images, batch, rounds, sizes.steps, least=1.3),
        rates_table(LARGE, images, large, few, steps=1, least=1.0),
        processes_table(SMALL, sizes.images, batch, max(1, rounds // 2), sizes.process_steps),
    ]
