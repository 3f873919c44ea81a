"""The paper's rows as recipes: frozen, typed, named.

The catalog of rows is made when a name of it is first used: a trained run has its own recipe.json.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softaug.lab.recipes.augment import (
    Augment,
    Cutout,
    Erase,
    Factors,
    Noise,
    NormalOffsets,
    NormalWindows,
    Pace,
    SigmaLaw,
    UniformOffsets,
    UniformWindows,
)
from softaug.lab.recipes.config import (
    AnyRecipe,
    BarlowTwinsSpec,
    Compute,
    DataSpec,
    Finetune,
    LossSpec,
    Mix,
    Optim,
    PairSpec,
    PretrainRecipe,
    ProbeSpec,
    Recipe,
    SimSiamSpec,
    Uncertainty,
    ViewsSpec,
)
from softaug.lab.recipes.serialize import as_dict, differences, from_dict

if TYPE_CHECKING:
    from softaug.lab.recipes.catalog import entries, find
    from softaug.lab.recipes.paper_numbers import PaperNumber
    from softaug.lab.recipes.rows import Entry, header

__all__ = [
    "AnyRecipe",
    "Augment",
    "BarlowTwinsSpec",
    "Compute",
    "Cutout",
    "DataSpec",
    "Entry",
    "Erase",
    "Factors",
    "Finetune",
    "LossSpec",
    "Mix",
    "Noise",
    "NormalOffsets",
    "NormalWindows",
    "Optim",
    "Pace",
    "PairSpec",
    "PaperNumber",
    "PretrainRecipe",
    "ProbeSpec",
    "Recipe",
    "SigmaLaw",
    "SimSiamSpec",
    "Uncertainty",
    "UniformOffsets",
    "UniformWindows",
    "ViewsSpec",
    "as_dict",
    "differences",
    "entries",
    "find",
    "from_dict",
    "header",
]

_MODULES = {
    "Entry": "rows",
    "PaperNumber": "paper_numbers",
    "entries": "catalog",
    "find": "catalog",
    "header": "rows",
}


def __getattr__(name: str) -> Any:
    """Import a name of the catalog when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'softaug.lab.recipes' has no attribute {name!r}")
    return getattr(import_module(f"softaug.lab.recipes.{_MODULES[name]}"), name)
