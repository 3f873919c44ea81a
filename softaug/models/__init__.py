"""Networks."""

from softaug.models.manifold_mixup import ManifoldMixup, default_layers
from softaug.models.registry import create
from softaug.models.resnet import resnet8
from softaug.models.stages import stages
from softaug.models.standardise import Standardise

__all__ = ["ManifoldMixup", "Standardise", "create", "default_layers", "resnet8", "stages"]
