"""Transforms that report how much of each image they left."""

from softaug.transforms.base import SoftTransform
from softaug.transforms.crop import CropParams, SoftCrop, UniformCrop
from softaug.transforms.erase import EraseParams, SoftCutout, SoftErase
from softaug.transforms.flip import FlipParams, HorizontalFlip
from softaug.transforms.noise import NoiseParams, SoftNoise
from softaug.transforms.per_sample import PerSample, SeedParams

__all__ = [
    "CropParams",
    "EraseParams",
    "FlipParams",
    "HorizontalFlip",
    "NoiseParams",
    "PerSample",
    "SeedParams",
    "SoftCrop",
    "SoftCutout",
    "SoftErase",
    "SoftNoise",
    "SoftTransform",
    "UniformCrop",
]
