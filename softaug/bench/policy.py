"""Suite "policy": RandAugment and TrivialAugment on a batch, beside torchvision's per sample."""

import torch
from torch import Tensor

from softaug import DrawKey, SoftAffine, SoftPolicy
from softaug.bench.images import CONVERT, make_images, normalise, v2
from softaug.bench.table import Bound, Table, timing_rows
from softaug.bench.timing import Timing, Variants, interleave

OURS = {"rand": "SoftPolicy rand, keyed", "trivial": "SoftPolicy trivial, keyed"}
THEIRS = {
    "rand": "torchvision RandAugment, per sample",
    "trivial": "torchvision TrivialAugmentWide, per sample",
}


def policy_suite(rounds: int, batch: int = 512) -> list[Table]:
    """Operations drawn for each sample, from uint8 to normalised float32."""
    images, labels = make_images(batch)
    timing = interleave({**_ours(images, labels), **_torchvision(images)}, rounds)
    title = f"Augment by a policy, convert and normalise {batch} uint8 images of 32 x 32"
    return [Table(title, CONVERT, "ms", timing_rows(timing, CONVERT), policy_bounds(timing))]


def _ours(images: Tensor, labels: Tensor) -> Variants:
    rand, trivial = SoftPolicy("rand"), SoftPolicy("trivial")
    affine = SoftAffine(30, (0.1, 0.1), (0.8, 1.2), 10)
    key = DrawKey(0, 0, torch.arange(len(images)))
    return {
        CONVERT: lambda: normalise(images),
        OURS["rand"]: lambda: normalise(rand(images, labels, key=key)[0]),
        OURS["trivial"]: lambda: normalise(trivial(images, labels, key=key)[0]),
        "SoftAffine, keyed": lambda: normalise(affine(images, labels, key=key)[0]),
    }


def _torchvision(images: Tensor) -> Variants:
    rand, trivial = v2.RandAugment(), v2.TrivialAugmentWide()
    affine = v2.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 10)
    return {
        THEIRS["rand"]: lambda: normalise(torch.stack([rand(one) for one in images])),
        THEIRS["trivial"]: lambda: normalise(torch.stack([trivial(one) for one in images])),
        "torchvision RandomAffine, per sample": lambda: normalise(
            torch.stack([affine(one) for one in images])
        ),
    }


def policy_bounds(timing: Timing) -> list[Bound]:
    """A batch must take a fifth of torchvision's time for its images one by one."""
    return [
        Bound(f"{THEIRS[n]} / {OURS[n]}", timing.ratio(THEIRS[n], OURS[n]).median, 5, at_least=True)
        for n in OURS
    ]
