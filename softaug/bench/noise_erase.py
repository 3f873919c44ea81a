"""Suite "noise-erase": the other transforms, beside their hard counterparts elsewhere."""

import torch
from torch import Tensor

from softaug import DrawKey, SoftCutout, SoftErase, SoftNoise
from softaug.bench.images import CONVERT, make_images, normalise, v2
from softaug.bench.peers import Peer, installed
from softaug.bench.table import Table, timing_rows
from softaug.bench.timing import Variants, interleave


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
