"""Scikit-learn's 1,797 real handwritten digits: in its wheel, nothing to download."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from softaug.checks import refuse
from softaug.lab.data.datasets import ReadOptions
from softaug.lab.data.images import ImageData, Images, stratified_order

NUM_CLASSES = 10
SPLIT_SEED = 20230618
NUM_VALIDATION, NUM_TEST = 500, 697


class Splits(NamedTuple):
    """Three parts without a sample in common."""

    train: Images
    validation: Images
    test: Images


def read_digits(name: str, options: ReadOptions) -> ImageData:
    """Read 1,100 training and 697 test images, uint8 [N, 3, 16, 16]; the channels are equal."""
    train, validation, test = (
        Images(split.images.repeat(1, 3, 1, 1), split.labels) for split in split_digits()
    )
    both = Images(*(torch.cat(pair) for pair in zip(train, validation, strict=True)))
    return ImageData(both, test, tuple(str(digit) for digit in range(NUM_CLASSES)))


def split_digits(num_train: int = 600) -> Splits:
    """Split digits of 16 x 16 pixels the same way every time, with each class in proportion.

    Smaller `num_train` (at most 600) takes the first of the same training images; 500 for
    validation and 697 for the test do not change with it.
    """
    images, labels = _load()
    most = len(labels) - NUM_VALIDATION - NUM_TEST
    if not NUM_CLASSES <= num_train <= most:
        refuse("split_digits", f"num_train must be in {NUM_CLASSES}..{most}", num_train)
    order = stratified_order(labels, SPLIT_SEED)
    train, rest = order[:most], order[most:]
    parts = (train[:num_train], rest[:NUM_VALIDATION], rest[NUM_VALIDATION:])
    return Splits(*(Images(images, labels).take(part) for part in parts))


def _load() -> tuple[Tensor, Tensor]:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(
            "softaug.lab.data.digits: scikit-learn, which holds the digits, is not installed; "
            "pip install 'softaug[lab]'"
        ) from error
    bunch = load_digits()
    small = torch.from_numpy(bunch.images).float().unsqueeze(1)  # [N, 1, 8, 8] in 0..16
    large = F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
    images = (large * (255 / 16)).round().clamp(0, 255).to(torch.uint8)
    return images, torch.from_numpy(bunch.target).long()
