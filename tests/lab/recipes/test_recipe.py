"""The rules that the parts of a recipe check when they are made."""

import dataclasses
import math

import pytest

from softaug.lab.recipes import (
    Augment,
    Compute,
    DataSpec,
    LossSpec,
    NormalOffsets,
    NormalWindows,
    Optim,
    Recipe,
    UniformOffsets,
    UniformWindows,
    find,
)
from softaug.lab.recipes.augment import WINDOWS_FIRST


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (DataSpec, {"name": "cifar-100"}, "data: name must be one of .*'cifar-100'; .*'cifar100'"),
        (DataSpec, {"labels": "corse"}, "data: labels must be one of .*did you mean 'coarse'"),
        (
            DataSpec,
            {"name": "cifar10", "labels": "coarse"},
            'data: labels "coarse" are for cifar100 only, got cifar10',
        ),
        (
            DataSpec,
            {"name": "fashion-mnist", "labels": "coarse"},
            'data: labels "coarse" are for cifar100 only, got fashion-mnist',
        ),
        (DataSpec, {"name": "fashion_mnist"}, "data: name .*did you mean 'fashion-mnist'"),
        (DataSpec, {"per_class": 0}, "data: per_class must be a whole number >= 1, got int 0"),
        (DataSpec, {"validation": -1}, "data: validation must be a whole number >= 0"),
        (DataSpec, {"seed": 0.5}, "data: seed must be a whole number >= 0, got float 0.5"),
        (DataSpec, {"size": 7}, "data: size must be a whole number >= 8, got int 7"),
        (
            UniformOffsets,
            {"max_shift": -1},
            r"augment\.crop: max_shift must be a whole number >= 0",
        ),
        (UniformOffsets, {"k": 0.0}, r"augment\.crop: k must be > 0 and finite, got 0\.0"),
        (UniformOffsets, {"fill": "blak"}, r"augment\.crop: fill .*did you mean 'black'"),
        (NormalOffsets, {"sigma": -0.1}, r"augment\.crop: sigma must be > 0.*got -0\.1"),
        (NormalOffsets, {"sigma": math.nan}, r"augment\.crop: sigma must be > 0.*got nan"),
        (NormalOffsets, {"k": math.inf}, r"augment\.crop: k must be > 0 and finite, got inf"),
        (NormalOffsets, {"fill": "mean"}, r"augment\.crop: fill must be one of .*got 'mean'"),
        (UniformWindows, {"scale": (0.0, 1.0)}, r"crop: scale must be 0 < low <= high <= 1"),
        (UniformWindows, {"scale": (0.5, 1.1)}, r"crop: scale must be .* <= 1, got \(0\.5, 1\.1\)"),
        (UniformWindows, {"ratio": (2.0, 1.0)}, r"crop: ratio must be 0 < low <= high, got"),
        (
            UniformWindows,
            {"ratio": 1.0},
            r"crop: ratio must be a pair \(low, high\), got float 1\.0",
        ),
        (UniformWindows, {"k": -1.0}, r"augment\.crop: k must be > 0"),
        (UniformWindows, {"antialias": 1}, "crop: antialias must be True or False, got int 1"),
        (NormalWindows, {"sigma": 0.0}, r"augment\.crop: sigma must be > 0"),
        (NormalWindows, {"k": math.inf}, r"augment\.crop: k must be > 0 and finite"),
        (NormalWindows, {"min_size": 0}, r"crop: min_size must be a whole number >= 1, got int 0"),
        (NormalWindows, {"fill": "blak"}, r"crop: fill .*did you mean 'black'"),
        (NormalWindows, {"antialias": None}, "crop: antialias must be True or False"),
        (NormalWindows, {"offsets": "litral"}, r"crop: offsets .*did you mean 'literal'"),
        (NormalWindows, {"relative_to": "edge"}, r"crop: relative_to .*did you mean 'edges'"),
        (NormalWindows, {"share_of": "img"}, r"crop: share_of must be one of 'image', 'window'"),
        (DataSpec, {"name": "folder:x", "resize": 223}, "resize must be a whole number >= 224"),
        (DataSpec, {"resize": 256}, "data: resize is for images in folders, got cifar100"),
        (DataSpec, {"unreadable": "skip"}, "data: unreadable is for images in folders"),
        (DataSpec, {"unreadable": "skp"}, "data: unreadable .*did you mean 'skip'"),
        (DataSpec, {"name": "imagenete"}, "data: name .*did you mean 'imagenet"),
        (Augment, {"crop": NormalWindows()}, r"order must begin with crop for windows, got \('pol"),
        (Augment, {"crop": UniformWindows()}, "only what a window shows is decoded"),
        (Augment, {"policy": "randaug"}, "augment: policy .*did you mean 'randaugment'"),
        (Augment, {"order": ("flip", "crop")}, "augment: order must hold each of policy, flip"),
        (Augment, {"order": ("flip", "flip", "crop", "policy")}, "augment: order must hold each"),
        (Augment, {"schedules": (("crop.max_shift", 0.0, 0.1),)}, r"schedules: factor must be > 0"),
        (Augment, {"schedules": (("crop.max_shift", 0.5, 1.1),)}, r"schedules: share .* 0\.\.1"),
        (Augment, {"schedules": (("crop.sigma", 0.5, 0.1),)}, r"setting .*got 'crop\.sigma'"),
        (LossSpec, {"soften": "bth"}, "loss: soften must be one of .*did you mean 'both'"),
        (LossSpec, {"weighting": "batch-mean"}, "loss: weighting .*did you mean 'batch_mean'"),
        (LossSpec, {"label_smoothing": 1.5}, r"loss: label_smoothing .*0\.\.1, got float 1\.5"),
        (Optim, {"lr": 0}, "optim: lr must be > 0 and finite, got 0"),
        (Optim, {"momentum": 1.0}, r"optim: momentum must be below 1, got 1\.0"),
        (Optim, {"momentum": -0.1}, r"optim: momentum must be a number >= 0, got -0\.1"),
        (Optim, {"weight_decay": math.inf}, "optim: weight_decay must be a number >= 0, got inf"),
        (Optim, {"weight_decay": math.nan}, "optim: weight_decay must be a number >= 0, got nan"),
        (Optim, {"warmup_epochs": "5"}, "optim: warmup_epochs must be a number >= 0, got 5"),
        (Optim, {"clip_norm": 0.0}, "optim: clip_norm must be > 0"),
        (Optim, {"ema": "x"}, "optim: ema must be above 0 and below 1, got x"),
        (DataSpec, {"name": 5}, "data: name must be one of .*got 5"),
        (DataSpec, {"name": "folder:"}, "data: name must be one of .*'folder:PATH'"),
        (Augment, {"crop": None}, "augment: crop must be UniformOffsets or NormalOffsets"),
        (Augment, {"flip": "no"}, "augment: flip must be True or False, got str no"),
        (Optim, {"ema": 1.0}, r"optim: ema must be above 0 and below 1, got 1\.0"),
        (Compute, {"precision": "float23"}, "compute: precision .*did you mean 'float32'"),
    ],
)
def test_a_part_refuses_what_breaks_its_rule(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": ""}, "recipe: name must be a word that can name a folder, got ''"),
        ({"model": "resnet81"}, "recipe: model must be one of .*did you mean .resnet8"),
        ({"name": "a/b"}, "recipe: name must be a word that can name a folder, got 'a/b'"),
        ({"name": ".."}, r"recipe: name must be a word that can name a folder, got '\.\.'"),
        ({"epochs": 0}, "recipe: epochs must be a whole number >= 1, got int 0"),
        ({"epochs": 1.5}, "recipe: epochs must be a whole number >= 1, got float 1.5"),
        ({"batch": True}, "recipe: batch must be a whole number >= 1, got bool True"),
        ({"seed": -1}, "recipe: seed must be a whole number >= 0, got int -1"),
    ],
)
def test_an_override_that_breaks_a_rule_is_refused(values, message):
    recipe = find("digits-resnet8-soft").recipe
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(recipe, **values)


def test_a_warm_up_must_end_before_the_run_does():
    with pytest.raises(ValueError, match=r"warmup_epochs must be below the 5 epochs, got 5"):
        Recipe("a", "resnet8", optim=Optim(warmup_epochs=5), epochs=5)
    assert Recipe("a", "resnet8", optim=Optim(warmup_epochs=4.5), epochs=5).epochs == 5


def test_a_schedule_can_change_each_number_of_the_augmentation():
    others = ("noise.sigma", "noise.noise_sd", "noise.k", "cutout.length", "cutout.k")
    assert Augment(crop=NormalOffsets()).numbers() == ("crop.sigma", "crop.k", *others)
    assert Augment(crop=UniformOffsets()).numbers() == ("crop.max_shift", "crop.k", *others)
    assert Augment(crop=UniformOffsets(k=None)).numbers() == ("crop.max_shift", *others)
    half = NormalWindows(min_size=112)
    of_windows = ("crop.sigma", "crop.k", "crop.min_size", *others)
    assert Augment(crop=half, order=WINDOWS_FIRST).numbers() == of_windows


def test_a_soft_recipe_with_decay_refuses_a_crop_that_has_no_sigma():
    augment = find("cifar100-resnet18-soft").recipe.augment
    with pytest.raises(ValueError, match=r"setting must be one of 'crop.max_shift', 'crop.k'"):
        dataclasses.replace(augment, crop=UniformOffsets())


def test_folders_are_data_too():
    assert DataSpec("folder:/data/birds").name == "folder:/data/birds"
    assert DataSpec("imagenet", resize=256, unreadable="skip").resize == 256


@pytest.mark.parametrize("data", ["cifar100", "digits"])
def test_windows_are_for_images_in_folders(data):
    recipe = find("imagenette-resnet8-s2-soft").recipe
    rule = f"augment.crop NormalWindows is for images in folders, got {data}; small images"
    with pytest.raises(ValueError, match=rule):
        dataclasses.replace(recipe, data=DataSpec(data))


def test_a_recipe_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        find("digits-resnet8-soft").recipe.epochs = 1
