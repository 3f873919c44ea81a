"""Suite "pairs": what the weights of pairs take of a step without labels."""

import time

from torch import Tensor

from benchmarks.timing import Bound, Row, Table, one_thread, spread
from benchmarks.training_loops import random_images, training_data
from softaug.lab.recipes import PairSpec, PretrainRecipe, SimSiamSpec
from softaug.lab.training.ssl import SelfSupervised
from softaug.lab.training.trainer import Trainer
from softaug.transforms import Views

STEP = "step: views, forward, backward, optimiser"
WEIGHTS = "pair_weight and the product with the losses, forward and backward"
MOST = 0.01


class TimedPairs(SelfSupervised):
    """Keeps the CPU seconds that the weights of pairs took."""

    seconds = 0.0

    def weight(self, losses: Tensor, views: Views) -> Tensor:
        self._start()
        found = super().weight(losses, views)
        self._stop()
        # Backward enters by the weighted losses and leaves by the others.
        found.register_hook(self._start)  # type: ignore[no-untyped-call]
        losses.register_hook(self._stop)  # type: ignore[no-untyped-call]
        return found

    def _start(self, _: Tensor | None = None) -> None:
        self.seconds -= time.process_time()

    def _stop(self, _: Tensor | None = None) -> None:
        self.seconds += time.process_time()


def pairs_suite(rounds: int, num: int = 256, batch: int = 128) -> list[Table]:
    """A small SimSiam with SA#1, a step a round: the smaller the network, the larger the share."""
    method = SimSiamSpec(hidden=256, bottleneck=64, num_layers=2)
    recipe = PretrainRecipe(
        "bench-pairs", "resnet8-s2", weight=PairSpec("SA1"), method=method, batch=batch
    )
    steps, weights = measure_steps(recipe, num, rounds)
    share = _row(WEIGHTS, weights, steps)
    assert share.ratio is not None
    title = f"What the weights of pairs take of a step of SimSiam, resnet8-s2, batch {batch}"
    bound = Bound("weights of pairs / step", share.ratio.median, MOST)
    return [Table(title, STEP, "ms", [_row(STEP, steps, steps), share], [bound])]


def measure_steps(recipe: PretrainRecipe, num: int, rounds: int) -> tuple[list[float], list[float]]:
    """CPU seconds of each step, and of the weights in it."""
    data = training_data(random_images(num))
    task = TimedPairs(recipe, data)
    trainer = Trainer(recipe, data, task)
    steps, weights = [], []
    with one_thread():
        for step in range(1 + rounds):
            task.seconds, started = 0.0, time.process_time()
            trainer.train_step(task.batches[step])
            steps.append(time.process_time() - started)
            weights.append(task.seconds)
    return steps[1:], weights[1:]  # the first pays for caches


def _row(name: str, seconds: list[float], steps: list[float]) -> Row:
    shares = spread([part / whole for part, whole in zip(seconds, steps, strict=True)])
    return Row(name, shares, 1000 * spread(seconds).median)
