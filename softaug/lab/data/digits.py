"""Scikit-learn's 1,797 real handwritten digits: in its wheel, nothing to download."""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from softaug.lab.data.datasets import ReadOptions
from softaug.lab.data.images import ImageData, Images, stratified_order

NUM_CLASSES = 10
SPLIT_SEED = 20230618
NUM_TRAIN, NUM_VALIDATION = 600, 500


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


def split_digits() -> Splits:
    """Split digits of 16 x 16 pixels the same way every time, with each class in proportion.

    600 for training, 500 for validation and 697 for the test.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    labels = torch.from_numpy(bunch.target).long()
    small = torch.from_numpy(bunch.images).float().unsqueeze(1)  # [N, 1, 8, 8] in 0..16
    large = F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
    images = (large * (255 / 16)).round().clamp(0, 255).to(torch.uint8)
    order = stratified_order(labels, SPLIT_SEED)
    parts = order.tensor_split((NUM_TRAIN, NUM_TRAIN + NUM_VALIDATION))
    return Splits(*(Images(images, labels).take(part) for part in parts))
