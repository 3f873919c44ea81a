"""Soft Augmentation: labels that soften with what an augmentation destroyed."""

from softaug.draws import DrawKey
from softaug.label import SoftLabel
from softaug.losses import SoftLoss
from softaug.softening import confidence, retained
from softaug.transforms import (
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftNoise,
    SoftPolicy,
    UniformCrop,
)

__version__ = "0.1.0"

__all__ = [
    "DrawKey",
    "SoftAffine",
    "SoftCrop",
    "SoftCutout",
    "SoftErase",
    "SoftLabel",
    "SoftLoss",
    "SoftNoise",
    "SoftPolicy",
    "UniformCrop",
    "confidence",
    "retained",
]
