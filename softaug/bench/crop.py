"""Suite "crop": a batch cropped, converted and normalised, by softaug and by its peers."""

import torch
from torch import Tensor

from softaug import DrawKey, SoftCrop
from softaug.bench.crop_peers import (
    DOCUMENTED,
    albumentations_crops,
    kornia_crops,
    plain_loops,
    torchvision_crops,
)
from softaug.bench.images import CONVERT, make_images, normalise
from softaug.bench.peers import Peer, installed
from softaug.bench.table import Bound, Table, timing_rows
from softaug.bench.timing import Timing, Variants, interleave

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
