"""What recipes become at smaller scales, and what they keep."""

from dataclasses import replace

import pytest

from softaug.lab.recipes import find
from softaug.lab.recipes.paper_tables import all_tables, find_tables
from softaug.lab.recipes.scale import at_scale, scaled
from softaug.lab.recipes.serialize import as_dict, differences


def changed(name, scale):
    """Dotted names of what a scale changes of a recipe, but for its name."""
    recipe = find(name).recipe
    lines = differences(as_dict(recipe), as_dict(at_scale(recipe, scale)))
    return {line.partition(":")[0] for line in lines} - {"name"}


def test_recipes_are_as_they_are_at_the_paper_s_scale_and_those_of_studies_at_cpu():
    for table in all_tables():
        scale = "paper" if table.of_paper else "cpu"
        assert scaled(table, scale) == ({name: find(name).recipe for name in table.recipes}, {})


@pytest.mark.parametrize("scale", ["cpu", "smoke"])
def test_recipes_of_one_name_are_one_recipe_and_no_table_has_a_row_twice(scale):
    found = {}
    for table in all_tables():
        recipes = scaled(table, scale)[0].values()
        for recipe in recipes:
            assert found.setdefault(recipe.name, recipe) == recipe
        assert len({recipe.name for recipe in recipes}) == len(recipes)
        alike = [replace(recipe, name="one") for recipe in recipes]
        assert scale == "smoke" or len(set(alike)) == len(alike)


def test_cpu_changes_network_images_and_epochs_alone():
    for name in ("cifar100-resnet18-soft", "cifar10-wrn28-10-soft-trivialaugment"):
        assert changed(name, "cpu") == {"data.per_class", "epochs", "model"}
    recipe = find("imagenet-resnet50-soft-randaugment").recipe
    small = at_scale(recipe, "cpu")
    assert (small.augment, small.loss) == (recipe.augment, recipe.loss)
    assert small.name == "cpu-imagenette-resnet8-s2-soft-randaugment"


def test_cpu_keeps_the_ratio_of_learning_rates_and_the_weights_of_pairs():
    first, slow, steep = (
        at_scale(find(f"cifar100-simsiam-resnet18-{arm}").recipe, "cpu")
        for arm in ("sa1", "sa1-lr0.1", "sa1-k2")
    )
    small = find("cifar100-simsiam-resnet8-s2-sa1").recipe
    assert replace(first, name=small.name) == small
    assert slow.optim.lr == pytest.approx(small.optim.lr / 2)
    assert (steep.weight.k, first.weight.k) == (2.0, 4.0)


def test_of_two_networks_that_become_one_the_first_row_has_it():
    (table2,), (table3,) = find_tables(["table2"]), find_tables(["table3"])
    there = scaled(table2, "cpu")[1]["cifar100-wrn28-10-hard"]
    assert "stands for cifar100-resnet18-hard already" in there
    assert scaled(table2, "cpu")[1]["cifar100-pyramidnet272-soft"].startswith("no small network")
    alone = scaled(table3, "cpu")[0]["cifar100-wrn28-10-hard"]
    assert alone.name == "cpu-cifar100-resnet8-s2-hard"


def test_smoke_halves_lengths_in_pixels_and_keeps_sigma():
    aggressive, cutout, soft = (
        at_scale(find(name).recipe, "smoke").augment
        for name in (
            "cifar100-resnet18-hard-aggressive",
            "cifar100-resnet18-cutout",
            "cifar100-resnet18-soft",
        )
    )
    assert aggressive.crop.max_shift == 8
    assert cutout.cutout.length == 4
    assert soft == find("cifar100-resnet18-soft").recipe.augment


def test_smoke_has_outliers_that_need_no_download_from_the_first_epoch():
    recipe = at_scale(find("cifar100-wrn28-10-energy").recipe, "smoke").uncertainty
    assert (recipe.outliers, recipe.outlier_share) == ("fashion-mini", 1.0)


def test_smoke_takes_the_photographs_that_are_there():
    recipe = find("imagenet-resnet101-baseline").recipe
    assert at_scale(recipe, "smoke").data.name == "imagenette"
    assert at_scale(recipe, "smoke", "folder:/there").data.name == "folder:/there"


def test_a_fine_tuned_recipe_begins_from_the_run_of_its_own_scale():
    recipe = find("cifar10-resnet8-s2-finetune-soft").recipe
    small = at_scale(recipe, "smoke").finetune.weights
    assert recipe.finetune.weights == "run:cifar100-resnet8-s2-hard-seed0"
    assert small == "run:smoke-cifar100-resnet8-s2-hard-seed0"
    photos = at_scale(find("imagenette-resnet8-s2-finetune-soft").recipe, "smoke")
    assert photos.data.name == "imagenette"
