"""The crop of `SoftCrop` by other libraries: an offset for each sample, fill 0, same size.

"As documented" is each library's own pipeline, crop and normalise. "By hand" takes only the
library's crop and normalises the batch in one go, the fastest way found for each.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from softaug.bench.images import MEAN, STD, normalise, v2
from softaug.bench.timing import Variants

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
