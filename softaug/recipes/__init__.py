"""The paper's rows as recipes: frozen, typed, named."""

from softaug.recipes.catalogue import entries, find
from softaug.recipes.crops import NormalOffsets, NormalWindows, UniformOffsets, UniformWindows
from softaug.recipes.entry import Entry, header
from softaug.recipes.pace import Pace
from softaug.recipes.paper_numbers import PaperNumber
from softaug.recipes.pretrain import (
    AnyRecipe,
    BarlowTwinsSpec,
    PairSpec,
    PretrainRecipe,
    ProbeSpec,
    SimSiamSpec,
    ViewsSpec,
)
from softaug.recipes.recipe import (
    Augment,
    Compute,
    Cutout,
    DataSpec,
    LossSpec,
    Mix,
    Noise,
    Optim,
    Recipe,
)
from softaug.recipes.serialise import as_dict, differences, from_dict

__all__ = [
    "AnyRecipe",
    "Augment",
    "BarlowTwinsSpec",
    "Compute",
    "Cutout",
    "DataSpec",
    "Entry",
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
