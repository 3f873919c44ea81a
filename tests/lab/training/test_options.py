from pathlib import Path

import pytest
from tiny_runs import tiny

from softaug.lab.training.run_dir import RunOptions


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("workers", -1, 0),
        ("threads", 0, 1),
        ("checkpoint_steps", 0, 1),
        ("evaluate_epochs", 0, 1),
        ("evaluate_epochs", 1.5, 1),
        ("workers", True, 0),
    ],
)
def test_a_value_that_cannot_be_is_refused(name, value, least):
    with pytest.raises(ValueError, match=f"train: {name} must be a whole number >= {least}, got"):
        RunOptions(**{name: value})


def test_the_least_values_are_accepted():
    options = RunOptions(workers=0, threads=1, checkpoint_steps=1, evaluate_epochs=1)
    assert (options.workers, options.checkpoint_steps) == (0, 1)


def test_the_folder_is_named_for_recipe_and_seed_unless_given():
    recipe = tiny(seed=3)
    assert RunOptions().folder(recipe) == Path("runs/digits-resnet8-soft-seed3")
    assert RunOptions(out=Path("here")).folder(recipe) == Path("here")
