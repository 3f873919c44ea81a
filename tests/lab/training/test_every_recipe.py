"""Every recipe trains for a step; the network is a small one, tests/models has the others."""

from dataclasses import replace

import pytest
from one_step import take_step

from softaug.lab.data.datasets import is_files
from softaug.lab.recipes import Finetune, Recipe, entries


def kinds():
    """A recipe for each way to train: rows that differ in network, data or epochs are one."""
    found = {}
    for recipe in (entry.recipe for entry in entries() if isinstance(entry.recipe, Recipe)):
        # Other priors are of the data's classes (test_prior has them); the run that a recipe begins
        # from is not there.
        loss = replace(recipe.loss, prior="uniform")
        recipe = replace(recipe, loss=loss, finetune=Finetune())
        if recipe.uncertainty.outliers is not None:  # those that come with softaug
            spec = replace(recipe.uncertainty, outliers="fashion-mini", outlier_share=1.0)
            recipe = replace(recipe, uncertainty=spec)
        way = replace(recipe, name="x", model="resnet8", data=recipe.data, members=1, epochs=10)
        name = "imagenet" if is_files(recipe.data.name) else "cifar10"
        way = replace(way, data=replace(way.data, name=name, per_class=None, size=32))
        found.setdefault(way, replace(recipe, data=replace(recipe.data, size=32)))
    return list(found.values())


@pytest.mark.parametrize("recipe", kinds(), ids=lambda recipe: recipe.name)
def test_a_recipe_trains_for_a_step(recipe):
    found, moved = take_step(replace(recipe, members=1))
    assert found.isfinite().all()
    assert moved.isfinite().all()
    assert float(moved.abs().max()) > 0
