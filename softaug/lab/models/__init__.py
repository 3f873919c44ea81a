"""Networks; the module of each is imported when it is made, so that names need no torch."""

from softaug.lab.models.registry import create

__all__ = ["create"]
