"""Suite "crop": a batch cropped, converted and normalised, by softaug and by its peers."""

import math
import statistics
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.timing import (
    CONVERT,
    MEAN,
    STD,
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
from softaug import DrawKey, SoftCrop

DOCUMENTED = "as documented"


def torchvision_crops(images: Tensor) -> Variants:
    """v2 draws one offset a call, so that it is called for each sample."""
    edge = images.shape[-1]
    crop = v2.RandomCrop(edge, padding=edge)
    convert = v2.ToDtype(torch.float32, scale=True)
    pipeline = v2.Compose([crop, convert, v2.Normalize(MEAN, STD)])
    return {
        f"torchvision v2, {DOCUMENTED}": lambda: torch.stack([pipeline(one) for one in images]),
        "torchvision v2.RandomCrop, by hand": lambda: _stacked(images, crop),
        "torchvision v2.functional.crop, by hand": lambda: _functional_crop(images),
    }


def _stacked(images: Tensor, crop: Callable[[Tensor], Tensor]) -> Tensor:
    return normalise(torch.stack([crop(one) for one in images]))


def _functional_crop(images: Tensor) -> Tensor:
    edge = images.shape[-1]
    offsets = torch.randint(1 - edge, edge, (len(images), 2)).tolist()
    pairs = zip(images, offsets, strict=True)
    crops = [v2.functional.crop_image(one, top, left, edge, edge) for one, (top, left) in pairs]
    return normalise(torch.stack(crops))


def kornia_crops(images: Tensor) -> Variants:
    """Kornia draws for each sample of a batch, and needs floats."""
    import kornia.augmentation as K

    edge = images.shape[-1]
    crop = K.RandomCrop((edge, edge), padding=edge, p=1.0, cropping_mode="slice")
    mean, std = torch.tensor(MEAN), torch.tensor(STD)
    pipeline = torch.nn.Sequential(crop, K.Normalize(mean=mean, std=std))
    return {
        f"kornia, {DOCUMENTED}": lambda: pipeline(images.float().div_(255)),
        "kornia RandomCrop, by hand": lambda: normalise(crop(images.float())),
    }


def albumentations_crops(images: Tensor) -> Variants:
    """Called for each sample: it works on one numpy image [H, W, C] at a time."""
    import albumentations as A
    import cv2
    from albumentations.pytorch import ToTensorV2

    cv2.setNumThreads(0)
    edge = images.shape[-1]
    arrays = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
    pad, crop = A.Pad(padding=edge, fill=0, p=1), A.RandomCrop(edge, edge, p=1)
    both = A.Compose([pad, crop])
    pipeline = A.Compose([pad, crop, A.Normalize(MEAN, STD), ToTensorV2()])

    def bare() -> Tensor:
        crops = [crop(image=pad(image=one)["image"])["image"] for one in arrays]
        return _from_arrays(crops)

    return {
        f"albumentations, {DOCUMENTED}": lambda: torch.stack(
            [pipeline(image=one)["image"] for one in arrays]
        ),
        "albumentations Compose(Pad, RandomCrop), by hand": lambda: _from_arrays(
            [both(image=one)["image"] for one in arrays]
        ),
        "albumentations without Compose, by hand": bare,
    }


def _from_arrays(crops: list[np.ndarray]) -> Tensor:
    return normalise(torch.from_numpy(np.stack(crops)).permute(0, 3, 1, 2).contiguous())


def plain_loops(images: Tensor) -> Variants:
    """No library: the paper's way, written from its text, and the fastest such loop."""
    return {
        "plain loop: canvas of 3 x 3 images, slice": lambda: _canvas_loop(images, sigma=0.3),
        "plain loop: one padded batch, slices": lambda: _slice_loop(images),
    }


def _canvas_loop(images: Tensor, sigma: float) -> Tensor:
    return normalise(torch.stack([_canvas_crop(one, sigma) for one in images]))


def _canvas_crop(image: Tensor, sigma: float) -> Tensor:
    channels, edge, _ = image.shape
    canvas = image.new_zeros(channels, 3 * edge, 3 * edge)
    canvas[:, edge : 2 * edge, edge : 2 * edge] = image
    top, left = (edge + _offset(edge, sigma) for _ in range(2))
    return canvas[:, top : top + edge, left : left + edge]


def _offset(edge: int, sigma: float) -> int:
    """Normal, drawn again until some of the image is left."""
    while abs(offset := float(torch.randn(())) * sigma * edge) >= edge:
        pass
    return int(offset)


def _slice_loop(images: Tensor) -> Tensor:
    edge = images.shape[-1]
    padded = F.pad(images, (edge, edge, edge, edge))
    starts = torch.randint(1, 2 * edge, (len(images), 2)).tolist()
    pairs = zip(padded, starts, strict=True)
    return normalise(
        torch.stack([one[:, top : top + edge, left : left + edge] for one, (top, left) in pairs])
    )


OURS = "SoftCrop, torch's own generator"
KEYED = "SoftCrop, keyed draws"
PEERS: dict[str, Peer] = {
    "torchvision": torchvision_crops,
    "kornia": kornia_crops,
    "albumentations": albumentations_crops,
}


def crop_suite(rounds: int, batch: int = 512) -> list[Table]:
    """Crops with an offset for each sample, from uint8 to normalised float32."""
    images, labels = make_images(batch)
    found, missing = installed(PEERS, images)
    peers = {name: call for variants in found.values() for name, call in variants.items()}
    variants = {**_ours(images, labels), **peers, **plain_loops(images)}
    timing = interleave(variants, rounds)
    return [
        Table(
            f"Crop, convert and normalise {batch} uint8 images of 32 x 32",
            CONVERT,
            "ms",
            timing_rows(timing, CONVERT, missing),
            crop_bounds(timing, list(peers)),
        )
    ]


def _ours(images: Tensor, labels: Tensor) -> Variants:
    crop, key = SoftCrop(), DrawKey(0, 0, torch.arange(len(images)))
    return {
        CONVERT: lambda: normalise(images),
        OURS: lambda: normalise(crop(images, labels)[0]),
        KEYED: lambda: normalise(crop(images, labels, key=key)[0]),
    }


def crop_bounds(timing: Timing, peers: list[str]) -> list[Bound]:
    """What the crop must reach: against peers with draws like theirs, alone with keyed ones.

    The bound is on the libraries as documented; crops put together by hand are for comparison.
    """
    most = Bound("SoftCrop, keyed / convert and normalise", timing.ratio(KEYED, CONVERT).median, 8)
    documented = [name for name in peers if DOCUMENTED in name]
    return [_ahead_of(timing, documented), most] if documented else [most]


def _ahead_of(timing: Timing, names: list[str]) -> Bound:
    fastest = min(names, key=timing.median)
    return Bound(f"{fastest} / SoftCrop", timing.ratio(fastest, OURS).median, 10, at_least=True)


BATCHES = (64, 128, 256, 512, 1024, 2048, 4096)
EDGES = (32, 64, 128, 224)
SIGMAS = (0.05, 0.1, 0.3, 0.5, 1.0)


def scaling_suite(
    rounds: int,
    batches: Sequence[int] = BATCHES,
    edges: Sequence[int] = EDGES,
    sigmas: Sequence[float] = SIGMAS,
) -> list[Table]:
    """Cost of `SoftCrop` alone, with keyed draws."""
    return [_over_batch(rounds, batches), _over_edge(rounds, edges), _over_sigma(rounds, sigmas)]


def _over_batch(rounds: int, batches: Sequence[int]) -> Table:
    sizes = {f"batch {batch}": batch for batch in batches}
    timing = interleave({name: _crop(batch) for name, batch in sizes.items()}, rounds)
    return _sweep("SoftCrop over the batch, 32 x 32", timing, list(sizes.values()))


def _over_edge(rounds: int, edges: Sequence[int], batch: int = 64) -> Table:
    sizes = {f"{edge} x {edge}": edge * edge for edge in edges}
    variants = {f"{edge} x {edge}": _crop(batch, edge) for edge in edges}
    title = f"SoftCrop over the pixels, batch {batch}"
    return _sweep(title, interleave(variants, rounds), list(sizes.values()))


def _over_sigma(rounds: int, sigmas: Sequence[float]) -> Table:
    timing = interleave({f"sigma {s}": _crop(512, sigma=s) for s in sigmas}, rounds)
    base = next(iter(timing.seconds))
    ratios = [timing.ratio(name, base).median for name in timing.seconds]
    bound = Bound("slowest sigma / fastest", max(ratios) / min(ratios), 1.15)
    title = "SoftCrop over sigma, batch 512, 32 x 32"
    return Table(title, base, "ms", timing_rows(timing, base), [bound])


def _crop(batch: int, edge: int = 32, sigma: float = 0.3) -> Callable[[], object]:
    images, labels = make_images(batch, edge)
    crop, key = SoftCrop(sigma), DrawKey(0, 0, torch.arange(batch))
    return lambda: crop(images, labels, key=key)


def _sweep(title: str, timing: Timing, sizes: list[int]) -> Table:
    base = next(iter(timing.seconds))
    seconds = [timing.median(name) for name in timing.seconds]
    half = (len(sizes) - 1) // 2  # below it the fixed cost of a call shows
    rule = "power of the size that the cost follows, larger half (1 is linear)"
    bounds = [Bound(rule, slope(sizes[half:], seconds[half:]), 1.15)]
    return Table(title, base, "ms", timing_rows(timing, base), bounds)


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The power of the size that the cost follows: 1 is linear, less shows a fixed cost.

    >>> slope([1, 2, 4], [3.0, 6.0, 12.0])
    1.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    return round(statistics.linear_regression(x, y).slope, 6)
