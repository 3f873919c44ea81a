"""Scikit-learn's 1,797 real handwritten digits: in its wheel, nothing to download."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from softaug.checks import refuse

NUM_CLASSES = 10
SPLIT_SEED = 20230618
NUM_VALIDATION, NUM_TEST = 500, 697


class Images(NamedTuple):
    """Images with their labels."""

    images: Tensor  # [N, C, H, W] uint8
    labels: Tensor  # [N] int64


class Splits(NamedTuple):
    """Three parts without a sample in common."""

    train: Images
    validation: Images
    test: Images


def digits(num_train: int = 600) -> Splits:
    """Digits of 16 x 16 pixels, split the same way every time, with each class in proportion.

    Smaller `num_train` (at most 600) takes the first of the same training images; 500 for
    validation and 697 for the test do not change with it.
    """
    images, labels = _load()
    most = len(labels) - NUM_VALIDATION - NUM_TEST
    if not NUM_CLASSES <= num_train <= most:
        refuse("digits", f"num_train must be in {NUM_CLASSES}..{most}", num_train)
    order = stratified_order(labels, SPLIT_SEED)
    train, rest = order[:most], order[most:]
    parts = (train[:num_train], rest[:NUM_VALIDATION], rest[NUM_VALIDATION:])
    return Splits(*(Images(images[part], labels[part]) for part in parts))


def stratified_order(labels: Tensor, seed: int) -> Tensor:
    """A random order, [N] indices, any stretch of which holds each class in proportion."""
    shuffled = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    place = torch.empty(len(labels), dtype=torch.float64)  # in its own class, from 0 to 1
    for label in set(labels.tolist()):
        members = shuffled[labels[shuffled] == label]
        place[members] = (torch.arange(len(members)) + 0.5).double() / len(members)
    return shuffled[place[shuffled].argsort(stable=True)]


def _load() -> tuple[Tensor, Tensor]:
    found = _load_digits()
    small = torch.from_numpy(found.images).float().unsqueeze(1)  # [N, 1, 8, 8] in 0..16
    large = F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
    images = (large * (255 / 16)).round().clamp(0, 255).to(torch.uint8)
    return images, torch.from_numpy(found.target).long()


def _load_digits() -> Any:
    try:
        from sklearn.datasets import load_digits
    except ImportError as missing:
        raise ImportError(
            "softaug.data.digits: scikit-learn, which holds the digits, is not installed; "
            "pip install 'softaug[lab]'"
        ) from missing
    return load_digits()
