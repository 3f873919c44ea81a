"""Suite "loss": forward and backward of `SoftLoss` beside what torch has."""

from collections.abc import Sequence

from softaug.bench.loss_variants import HARD, OURS, SMOOTHED, loss_variants
from softaug.bench.table import Bound, Table, timing_rows
from softaug.bench.timing import Timing, interleave

SHAPES = ((128, 100), (256, 1000), (1024, 21841))
BOUNDED = (256, 1000)


def loss_suite(rounds: int, shapes: Sequence[tuple[int, int]] = SHAPES) -> list[Table]:
    """A table for each shape [B, C] of the logits; few rounds where one takes a second."""
    return [_one_shape(_fewer(rounds, shape), shape) for shape in shapes]


def _fewer(rounds: int, shape: tuple[int, int]) -> int:
    batch, num_classes = shape
    return rounds if batch * num_classes < 10**7 else max(1, rounds // 5)


def _one_shape(rounds: int, shape: tuple[int, int]) -> Table:
    timing = interleave(loss_variants(*shape), rounds)
    bounds = loss_bounds(timing) if shape == BOUNDED else []
    title = f"Loss, forward and backward, logits {list(shape)}"
    return Table(title, HARD, "ms", timing_rows(timing, HARD), bounds)


def loss_bounds(timing: Timing) -> list[Bound]:
    """What `SoftLoss` may cost."""
    return [Bound("SoftLoss / label_smoothing=0.1", timing.ratio(OURS, SMOOTHED).median, 1.3)]
