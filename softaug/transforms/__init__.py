"""Transforms that report how much of each image they left."""

from softaug.transforms.affine import AffineParams, SoftAffine
from softaug.transforms.base import SoftTransform
from softaug.transforms.color_jitter import ColorJitter, JitterParams
from softaug.transforms.crop import CropParams, SoftCrop, UniformCrop
from softaug.transforms.erase import EraseParams, SoftCutout, SoftErase
from softaug.transforms.flip import FlipParams, HorizontalFlip
from softaug.transforms.noise import NoiseParams, SoftNoise
from softaug.transforms.policy import PerSample, PolicyParams, SeedParams, SoftPolicy
from softaug.transforms.resized_crop import SoftResizedCrop, UniformResizedCrop
from softaug.transforms.two_views import TwoViews, ViewParams, Views
from softaug.transforms.windows import WindowCrop, WindowParams

__all__ = [
    "AffineParams",
    "ColorJitter",
    "CropParams",
    "EraseParams",
    "FlipParams",
    "HorizontalFlip",
    "JitterParams",
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
    "UniformCrop",
    "UniformResizedCrop",
    "ViewParams",
    "Views",
    "WindowCrop",
    "WindowParams",
]
