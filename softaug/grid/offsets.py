"""Figure 1's dots: where crops land, and how sure their targets still are."""

from collections.abc import Mapping
from typing import Any

import torch

from softaug.draws import DrawKey
from softaug.paper.exhibit import Exhibit
from softaug.recipes.pretrain import AnyRecipe
from softaug.recipes.recipe import Augment, Recipe
from softaug.training.augmentation import build_chain

NUM_DOTS = 400
EDGES = {"digits": 16}  # others are CIFAR's
NUM_CLASSES = {"digits": 10, "cifar10": 10, "cifar100": 100}


def drawn_offsets(exhibit: Exhibit, recipes: Mapping[str, AnyRecipe | str]) -> list[dict[str, Any]]:
    """Draws of each row's crop, those of the first images in the first epoch of seed 0."""
    found = []
    for row in exhibit.rows:
        recipe = recipes[row.recipe or ""]
        assert isinstance(recipe, Recipe)
        found.append({"label": row.label, **_drawn(recipe)})
    return found


def _drawn(recipe: Recipe) -> dict[str, Any]:
    edge = EDGES.get(recipe.data.name, 32)
    alone = Augment(crop=recipe.augment.crop, flip=False)
    (transform,) = build_chain(alone, (0.0, 0.0, 0.0), edge).transforms
    key = DrawKey(seed=0, epoch=0, index=torch.arange(NUM_DOTS))
    params = transform.draw(torch.zeros(NUM_DOTS, 3, edge, edge, dtype=torch.uint8), key=key)
    label = transform.report(torch.zeros(NUM_DOTS, dtype=torch.int64), params)
    sure = torch.as_tensor(label.confidence(NUM_CLASSES[recipe.data.name]))
    if recipe.loss.soften == "none":
        sure = torch.ones_like(sure)
    return {
        "size": edge,
        "offsets": torch.stack([params.dx, params.dy], 1).tolist(),
        "confidence": [round(value, 4) for value in sure.tolist()],
    }
