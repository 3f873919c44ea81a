"""Suite "evaluation": what measuring costs beside the forward passes that it needs."""

from collections.abc import Callable

import torch
from torch import nn

from benchmarks.timing import Bound, Table, Timing, interleave, make_images, timing_rows
from softaug.lab.evaluation.metrics import (
    halves_temperatures,
    image_intervals,
    make_corruptions,
    measure_classes,
    measure_set,
    scale,
)
from softaug.lab.models import create
from softaug.lab.models.backbone import Normalize
from softaug.metrics import add_noise, occlude, shift_images

NUM_TEST, NUM_CLASSES, CHUNK = 10_000, 100, 500
LEVELS, DRAWS = 4, 3
FORWARD, OCCLUDE, SHIFT, NOISE, METRICS = (
    f"forward pass, ResNet-8-s2, {CHUNK} images",
    f"occlude {CHUNK} images",
    f"shift {CHUNK} images",
    f"noise on {CHUNK} images",
    "all metrics of 10,000 predictions, with bootstrap intervals",
)


def evaluation_suite(rounds: int, num_test: int = NUM_TEST, chunk: int = CHUNK) -> list[Table]:
    """One table: corruptions and metrics beside the forward pass."""
    timing = interleave(variants(num_test, chunk), min(rounds, 10))
    title = "Evaluation of CIFAR-100, one thread"
    return [Table(title, FORWARD, "ms", timing_rows(timing, FORWARD), bounds(timing))]


def variants(num_test: int, chunk: int) -> dict[str, Callable[[], object]]:
    """The parts of an evaluation."""
    images, _ = make_images(chunk)
    net = nn.Sequential(
        Normalize([127.5] * 3, [74.0] * 3), create("resnet8-s2", NUM_CLASSES)
    ).eval()
    net = net.to(memory_format=torch.channels_last)
    source = torch.Generator().manual_seed(0)
    logits = torch.randn(num_test, NUM_CLASSES, generator=source)
    labels = torch.randint(NUM_CLASSES, (num_test,), generator=source)
    logits[torch.arange(num_test), labels] += 3  # as a trained network's: a third is right
    logits *= 2

    @torch.no_grad()
    def forward() -> object:
        return net(images)

    kept = {"test_logits": logits, "test_labels": labels}
    corruptions = {}
    for one in make_corruptions((0, 0, 0)):
        right = torch.randint(DRAWS + 1, (num_test, 1 + LEVELS), generator=source)
        kept[f"{one.name}_right"] = right
        corruptions[one.name] = one.summarize(right, DRAWS)

    def all_metrics() -> object:
        temperatures = halves_temperatures(logits, labels)
        measure_set(logits, labels, scale(logits, temperatures))
        kept["test_temperature"] = torch.tensor(temperatures)
        intervals = image_intervals(["test"], "test", corruptions, kept)
        return intervals, measure_classes(logits, labels)

    return {
        FORWARD: forward,
        OCCLUDE: lambda: occlude(images, 0.4, generator=source),
        SHIFT: lambda: shift_images(images, 0.6, generator=source),
        NOISE: lambda: add_noise(images, 0.1, generator=source),
        METRICS: all_metrics,
    }


def bounds(timing: Timing) -> list[Bound]:
    """Metrics and occluding, in shares of the passes that an occlusion curve needs."""
    chunks = NUM_TEST / CHUNK
    forward = timing.median(FORWARD) * chunks * (1 + LEVELS * DRAWS)
    occluding = timing.median(OCCLUDE) * chunks * LEVELS * DRAWS
    share = (timing.median(METRICS) + occluding) / forward
    rule = "metrics and occluding / forward passes of the test set and an occlusion curve"
    return [Bound(rule, share, 0.10)]
