"""Soft Augmentation: labels that soften with what an augmentation destroyed.

Names are imported when they are first used, so that `softaug --help` loads no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softaug.batchnorm import update_batchnorm
    from softaug.draws import DrawKey
    from softaug.label import MixedLabel, SoftLabel
    from softaug.losses import SoftBCELoss, SoftLoss
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

__version__ = "0.2.0"

__all__ = [
    "CutMix",
    "DrawKey",
    "MixedLabel",
    "Mixup",
    "OnlineSmoothing",
    "Pacer",
    "SoftAffine",
    "SoftBCELoss",
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
    "update_batchnorm",
]

_MODULES = {
    "CutMix": "mixing",
    "DrawKey": "draws",
    "MixedLabel": "label",
    "Mixup": "mixing",
    "OnlineSmoothing": "online_smoothing",
    "Pacer": "pacing",
    "SoftBCELoss": "losses",
    "SoftLabel": "label",
    "SoftLoss": "losses",
    "confidence": "softening",
    "pair_weight": "pair_weights",
    "retained": "softening",
    "update_batchnorm": "batchnorm",
}  # of every other name: transforms


def __getattr__(name: str) -> Any:
    """Import a public name, or a part of the package, when it is first used (PEP 562)."""
    if name in __all__:
        value = getattr(import_module(f"softaug.{_MODULES.get(name, 'transforms')}"), name)
        globals()[name] = value
        return value
    if name in ("lab", "metrics", "pacing", "transforms"):
        return import_module(f"softaug.{name}")
    raise AttributeError(f"module 'softaug' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
