"""Suite "two-views": SimSiam's augmentation of a batch, beside torchvision's per sample."""

import torch
from torch import Tensor

from softaug import DrawKey
from softaug.bench.images import CONVERT, make_images, normalise, v2
from softaug.bench.table import Bound, Table, timing_rows
from softaug.bench.timing import Timing, Variants, interleave
from softaug.transforms import TwoViews, UniformResizedCrop
from softaug.transforms.resize_matrix import resize_windows

OURS = "TwoViews, keyed"
THEIRS = "torchvision, the same operations, per sample"
LOOP = "torchvision's resize in a loop"


def two_views_suite(rounds: int, batch: int = 512) -> list[Table]:
    """Both views of each image, from uint8 to normalised float32; and the crop alone."""
    images, _ = make_images(batch)
    views = interleave({**_both(images), **_torchvision(images)}, rounds)
    crops = interleave(_crops(images), rounds)
    title = f"{batch} uint8 images of 32 x 32"
    return [
        Table(
            f"Two views, converted and normalised, of {title}",
            CONVERT,
            "ms",
            timing_rows(views, CONVERT),
            two_views_bounds(views),
        ),
        Table(f"Windows of {title}, resized", LOOP, "ms", timing_rows(crops, LOOP)),
    ]


def _both(images: Tensor) -> Variants:
    views, key = TwoViews(), DrawKey(0, 0, torch.arange(len(images)))

    def ours() -> list[Tensor]:
        found = views(images, key=key)
        return [normalise(found.first), normalise(found.second)]

    return {CONVERT: lambda: [normalise(images) for _ in range(2)], OURS: ours}


def _torchvision(images: Tensor) -> Variants:
    jitter = v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
    crop, grey = v2.RandomResizedCrop(32, scale=(0.2, 1.0)), v2.RandomGrayscale(0.2)
    view = v2.Compose([crop, jitter, grey, v2.RandomHorizontalFlip()])

    def theirs() -> list[Tensor]:
        return [normalise(torch.stack([view(image) for image in images])) for _ in range(2)]

    return {THEIRS: theirs}


def _crops(images: Tensor) -> Variants:
    crop = UniformResizedCrop(32, scale=(0.2, 1.0))
    params = crop.draw(images, key=DrawKey(0, 0, torch.arange(len(images))))
    return {
        LOOP: lambda: crop.apply(images, params),
        "two matrix products": lambda: resize_windows(images, params, 32),
    }


def two_views_bounds(timing: Timing) -> list[Bound]:
    """A batch must take a fifth of torchvision's time for its images one by one."""
    ratio = timing.ratio(THEIRS, OURS).median
    return [Bound(f"{THEIRS} / {OURS}", ratio, 5, at_least=True)]
