"""The laboratory: recipes, data, networks, training, evaluation and reports."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softaug.lab.evaluation.network import load_run

__all__ = ["load_run"]


def __getattr__(name: str) -> Any:
    """Import `load_run` when it is first used: it loads torch."""
    if name == "load_run":
        try:
            return import_module("softaug.lab.evaluation.network").load_run
        except ModuleNotFoundError as missing:
            remedy = "pip install 'softaug[lab]'"
            raise ImportError(f"load_run needs the lab extra ({missing}); {remedy}") from missing
    raise AttributeError(f"module 'softaug.lab' has no attribute {name!r}")
