"""The rules that the parts of a recipe check when they are made, and settings changed by name."""

import math
from dataclasses import replace
from functools import partial
from typing import get_args, get_type_hints

import pytest
import tyro

from softaug.lab.recipes import (
    Augment,
    Cutout,
    DataSpec,
    Erase,
    Factors,
    LossSpec,
    NormalOffsets,
    NormalWindows,
    Optim,
    Pace,
    PairSpec,
    ProbeSpec,
    SigmaLaw,
    UniformOffsets,
    UniformWindows,
    ViewsSpec,
    as_dict,
    differences,
    find,
)
from softaug.lab.recipes.serialize import dotted

SOFT = find("cifar100-resnet18-soft").recipe
WINDOWS = find("imagenet-resnet50-soft").recipe
USUAL = find("imagenet-resnet50-baseline").recipe
PAIRS = find("cifar100-simsiam-resnet18-sa1").recipe


SOFT_CROP = partial(Augment, NormalOffsets())
PACED, BY_CLASS = Pace("accuracy-hold"), Pace("accuracy-hold", by="class")

REFUSED = [  # each rule once, and each type of field
    (DataSpec, {"name": "cifar-100"}, "data: name must be one of .*'cifar-100'; .*'cifar100'"),
    (DataSpec, {"name": "cifar10", "labels": "coarse"}, "are for cifar100 only, got cifar10"),
    (DataSpec, {"per_class": 0}, "data: per_class must be a whole number >= 1, got int 0"),
    (DataSpec, {"name": "folder:x", "resize": 223}, "resize must be a whole number >= 224"),
    (DataSpec, {"resize": 256}, "data: resize is for images in folders, got cifar100"),
    (DataSpec, {"unreadable": "skip"}, "data: unreadable is for images in folders"),
    (UniformOffsets, {"fill": "blak"}, r"augment\.crop: fill .*did you mean 'black'"),
    (NormalOffsets, {"sigma": math.nan}, r"augment\.crop: sigma must be .*>= 0, got .*nan"),
    (UniformWindows, {"scale": (0.5, 1.1)}, r"crop: scale must be .* <= 1, got \(0\.5, 1\.1\)"),
    (UniformWindows, {"antialias": 1}, "crop: antialias must be True or False, got int 1"),
    (Augment, {"crop": None}, "augment: crop must be UniformOffsets or NormalOffsets"),
    (Augment, {"crop": NormalWindows()}, "must begin with crop .*only what a window shows"),
    (Augment, {"order": ("flip", "flip", "crop", "policy")}, "augment: order must hold each"),
    (Augment, {"schedules": (("crop.max_shift", -1, 0.1),)}, r"schedules: factor must be .*>= 0"),
    (Augment, {"cutout": Cutout(8), "erase": Erase(0.5)}, "one of cutout and erase must be off"),
    (Augment, {"law": SigmaLaw("uniform")}, r"law: the crop must have a sigma, got UniformOff"),
    (SOFT_CROP, {"law": SigmaLaw("mixture", 0.3), "views": 2}, "2 views must be a whole .*got 0.3"),
    (SOFT_CROP, {"law": SigmaLaw("uniform"), "pace": PACED}, "paced must be fixed, got unif"),
    (SOFT_CROP, {"law": SigmaLaw(mild=0.1)}, "share and mild are for mixture, got 0.5 and 0.1 wit"),
    (Augment, {"factors": Factors(k=(2.0,))}, "factors: the crop must have a sigma, got Uniform"),
    (SOFT_CROP, {"factors": Factors(k=(2.0,)), "law": SigmaLaw("uniform")}, "without a law or a"),
    (Factors, {"sigma": (1.0, -1.0)}, r"factors: sigma\[1\] must be > 0"),
    (SOFT_CROP, {"pace": BY_CLASS, "views": 2}, "views must be 1 .*by clas"),
    (Augment, {"schedules": (("crop.sigma", 0.5, 0.1),)}, r"setting .*got 'crop\.sigma'"),
    (Augment, {"curves": "naive"}, "curves are for policy randaugment or trivialaugment"),
    (LossSpec, {"label_smoothing": 1.5}, r"loss: label_smoothing .*0\.\.1, got float 1\.5"),
    (LossSpec, {"prior": "coarse"}, "prior is for softened targets, got soften none"),
    (LossSpec, {"label_smoothing": 0.1, "online_smoothing": 0.1}, "must be 0, got 0.1 and 0.1"),
    (Optim, {"momentum": 1.0}, r"optim: momentum must be below 1, got 1\.0"),
    (Optim, {"weight_decay": math.nan}, "optim: weight_decay must be a finite number >= 0"),
    (Optim, {"ema": 1.0}, r"optim: ema must be above 0 and below 1, got 1\.0"),
    (Pace, {"factor": 1.0}, "augment.pace: factor must be above 1"),
    (Pace, {"goal": 0.5}, "goal is for confidence-match, got 0.5 with none"),
    (ViewsSpec, {"jitter": (0.4, 0.4, 0.4, 0.6)}, "of the hue, must be at most 0.5"),
    (ViewsSpec, {"jitter": (0.4, 0.4, 0.1)}, "views: jitter must be a tuple of four"),
    (ProbeSpec, {"drops": (1.5,)}, r"probe: drops\[0\] must be a number in 0..1"),
]


@pytest.mark.parametrize(("kind", "values", "message"), REFUSED)
def test_a_part_refuses_what_breaks_its_rule(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(**values)


@pytest.mark.parametrize(
    ("recipe", "values", "message"),
    [
        (SOFT, {"model": "resnet81"}, "recipe: model must be one of .*did you mean .resnet8"),
        (PAIRS, {"name": "a/b"}, "recipe: name must be a word that can name a folder, got 'a/b'"),
        (SOFT, {"augment": replace(SOFT.augment, views=3)}, "augment.views 3, got 128"),
        (SOFT, {"epochs": 1.5}, "recipe: epochs must be a whole number >= 1, got float 1.5"),
        (PAIRS, {"batch": 1}, "batch must be at least 2, got 1"),
        (PAIRS, {"method": None}, "SimSiamSpec or BarlowTwinsSpec"),
        (PAIRS, {"data": DataSpec("folder:x", unreadable="skip")}, 'must be "refuse"'),
        (PAIRS, {"optim": Optim(warmup_epochs=500)}, "warmup_epochs must be below the 500 epochs"),
        (SOFT.augment, {"crop": UniformOffsets()}, "must be one of 'crop.max_shift', 'crop.k'"),
        (
            SOFT,
            {"augment": replace(SOFT.augment, schedules=(("mix.alpha", 0.0, 0.1),))},
            "a schedule of mix.alpha is for a mix, got none",
        ),
        (WINDOWS, {"data": DataSpec("digits")}, "NormalWindows is for images in folders"),
    ],
)
def test_a_change_that_breaks_a_rule_is_refused(recipe, values, message):
    with pytest.raises(ValueError, match=message):
        replace(recipe, **values)


def test_a_schedule_can_change_each_number_of_the_augmentation():
    others = ("noise.sigma", "noise.noise_sd", "noise.k", "cutout.length", "cutout.k")
    others = (*others, "erase.p", "erase.k")
    for crop, numbers in (
        (NormalOffsets(), ("crop.sigma", "crop.k")),
        (UniformOffsets(k=None), ("crop.max_shift",)),
    ):
        assert Augment(crop=crop).numbers() == (*numbers, *others)


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
        (SOFT, "--epochs 2 --augment.no-flip", ["augment.flip: true -> false", "epochs: 500 -> 2"]),
        (SOFT, "--augment.schedules", ['augment.schedules: [["crop.sigma", 0.001, 0.04]] -> []']),
        (WINDOWS, "--augment.crop.min-size 32", ["augment.crop.min_size: null -> 32"]),
        (USUAL, "--augment.crop.scale 0.2 1", ["augment.crop.scale: [0.08, 1.0] -> [0.2, 1.0]"]),
        (
            PAIRS,
            "--method.no-fixed-predictor-lr --probe.drops 0.5",
            ["method.fixed_predictor_lr: true -> false", "probe.drops: [0.6, 0.8] -> [0.5]"],
        ),
    ],
)
def test_an_override_changes_what_it_names(default, arguments, lines):
    assert differences(as_dict(default), as_dict(overridden(default, arguments))) == lines


@pytest.mark.parametrize("recipe", [WINDOWS, PAIRS], ids=lambda recipe: recipe.name)
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
        ("--augment.crop.sgima 0.1", "--augment.crop.sigma"),
        ("--augment.crop.sigma -1", "sigma must be a finite"),
        ("--augment.pace.rule accuracy-hold", "must have no schedule"),
    ],
)
def test_a_wrong_override_ends_with_code_2_and_says_what_is_right(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        overridden(SOFT, arguments)
    assert stopped.value.code == 2
    assert said in "".join(capsys.readouterr())
