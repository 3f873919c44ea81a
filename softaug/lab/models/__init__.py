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


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name in __all__:
        for module in ("backbone", "manifold_mixup", "registry", "resnet", "ssl"):
            found = import_module(f"softaug.lab.models.{module}")
            if hasattr(found, name):
                return getattr(found, name)
    raise AttributeError(f"module 'softaug.lab.models' has no attribute {name!r}")
