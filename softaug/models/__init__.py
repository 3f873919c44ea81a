"""Networks."""

from softaug.models.barlow_twins import BarlowTwins, barlow_twins_loss, cross_correlation
from softaug.models.features import feature_extractor
from softaug.models.manifold_mixup import ManifoldMixup, default_layers
from softaug.models.registry import create
from softaug.models.resnet import resnet8
from softaug.models.simsiam import SimSiam, SimSiamOutput, feature_std, simsiam_loss
from softaug.models.stages import stages
from softaug.models.standardise import Standardise

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
