"""Transforms that report how much of each image they left."""

from softaug.transforms.base import SoftTransform
from softaug.transforms.crop import CropParams, SoftCrop, UniformCrop
from softaug.transforms.erase import EraseParams, SoftCutout, SoftErase
from softaug.transforms.noise import NoiseParams, SoftNoise

__all__ = [
    "CropParams",
    "EraseParams",
    "NoiseParams",
    "SoftCrop",
    "SoftCutout",
    "SoftErase",
    "SoftNoise",
    "SoftTransform",
    "UniformCrop",
]
