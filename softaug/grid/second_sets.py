"""Test sets beside a data set's own: ImageNet-V2, where it lies among the data."""

from pathlib import Path

from softaug.data.place import data_folder
from softaug.recipes.paper_numbers import V2
from softaug.recipes.pretrain import AnyRecipe

V2_FOLDER = "imagenetv2-matched-frequency-format-val"


def second_sets(recipe: AnyRecipe, data_dir: Path | None) -> tuple[str, ...]:
    """What `softaug evaluate --also` is to measure; ImageNet-V2 for all 1,000 classes alone."""
    folder = data_folder(data_dir) / V2_FOLDER
    if recipe.data.name != "imagenet" or not folder.is_dir():
        return ()
    return (f"{V2}={folder}",)
