"""Networks; one's module is imported when it is made, so that names are known without torch."""

from softaug.lab.models.registry import create

__all__ = ["create"]
