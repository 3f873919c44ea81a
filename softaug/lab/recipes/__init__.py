"""The paper's rows as recipes: frozen, typed, named."""

from softaug.lab.recipes.augment import (
    Augment,
    Cutout,
    Noise,
    NormalOffsets,
    NormalWindows,
    Pace,
    UniformOffsets,
    UniformWindows,
)
from softaug.lab.recipes.catalog import entries, find
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
    ViewsSpec,
)
from softaug.lab.recipes.paper_numbers import PaperNumber
from softaug.lab.recipes.rows import Entry, header
from softaug.lab.recipes.serialize import as_dict, differences, from_dict

__all__ = [
    "AnyRecipe",
    "Augment",
    "BarlowTwinsSpec",
    "Compute",
    "Cutout",
    "DataSpec",
    "Entry",
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
    "SimSiamSpec",
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
