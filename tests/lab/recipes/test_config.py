"""The rules that the parts of a recipe check when they are made, and settings changed by name."""

import math
from dataclasses import FrozenInstanceError, replace
from typing import get_args, get_type_hints

import pytest
import tyro

from softaug.lab.recipes import (
    Augment,
    BarlowTwinsSpec,
    Compute,
    DataSpec,
    LossSpec,
    NormalOffsets,
    NormalWindows,
    Optim,
    Pace,
    PairSpec,
    PretrainRecipe,
    ProbeSpec,
    Recipe,
    SimSiamSpec,
    UniformOffsets,
    UniformWindows,
    ViewsSpec,
    as_dict,
    differences,
    find,
)
from softaug.lab.recipes.augment import WINDOWS_FIRST
from softaug.lab.recipes.serialize import dotted

SOFT = find("cifar100-resnet18-soft").recipe
WINDOWS = find("imagenet-resnet50-soft").recipe
USUAL = find("imagenet-resnet50-baseline").recipe
PAIRS = find("cifar100-simsiam-resnet18-sa1").recipe


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
        (PairSpec, {"mode": "SA3"}, "weight: mode must be one of"),
        (PairSpec, {"k": 0}, "weight: k must be > 0"),
        (PairSpec, {"p_min": 2}, "weight: p_min must be a number in 0..1"),
        (ViewsSpec, {"scale": (0.5, 0.2)}, "views: scale must be 0 < low <= high"),
        (ViewsSpec, {"jitter": (0.4, 0.4, 0.4, 0.6)}, "of the hue, must be at most 0.5"),
        (ViewsSpec, {"jitter": (-1, 0, 0, 0)}, r"views: jitter\[0\] must be a number >= 0"),
        (ViewsSpec, {"jitter": (0.4, 0.4, 0.1)}, "views: jitter must be a tuple of four"),
        (ViewsSpec, {"jitter": 0.4}, "views: jitter must be a tuple of four: .* got float 0.4"),
        (ViewsSpec, {"grey_p": 1.5}, "views: grey_p must be a number in 0..1"),
        (SimSiamSpec, {"hidden": 0}, "method: hidden must be a whole number >= 1"),
        (BarlowTwinsSpec, {"redundancy": -1}, "method: redundancy must be a number >= 0"),
        (ProbeSpec, {"epochs": 0}, "probe: epochs must be a whole number >= 1"),
        (ProbeSpec, {"drops": 0.6}, "probe: drops must be a tuple of shares"),
        (ProbeSpec, {"drops": (1.5,)}, r"probe: drops\[0\] must be a number in 0..1"),
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
def test_a_change_that_breaks_a_rule_is_refused(values, message):
    for recipe in (SOFT, PAIRS):
        with pytest.raises(ValueError, match=message):
            replace(recipe, **values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"batch": 1}, "batch must be at least 2, got 1"),
        ({"method": None}, "SimSiamSpec or BarlowTwinsSpec"),
        ({"data": DataSpec("folder:x", unreadable="skip")}, 'data.unreadable must be "refuse"'),
    ],
)
def test_what_cannot_be_without_labels_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        replace(PAIRS, **values)


def test_a_warm_up_must_end_before_the_run_does():
    for kind in (Recipe, PretrainRecipe):
        with pytest.raises(ValueError, match=r"warmup_epochs must be below the 5 epochs, got 5"):
            kind("a", "resnet8", optim=Optim(warmup_epochs=5), epochs=5)
        assert kind("a", "resnet8", optim=Optim(warmup_epochs=4.5), epochs=5).epochs == 5


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
        replace(augment, crop=UniformOffsets())


def test_folders_are_data_too():
    assert DataSpec("folder:/data/birds").name == "folder:/data/birds"
    assert DataSpec("imagenet", resize=256, unreadable="skip").resize == 256


@pytest.mark.parametrize("data", ["cifar100", "digits"])
def test_windows_are_for_images_in_folders(data):
    recipe = find("imagenette-resnet8-s2-soft").recipe
    rule = f"augment.crop NormalWindows is for images in folders, got {data}; small images"
    with pytest.raises(ValueError, match=rule):
        replace(recipe, data=DataSpec(data))


def test_a_recipe_cannot_be_changed_in_place():
    with pytest.raises(FrozenInstanceError):
        find("digits-resnet8-soft").recipe.epochs = 1


def test_choices_are_those_of_the_library():
    """Recipes load no torch, so they say them once more."""
    from softaug.losses import SOFTEN
    from softaug.pair_weights import MODES
    from softaug.softening import WEIGHTINGS
    from softaug.transforms.resized_crop import OFFSETS, RELATIVE_TO
    from softaug.transforms.strength import BY
    from softaug.transforms.windows import SHARES

    shared = {
        (LossSpec, "soften"): SOFTEN,
        (LossSpec, "weighting"): WEIGHTINGS,
        (PairSpec, "mode"): MODES,
        (Pace, "by"): BY,
        (NormalWindows, "offsets"): OFFSETS,
        (NormalWindows, "relative_to"): RELATIVE_TO,
        (NormalWindows, "share_of"): SHARES,
    }
    for (kind, name), choices in shared.items():
        assert set(get_args(get_type_hints(kind)[name])) == set(choices)


def overridden(default, arguments):
    kind = tyro.conf.AvoidSubcommands[type(default)]  # the crop stays of its kind
    return tyro.cli(kind, default=default, args=arguments.split())


@pytest.mark.parametrize(
    ("default", "arguments", "lines"),
    [
        (SOFT, "", []),
        (SOFT, "--optim.lr 0.05", ["optim.lr: 0.1 -> 0.05"]),
        (SOFT, "--augment.no-flip", ["augment.flip: true -> false"]),
        (SOFT, "--data.per-class 20", ["data.per_class: null -> 20"]),
        (SOFT, "--loss.soften target", ['loss.soften: "both" -> "target"']),
        (SOFT, "--epochs 2 --seed 1", ["epochs: 500 -> 2", "seed: 0 -> 1"]),
        (
            SOFT,
            "--augment.schedules --augment.pace.rule confidence-match",
            [
                'augment.pace.rule: "none" -> "confidence-match"',
                'augment.schedules: [["crop.sigma", 0.001, 0.04]] -> []',
            ],
        ),
        (WINDOWS, "--augment.crop.sigma 0.1", ["augment.crop.sigma: 0.3 -> 0.1"]),
        (WINDOWS, "--augment.crop.min-size 32", ["augment.crop.min_size: null -> 32"]),
        (
            WINDOWS,
            "--augment.crop.relative-to pixels",
            ['augment.crop.relative_to: "edges" -> "pixels"'],
        ),
        (WINDOWS, "--augment.crop.no-antialias", ["augment.crop.antialias: true -> false"]),
        (WINDOWS, "--data.unreadable skip", ['data.unreadable: "refuse" -> "skip"']),
        (USUAL, "--augment.crop.scale 0.2 1", ["augment.crop.scale: [0.08, 1.0] -> [0.2, 1.0]"]),
        (USUAL, "--data.name folder:x", ['data.name: "imagenet" -> "folder:x"']),
        (PAIRS, "--weight.mode SA2 --weight.k 2", ['weight.mode: "SA1" -> "SA2"']),
        (
            PAIRS,
            "--method.no-fixed-predictor-lr --probe.drops 0.5",
            ["method.fixed_predictor_lr: true -> false", "probe.drops: [0.6, 0.8] -> [0.5]"],
        ),
    ],
)
def test_an_override_changes_what_it_names(default, arguments, lines):
    found = differences(as_dict(default), as_dict(overridden(default, arguments)))
    assert [line for line in found if not line.startswith("weight.k")] == lines


@pytest.mark.parametrize("recipe", [SOFT, WINDOWS, USUAL, PAIRS], ids=lambda recipe: recipe.name)
def test_every_setting_can_be_given(recipe, capsys):
    with pytest.raises(SystemExit):
        overridden(recipe, "--help")
    told = capsys.readouterr().out
    for name in dotted(as_dict(recipe)):
        path, _, last = name.replace("_", "-").rpartition(".")
        assert f"--{path}{'.' * bool(path)}{last}" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--optim.lrr 0.1", "--optim.lr"),
        ("--augment.crop.sgima 0.1", "--augment.crop.sigma"),
        ("--epochs 1.5", "--epochs"),
        ("--loss.soften targt", "target"),
        ("--augment.crop.sigma -1", "sigma must be > 0"),
        ("--augment.pace.rule acuracy-hold", "accuracy-hold"),
        ("--augment.pace.rule accuracy-hold", "must have no schedule"),
    ],
)
def test_a_wrong_override_ends_with_code_2_and_says_what_is_right(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        overridden(SOFT, arguments)
    assert stopped.value.code == 2
    assert said in "".join(capsys.readouterr())
