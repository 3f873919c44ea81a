"""Soft Augmentation: labels that soften with what an augmentation destroyed."""

from softaug.draws import DrawKey
from softaug.label import MixedLabel, SoftLabel
from softaug.losses import SoftLoss
from softaug.mixing import CutMix, Mixup
from softaug.online_smoothing import OnlineSmoothing
from softaug.pacing import Pacer
from softaug.pair_weights import pair_weight
from softaug.softening import confidence, retained
from softaug.transforms import (
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
)

__version__ = "0.1.0"

__all__ = [
    "CutMix",
    "DrawKey",
    "MixedLabel",
    "Mixup",
    "OnlineSmoothing",
    "Pacer",
    "SoftAffine",
    "SoftCrop",
    "SoftCutout",
    "SoftErase",
    "SoftLabel",
    "SoftLoss",
    "SoftNoise",
    "SoftPolicy",
    "SoftResizedCrop",
    "UniformCrop",
    "UniformResizedCrop",
    "confidence",
    "pair_weight",
    "retained",
]
