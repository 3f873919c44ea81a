"""Networks; a name is imported when it is first used, so that `registry` needs no torch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softaug.lab.models.backbone import Normalize, feature_extractor
    from softaug.lab.models.manifold_mixup import ManifoldMixup, default_layers, find_stages
    from softaug.lab.models.registry import create
    from softaug.lab.models.resnet import resnet8
    from softaug.lab.models.ssl import (
        BarlowTwins,
        SimSiam,
        SimSiamOutput,
        barlow_twins_loss,
        cross_correlation,
        feature_std,
        simsiam_loss,
    )

__all__ = [
    "BarlowTwins",
    "ManifoldMixup",
    "Normalize",
    "SimSiam",
    "SimSiamOutput",
    "barlow_twins_loss",
    "create",
    "cross_correlation",
    "default_layers",
    "feature_extractor",
    "feature_std",
    "find_stages",
    "resnet8",
    "simsiam_loss",
]

_MODULES = {
    "ManifoldMixup": "manifold_mixup",
    "Normalize": "backbone",
    "create": "registry",
    "default_layers": "manifold_mixup",
    "feature_extractor": "backbone",
    "find_stages": "manifold_mixup",
    "resnet8": "resnet",
}  # of every other name: ssl


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'softaug.lab.models' has no attribute {name!r}")
    return getattr(import_module(f"softaug.lab.models.{_MODULES.get(name, 'ssl')}"), name)
