"""Networks."""

from softaug.models.registry import create
from softaug.models.resnet import resnet8
from softaug.models.standardise import Standardise

__all__ = ["Standardise", "create", "resnet8"]
