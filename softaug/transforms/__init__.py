"""Transforms that report how much of each image they left."""

from softaug.transforms.affine import AffineParams, SoftAffine
from softaug.transforms.base import SoftTransform
from softaug.transforms.crop import CropParams, FlipParams, HorizontalFlip, SoftCrop, UniformCrop
from softaug.transforms.erase_noise import (
    EraseParams,
    NoiseParams,
    SoftCutout,
    SoftErase,
    SoftNoise,
)
from softaug.transforms.policy import PerSample, PolicyParams, SeedParams, SoftPolicy
from softaug.transforms.resized_crop import SoftResizedCrop, UniformResizedCrop
from softaug.transforms.strength import Mixture, Uniform
from softaug.transforms.two_views import ColorJitter, JitterParams, TwoViews, ViewParams, Views
from softaug.transforms.windows import WindowCrop, WindowParams

__all__ = [
    "AffineParams",
    "ColorJitter",
    "CropParams",
    "EraseParams",
    "FlipParams",
    "HorizontalFlip",
    "JitterParams",
    "Mixture",
    "NoiseParams",
    "PerSample",
    "PolicyParams",
    "SeedParams",
    "SoftAffine",
    "SoftCrop",
    "SoftCutout",
    "SoftErase",
    "SoftNoise",
    "SoftPolicy",
    "SoftResizedCrop",
    "SoftTransform",
    "TwoViews",
    "Uniform",
    "UniformCrop",
    "UniformResizedCrop",
    "ViewParams",
    "Views",
    "WindowCrop",
    "WindowParams",
]
