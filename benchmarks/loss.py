"""Suite "loss": forward and backward of `SoftLoss` beside what torch has."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from benchmarks.timing import Bound, Row, Spread, Table, Variants, interleave, timing_rows
from softaug import SoftLabel, SoftLoss, confidence
from softaug.lab.io import silent_stderr

HARD = "F.cross_entropy, hard labels"
SMOOTHED = "F.cross_entropy, label_smoothing=0.1"
DENSE = "F.cross_entropy, dense target built"
LISTING = "KL with a dense target and weight, as in the paper"
OURS = "SoftLoss"


def loss_variants(batch: int, num_classes: int) -> Variants:
    """Forward and backward of each loss on the same logits [B, C]."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, num_classes, generator=generator).requires_grad_()
    labels = torch.randint(0, num_classes, (batch,), generator=generator)
    soft = SoftLabel(labels, torch.rand(batch, generator=generator))
    loss = SoftLoss()
    forward: dict[str, Callable[[], Tensor]] = {
        HARD: lambda: F.cross_entropy(logits, labels),
        SMOOTHED: lambda: F.cross_entropy(logits, labels, label_smoothing=0.1),
        DENSE: lambda: F.cross_entropy(logits, soft.dense(num_classes)),
        LISTING: lambda: dense_divergence(logits, soft),
        OURS: lambda: loss(logits, soft),
    }
    return {name: _with_backward(call, logits) for name, call in forward.items()}


def _with_backward(forward: Callable[[], Tensor], logits: Tensor) -> Callable[[], None]:
    def both() -> None:
        logits.grad = None
        forward().backward()  # type: ignore[no-untyped-call]

    return both


def dense_divergence(logits: Tensor, soft: SoftLabel) -> Tensor:
    """Eq. 6 as it stands: weight * KL(target || prediction), with the whole target in memory."""
    labels, kept = torch.as_tensor(soft.label), torch.as_tensor(soft.retained)
    num_classes = logits.shape[1]
    weight = confidence(kept, num_classes).unsqueeze(1)  # [B, 1]
    others = (1 - weight) / (num_classes - 1)
    target = others.repeat(1, num_classes).scatter_(1, labels.unsqueeze(1), weight)
    divergence = F.kl_div(F.log_softmax(logits, dim=1), target, reduction="none").sum(1)
    return (weight.squeeze(1) * divergence).mean()


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
    bound = Bound("SoftLoss / label_smoothing=0.1", timing.ratio(OURS, SMOOTHED).median, 1.3)
    bounds = [bound] if shape == BOUNDED else []
    title = f"Loss, forward and backward, logits {list(shape)}"
    return Table(title, HARD, "ms", timing_rows(timing, HARD), bounds)


def memory_suite(rounds: int, shape: tuple[int, int] = (256, 1000)) -> list[Table]:
    """Peak of what forward and backward allocate; one round is enough, it never varies."""
    del rounds
    logits = 4 * shape[0] * shape[1]  # float32
    # Made anew for each, so that no gradient of the last is freed in the record of the next.
    peaks = {name: peak_bytes(loss_variants(*shape)[name]) for name in loss_variants(*shape)}
    rows = [_row(name, peak, logits) for name, peak in peaks.items()]
    bounds = [Bound("SoftLoss / dense target", peaks[OURS] / peaks[DENSE], 1.0)]
    title = f"Loss, peak memory above the logits {list(shape)}, gradient included"
    return [Table(title, "the logits", "MB", rows, bounds)]


def _row(name: str, peak: int, logits: int) -> Row:
    return Row(name, Spread(peak / logits, peak / logits, peak / logits), peak / 1e6)


def peak_bytes(call: Callable[[], object]) -> int:
    """The most that `call` holds at once, from the allocator's own record of each block."""
    with (
        silent_stderr(),  # its C++ part reports there that it started and found no GPU
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record,
    ):
        call()
    assert record.profiler is not None
    events = record.profiler.kineto_results.events()
    blocks = sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns())
    live = peak = 0
    for block in blocks:
        live += block.nbytes()
        peak = max(peak, live)
    return peak
