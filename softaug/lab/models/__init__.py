"""Networks."""

from softaug.lab.models.manifold_mixup import ManifoldMixup, default_layers, stages
from softaug.lab.models.registry import Standardise, create, feature_extractor
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
    "SimSiam",
    "SimSiamOutput",
    "Standardise",
    "barlow_twins_loss",
    "create",
    "cross_correlation",
    "default_layers",
    "feature_extractor",
    "feature_std",
    "resnet8",
    "simsiam_loss",
    "stages",
]
