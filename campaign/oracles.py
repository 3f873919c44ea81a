"""Slow oracles: what public functions must answer, computed one number at a time.

Each case draws settings and inputs, calls, and compares with plain Python, or with the same call
in another form: a batch and its samples, a draw and its replay.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

import softaug
from softaug import DrawKey, OnlineSmoothing, SoftLabel, SoftLoss, confidence, retained
from softaug.label import mix_labels
from softaug.losses import REDUCTIONS, SOFTEN
from softaug.pair_weights import MODES
from softaug.softening import WEIGHTINGS


class Data:
    """Values that hypothesis draws, and shrinks where they break something."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw

    def integer(self, least: int, most: int) -> int:
        value: int = self._draw(st.integers(least, most))
        return value

    def number(self, least: float, most: float) -> float:
        value: float = self._draw(st.floats(least, most))
        return value

    def share(self) -> float:
        return self.number(0.0, 1.0)

    def choice(self, values: Sequence[Any]) -> Any:
        return values[self.integer(0, len(values) - 1)]


class Quick(Data):
    """The same from a seed that hypothesis draws: a hundred times faster, and not shrunk."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, least: int, most: int) -> int:
        return self._random.choice((least, most, *[self._random.randint(least, most)] * 6))

    def number(self, least: float, most: float) -> float:
        return self._random.choice((least, most, *[self._random.uniform(least, most)] * 8))


class Count:
    """Calls made so far."""

    num = 0

    def call(self, function: Callable[..., Any], *rest: Any, **named: Any) -> Any:
        """Call and count."""
        self.num += 1
        return function(*rest, **named)


def near(value: Any, expected: Any, tolerance: float = 1e-4) -> None:
    """Compare numbers, absolutely and relatively."""
    a, b = torch.as_tensor(value).double(), torch.as_tensor(expected).double()
    assert a.shape == b.shape, (a.shape, b.shape)
    assert torch.allclose(a, b, rtol=tolerance, atol=tolerance), (value, expected)


def draw_label(data: Data, num: int, classes: int) -> SoftLabel:
    """Draw labels and what is retained of each."""
    labels = [data.integer(0, classes - 1) for _ in range(num)]
    left = [data.share() for _ in range(num)]
    return SoftLabel(torch.tensor(labels), torch.tensor(left, dtype=torch.float64))


def equations(data: Data, count: Count) -> None:
    """Retained and confidence, of numbers and tensors."""
    visible, k, classes = data.share(), data.number(0.05, 20), data.integer(2, 2000)
    expected = 1 - (1 - visible) ** k
    near(count.call(retained, visible, k), expected)
    both = torch.tensor([visible, visible], dtype=torch.float64)
    near(count.call(retained, both, k), [expected] * 2)
    value = count.call(confidence, expected, classes)
    near(value, 1 / classes + (1 - 1 / classes) * expected)
    near(count.call(confidence, torch.tensor([expected]), classes), [value])
    label = SoftLabel(torch.tensor([1]), torch.tensor([expected]))
    near(count.call(label.confidence, classes), [value])


def target_of(label: int, left: float, classes: int) -> list[float]:
    """Return the softened one-hot target of one sample."""
    return [left * (c == label) + (1 - left) / classes for c in range(classes)]


def dense(data: Data, count: Count) -> None:
    """Dense targets of soft and mixed labels."""
    num, classes = data.integer(1, 6), data.integer(2, 9)
    one, two = draw_label(data, num, classes), draw_label(data, num, classes)
    rows = [
        [target_of(int(y), float(r), classes) for y, r in zip(*label, strict=True)]
        for label in (one, two)
    ]
    near(count.call(one.dense, classes), rows[0])
    share = data.share()
    mixed = count.call(mix_labels, one, two, share)
    table = share * torch.tensor(rows[0]) + (1 - share) * torch.tensor(rows[1])
    near(count.call(mixed.dense, classes), table)


def losses(data: Data, count: Count) -> None:
    """SoftLoss of plain, soft and mixed labels, with every setting."""
    num, classes = data.integer(1, 5), data.integer(2, 7)
    options = {
        "soften": data.choice(SOFTEN),
        "weighting": data.choice(WEIGHTINGS),
        "reduction": data.choice(REDUCTIONS),
        "label_smoothing": data.choice([0.0, 0.1, 1.0, data.share()]),
        "focal_gamma": data.choice([0.0, 1.0, 2.0]),
        "max_suppression": data.choice([0.0, 0.5]),
    }
    scale = data.choice([0.1, 1.0, 10.0, 100.0])
    generator = torch.Generator().manual_seed(data.integer(0, 2**32))
    logits = torch.randn(num, classes, generator=generator, dtype=torch.float64) * scale
    kind = data.choice(["plain", "soft", "mixed", "probabilities"])
    one, two = draw_label(data, num, classes), draw_label(data, num, classes)
    share = data.share()
    label: Any = {"plain": one.label, "soft": one}.get(kind)
    if kind == "mixed":
        label = mix_labels(one, two, share)
    if kind == "probabilities":
        label = torch.rand(num, classes, generator=generator, dtype=torch.float64) + 0.01
        label = label / label.sum(1, keepdim=True)
    value = count.call(SoftLoss(**options), logits, label)
    assert value.isfinite().all()
    if kind != "probabilities":
        samples = [
            one_loss(logits[i].tolist(), parts_of(kind, one, two, share, i), options)
            for i in range(num)
        ]
        near(value, reduce(samples, options, kind), 1e-5)
    single = [SoftLoss(**{**options, "weighting": "sample", "reduction": "none"})]
    every = count.call(single[0], logits, label)
    index = data.integer(0, num - 1)
    row = slice(index, index + 1)
    part = type(label)(*(p[row] for p in label)) if isinstance(label, tuple) else label[row]
    near(count.call(single[0], logits[row], part), every[row])


def parts_of(kind: str, one: SoftLabel, two: SoftLabel, share: float, i: int) -> list[Any]:
    """Return (share, label, retained) of each image that sample i is made of."""
    if kind == "plain":
        return [(1.0, int(one.label[i]), 1.0)]
    first = (1.0, int(one.label[i]), float(one.retained[i]))
    if kind == "soft":
        return [first]
    return [(share, *first[1:]), (1 - share, int(two.label[i]), float(two.retained[i]))]


def one_loss(logits: list[float], parts: list[Any], options: Any) -> tuple[float, float]:
    """Return loss and weight of one sample, one class at a time."""
    classes, alpha = len(logits), options["label_smoothing"]
    top = max(logits)
    total = top + math.log(sum(math.exp(z - top) for z in logits))
    logs = [z - total for z in logits]
    target = [0.0] * classes
    weight = 0.0
    for share, label, left in parts:
        kept = left if options["soften"] in ("target", "both") else 1.0
        for c in range(classes):
            base = 1 - alpha if c == label else alpha / (classes - 1)
            target[c] += share * (kept * base + (1 - kept) / classes)
        weight += share * (1 / classes + (1 - 1 / classes) * left)
    loss = options["max_suppression"] * (max(logs) - sum(logs) / classes)
    for t, log_p in zip(target, logs, strict=True):
        score = (-math.expm1(log_p)) ** options["focal_gamma"] * log_p
        loss += (t * math.log(t) if t > 0 else 0.0) - t * score
    return loss, weight


def reduce(samples: list[tuple[float, float]], options: Any, kind: str) -> Any:
    """Weigh and reduce the losses of samples."""
    weights = [weight for _, weight in samples]
    mean = sum(weights) / len(weights)
    if options["soften"] not in ("weight", "both") or kind == "plain":
        factors = [1.0] * len(samples)
    elif options["weighting"] == "sample":
        factors = weights
    elif options["weighting"] == "batch_mean":
        factors = [mean] * len(samples)
    else:
        factors = [weight / mean for weight in weights]
    values = [factor * loss for factor, (loss, _) in zip(factors, samples, strict=True)]
    if options["reduction"] == "none":
        return values
    return sum(values) / (len(values) if options["reduction"] == "mean" else 1)


def binary(data: Data, count: Count) -> None:
    """SoftBCELoss, one class at a time."""
    num, classes = data.integer(1, 4), data.integer(1, 5)
    generator = torch.Generator().manual_seed(data.integer(0, 2**32))
    logits = torch.randn(num, classes, generator=generator, dtype=torch.float64) * 3
    truth = torch.rand(num, classes, generator=generator, dtype=torch.float64)
    left = draw_label(data, num, 2).retained
    prior = data.number(0.01, 0.99)
    soften = data.choice(SOFTEN)
    loss = softaug.SoftBCELoss(soften, prior=prior, reduction="none")
    values = count.call(loss, logits, SoftLabel(truth, left))
    for i in range(num):
        total = 0.0
        for z, y in zip(logits[i].tolist(), truth[i].tolist(), strict=True):
            r = float(left[i]) if soften in ("target", "both") else 1.0
            t = r * y + (1 - r) * prior
            p = 1 / (1 + math.exp(-z))
            for a, b in ((t, p), (1 - t, 1 - p)):
                total += a * math.log(a) - a * math.log(b) if a > 0 else 0.0
        weight = (1 + float(left[i])) / 2 if soften in ("weight", "both") else 1.0
        near(values[i], weight * total / classes)


def pairs(data: Data, count: Count) -> None:
    """pair_weight, by the areas of boxes counted in unit squares."""
    num = data.integer(1, 5)
    corners = [[(data.integer(0, 6), data.integer(0, 6)) for _ in range(num)] for _ in range(2)]
    sides = [
        [(x, y, x + data.integer(1, 6), y + data.integer(1, 6)) for x, y in side]
        for side in corners
    ]
    k, least = data.number(0.05, 20), data.share()
    mode = data.choice(MODES)
    value = count.call(softaug.pair_weight, *map(torch.tensor, sides), k, mode, least)
    weights = []
    for first, second in zip(*sides, strict=True):
        cells = [
            {(x, y) for x in range(b[0], b[2]) for y in range(b[1], b[3])} for b in (first, second)
        ]
        iou = len(cells[0] & cells[1]) / len(cells[0] | cells[1])
        lost = 1 - iou if mode == "SA1" else iou
        weights.append(1.0 if mode == "none" else 1 - (1 - least) * lost**k)
    mean = sum(weights) / num
    near(value, [w / mean if mean > 1e-7 else 1.0 for w in weights], 1e-3)


def draw_transform(data: Data) -> Any:
    """Draw a transform of any kind with settings in range."""
    k = data.number(0.05, 20)
    fill = data.choice([0, 255, "mean", (1, 2, 3)])
    sigma = data.number(0.01, 2)
    size, shift = data.integer(1, 12), data.integer(0, 4)
    makers = [
        lambda: softaug.SoftCrop(sigma, k, fill),
        lambda: softaug.UniformCrop(shift, k, fill),
        lambda: softaug.SoftErase(k=k, fill=fill),
        lambda: softaug.SoftCutout(size, k=k, fill=fill),
        lambda: softaug.SoftNoise(k=k),
        lambda: softaug.SoftAffine(k=k, fill=fill),
        lambda: softaug.SoftPolicy(data.choice(["trivial", "rand"])),
        lambda: softaug.SoftResizedCrop(size + 4, sigma, k, fill=fill),
        lambda: softaug.UniformResizedCrop(size + 4),
    ]
    return data.choice(makers)()


def transforms(data: Data, count: Count) -> None:
    """A batch is its samples, the same key gives the same, a replay is the call."""
    transform = draw_transform(data)
    num, height, width = (data.integer(*r) for r in ((1, 4), (6, 14), (6, 14)))
    generator = torch.Generator().manual_seed(data.integer(0, 2**32))
    images = torch.randint(0, 256, (num, 3, height, width), generator=generator).byte()
    if data.choice([True, False]):
        images = images.float() / 255
    label = draw_label(data, num, 5)
    index = torch.tensor([data.integer(0, 2**40) for _ in range(num)])
    key = DrawKey(data.integer(0, 2**63 - 1), data.integer(0, 9), index)
    before = images.clone()
    output, soft = count.call(transform, images, label, key=key)
    assert torch.equal(images, before), "the input was written to"
    assert output.dtype == images.dtype
    assert output.shape[:2] == images.shape[:2]
    left = soft.retained / label.retained.clamp_min(1e-9)
    assert ((soft.retained >= 0) & (soft.retained <= label.retained + 1e-6)).all(), soft
    assert torch.equal(soft.label, label.label)
    assert left.isfinite().all()
    again, other = count.call(transform, images, label, key=key)
    assert torch.equal(output, again)
    assert torch.equal(soft.retained, other.retained)
    for i in range(num):
        own = SoftLabel(int(label.label[i]), float(label.retained[i]))
        one_key = DrawKey(key.seed, key.epoch, int(index[i]))
        one, alone = count.call(transform, images[i], own, key=one_key)
        near(float(alone.retained), float(soft.retained[i]), 1e-5)
        tolerance = 1.01 if one.dtype == torch.uint8 else 1e-4
        assert torch.allclose(one.double(), output[i].double(), rtol=0, atol=tolerance)
    if type(transform) in (softaug.SoftCrop, softaug.UniformCrop):
        check_shift(transform, images, output, soft, label, key)


def check_shift(
    transform: Any, images: Tensor, output: Tensor, soft: SoftLabel, label: SoftLabel, key: DrawKey
) -> None:
    """Each shifted pixel comes from where the offset says; what is retained is counted."""
    params = transform.draw(images, key=key)
    height, width = images.shape[-2:]
    for i in range(len(images)):
        dx, dy = int(params.dx[i]), int(params.dy[i])
        seen = 0
        for y in range(height):
            for x in range(width):
                if 0 <= y + dy < height and 0 <= x + dx < width:
                    seen += 1
                    assert torch.equal(output[i, :, y, x], images[i, :, y + dy, x + dx])
        left = 1 - (1 - seen / (height * width)) ** transform.k
        near(float(soft.retained[i]), left * float(label.retained[i]), 1e-4)


def mixing(data: Data, count: Count) -> None:
    """Mixup and CutMix of images of one gray level each: the share is in the pixels."""
    kind = data.choice([softaug.Mixup, softaug.CutMix])
    mix = kind(data.number(0.05, 5))
    num, height, width = (data.integer(*r) for r in ((1, 5), (3, 12), (3, 12)))
    levels = torch.arange(1, num + 1).float()
    images = levels.view(-1, 1, 1, 1).expand(num, 3, height, width).contiguous()
    key = DrawKey(data.integer(0, 2**62), 0, data.integer(0, 2**40))
    labels = draw_label(data, num, 4)
    output, mixed = count.call(mix, images, labels, key=key)
    params = count.call(mix.draw, num, height, width, key=key)
    near(mixed.share.sum(1), torch.ones(num))
    for i in range(num):
        partner = int(params.partner[i])
        share = float(mixed.share[i, 0])
        expected = share * float(levels[i]) + (1 - share) * float(levels[partner])
        near(output[i].mean(), expected, 1e-3)
        assert mixed.labels[i].tolist() == [int(labels.label[i]), int(labels.label[partner])]


def smoothing(data: Data, count: Count) -> None:
    """OnlineSmoothing: rows are means of right predictions, counted one at a time."""
    classes, num = data.integer(2, 5), data.integer(1, 12)
    share = data.share()
    table = OnlineSmoothing(classes, share)
    generator = torch.Generator().manual_seed(data.integer(0, 2**32))
    logits = torch.randn(num, classes, generator=generator)
    labels = torch.randint(0, classes, (num,), generator=generator)
    count.call(table.gather, logits, labels)
    count.call(table.next_epoch)
    sums = [[0.0] * classes for _ in range(classes)]
    for row, y in zip(logits.tolist(), labels.tolist(), strict=True):
        exps = [math.exp(z) for z in row]
        if max(range(classes), key=lambda c: exps[c]) == y:
            sums[y] = [s + e / sum(exps) for s, e in zip(sums[y], exps, strict=True)]
    target = count.call(table.target, labels)
    for i, y in enumerate(labels.tolist()):
        total = sum(sums[y])
        row = [s / total if total else 1 / classes for s in sums[y]]
        near(target[i], [share * row[c] + (1 - share) * (c == y) for c in range(classes)])


def pacing(data: Data, count: Count) -> None:
    """A Pacer keeps the strength within its limits, whatever its rule says."""
    crop = softaug.SoftCrop("auto")
    epochs = data.integer(1, 12)
    pacer = count.call(softaug.Pacer, crop, epochs)
    generator = torch.Generator().manual_seed(data.integer(0, 2**32))
    for _ in range(epochs):
        logits = torch.randn(6, 3, generator=generator) * data.choice([0.1, 9.0])
        label = SoftLabel(torch.randint(0, 3, (6,), generator=generator), torch.rand(6))
        count.call(pacer.watch, logits, label)
        count.call(pacer.next_epoch)
        assert 0 < pacer.strength <= 1


GOOD = (equations, dense, losses, binary, pairs, transforms, mixing, smoothing, pacing)
