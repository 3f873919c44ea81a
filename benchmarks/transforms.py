"""Suite "noise-erase": the other transforms, beside their hard counterparts elsewhere."""

import torch
from torch import Tensor

from benchmarks.timing import (
    CONVERT,
    Bound,
    Peer,
    Table,
    Timing,
    Variants,
    installed,
    interleave,
    make_images,
    normalise,
    timing_rows,
    v2,
)
from softaug import DrawKey, SoftAffine, SoftCutout, SoftErase, SoftNoise, SoftPolicy
from softaug.transforms import TwoViews, UniformResizedCrop
from softaug.transforms.resized_crop import resize_windows


def noise_erase_suite(rounds: int, batch: int = 512) -> list[Table]:
    """Noise and erasing with parameters for each sample, from uint8 to normalised float32."""
    images, labels = make_images(batch)
    found, missing = installed(PEERS, images)
    peers = {name: call for variants in found.values() for name, call in variants.items()}
    timing = interleave({**_ours(images, labels), **peers}, rounds)
    title = f"Noise or erase, convert and normalise {batch} uint8 images of 32 x 32"
    return [Table(title, CONVERT, "ms", timing_rows(timing, CONVERT, missing))]


def _ours(images: Tensor, labels: Tensor) -> Variants:
    noise, erase, cutout = SoftNoise(), SoftErase(), SoftCutout()
    key = DrawKey(0, 0, torch.arange(len(images)))
    return {
        CONVERT: lambda: normalise(images),
        "SoftNoise, keyed": lambda: normalise(noise(images, labels, key=key)[0]),
        "SoftErase, keyed": lambda: normalise(erase(images, labels, key=key)[0]),
        "SoftCutout, keyed": lambda: normalise(cutout(images, labels, key=key)[0]),
    }


def _torchvision(images: Tensor) -> Variants:
    noise, erase = v2.GaussianNoise(sigma=25.5, clip=False), v2.RandomErasing(p=1)
    return {
        "torchvision GaussianNoise, one strength for all": lambda: normalise(noise(images.float())),
        "torchvision RandomErasing, per sample": lambda: normalise(
            torch.stack([erase(one) for one in images])
        ),
    }


def _kornia(images: Tensor) -> Variants:
    import kornia.augmentation as K

    noise, erase = K.RandomGaussianNoise(std=25.5, p=1.0), K.RandomErasing(p=1.0)
    return {
        "kornia RandomGaussianNoise, one strength for all": lambda: normalise(
            noise(images.float())
        ),
        "kornia RandomErasing": lambda: normalise(erase(images.float())),
    }


def _albumentations(images: Tensor) -> Variants:
    import albumentations as A
    import numpy as np

    arrays = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())

    def over(transform: A.Compose) -> Tensor:
        out = np.stack([transform(image=one)["image"] for one in arrays])
        return normalise(torch.from_numpy(out).permute(0, 3, 1, 2).contiguous())

    noise, erase = A.Compose([A.GaussNoise(p=1)]), A.Compose([A.Erasing(p=1)])
    return {
        "albumentations GaussNoise, per sample": lambda: over(noise),
        "albumentations Erasing, per sample": lambda: over(erase),
    }


PEERS: dict[str, Peer] = {
    "torchvision": _torchvision,
    "kornia": _kornia,
    "albumentations": _albumentations,
}


OURS = {"rand": "SoftPolicy rand, keyed", "trivial": "SoftPolicy trivial, keyed"}
THEIRS = {
    "rand": "torchvision RandAugment, per sample",
    "trivial": "torchvision TrivialAugmentWide, per sample",
}


def policy_suite(rounds: int, batch: int = 512) -> list[Table]:
    """Operations drawn for each sample, from uint8 to normalised float32."""
    images, labels = make_images(batch)
    timing = interleave({**_ours_policy(images, labels), **_torchvision_policy(images)}, rounds)
    bounds = [_is_five_times_faster(timing, OURS[name], THEIRS[name]) for name in OURS]
    title = f"Augment by a policy, convert and normalise {batch} uint8 images of 32 x 32"
    return [Table(title, CONVERT, "ms", timing_rows(timing, CONVERT), bounds)]


def _ours_policy(images: Tensor, labels: Tensor) -> Variants:
    rand, trivial = SoftPolicy("rand"), SoftPolicy("trivial")
    affine = SoftAffine(30, (0.1, 0.1), (0.8, 1.2), 10)
    key = DrawKey(0, 0, torch.arange(len(images)))
    return {
        CONVERT: lambda: normalise(images),
        OURS["rand"]: lambda: normalise(rand(images, labels, key=key)[0]),
        OURS["trivial"]: lambda: normalise(trivial(images, labels, key=key)[0]),
        "SoftAffine, keyed": lambda: normalise(affine(images, labels, key=key)[0]),
    }


def _torchvision_policy(images: Tensor) -> Variants:
    rand, trivial = v2.RandAugment(), v2.TrivialAugmentWide()
    affine = v2.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 10)
    return {
        THEIRS["rand"]: lambda: normalise(torch.stack([rand(one) for one in images])),
        THEIRS["trivial"]: lambda: normalise(torch.stack([trivial(one) for one in images])),
        "torchvision RandomAffine, per sample": lambda: normalise(
            torch.stack([affine(one) for one in images])
        ),
    }


def _is_five_times_faster(timing: Timing, ours: str, theirs: str) -> Bound:
    """A batch must take a fifth of torchvision's time for its images one by one."""
    return Bound(f"{theirs} / {ours}", timing.ratio(theirs, ours).median, 5, at_least=True)


OURS_TWO_VIEWS = "TwoViews, keyed"
THEIRS_TWO_VIEWS = "torchvision, the same operations, per sample"
LOOP = "torchvision's resize in a loop"


def two_views_suite(rounds: int, batch: int = 512) -> list[Table]:
    """Both views of each image, from uint8 to normalised float32; and the crop alone."""
    images, _ = make_images(batch)
    views = interleave({**_both(images), **_torchvision_two_views(images)}, rounds)
    crops = interleave(_crops(images), rounds)
    title = f"{batch} uint8 images of 32 x 32"
    return [
        Table(
            f"Two views, converted and normalised, of {title}",
            CONVERT,
            "ms",
            timing_rows(views, CONVERT),
            [_is_five_times_faster(views, OURS_TWO_VIEWS, THEIRS_TWO_VIEWS)],
        ),
        Table(f"Windows of {title}, resized", LOOP, "ms", timing_rows(crops, LOOP)),
    ]


def _both(images: Tensor) -> Variants:
    views, key = TwoViews(), DrawKey(0, 0, torch.arange(len(images)))

    def ours() -> list[Tensor]:
        found = views(images, key=key)
        return [normalise(found.first), normalise(found.second)]

    return {CONVERT: lambda: [normalise(images) for _ in range(2)], OURS_TWO_VIEWS: ours}


def _torchvision_two_views(images: Tensor) -> Variants:
    jitter = v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
    crop, grey = v2.RandomResizedCrop(32, scale=(0.2, 1.0)), v2.RandomGrayscale(0.2)
    view = v2.Compose([crop, jitter, grey, v2.RandomHorizontalFlip()])

    def theirs() -> list[Tensor]:
        return [normalise(torch.stack([view(image) for image in images])) for _ in range(2)]

    return {THEIRS_TWO_VIEWS: theirs}


def _crops(images: Tensor) -> Variants:
    crop = UniformResizedCrop(32, scale=(0.2, 1.0))
    params = crop.draw(images, key=DrawKey(0, 0, torch.arange(len(images))))
    return {
        LOOP: lambda: crop.apply(images, params),
        "two matrix products": lambda: resize_windows(images, params, 32),
    }
