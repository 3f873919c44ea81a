"""Any field of a recipe can be changed on the command line, and nothing else."""

import pytest
import tyro

from softaug.lab.recipes import Recipe, as_dict, differences, find
from softaug.lab.recipes.serialize import dotted

SOFT = find("cifar100-resnet18-soft").recipe
WINDOWS = find("imagenet-resnet50-soft").recipe
USUAL = find("imagenet-resnet50-baseline").recipe


def overridden(*arguments, default=SOFT):
    kind = tyro.conf.AvoidSubcommands[Recipe]  # the crop stays of its kind
    return tyro.cli(kind, default=default, args=[str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ([], []),
        (["--optim.lr", 0.05], ["optim.lr: 0.1 -> 0.05"]),
        (["--augment.crop.sigma", 0.2], ["augment.crop.sigma: 0.3 -> 0.2"]),
        (["--augment.no-flip"], ["augment.flip: true -> false"]),
        (["--data.per-class", 20], ["data.per_class: null -> 20"]),
        (["--loss.soften", "target"], ['loss.soften: "both" -> "target"']),
        (["--epochs", 2, "--seed", 1], ["epochs: 500 -> 2", "seed: 0 -> 1"]),
        (
            ["--augment.schedules", "--augment.pace.rule", "confidence-match"],
            [
                'augment.pace.rule: "none" -> "confidence-match"',
                'augment.schedules: [["crop.sigma", 0.001, 0.04]] -> []',
            ],
        ),
    ],
)
def test_an_override_changes_what_it_names(arguments, lines):
    assert differences(as_dict(SOFT), as_dict(overridden(*arguments))) == lines


@pytest.mark.parametrize(
    ("default", "arguments", "lines"),
    [
        (WINDOWS, ["--augment.crop.sigma", 0.1], ["augment.crop.sigma: 0.3 -> 0.1"]),
        (WINDOWS, ["--augment.crop.min-size", 32], ["augment.crop.min_size: null -> 32"]),
        (
            WINDOWS,
            ["--augment.crop.relative-to", "pixels"],
            ['augment.crop.relative_to: "edges" -> "pixels"'],
        ),
        (WINDOWS, ["--augment.crop.no-antialias"], ["augment.crop.antialias: true -> false"]),
        (WINDOWS, ["--data.resize", 256], ["data.resize: null -> 256"]),
        (WINDOWS, ["--data.unreadable", "skip"], ['data.unreadable: "refuse" -> "skip"']),
        (
            USUAL,
            ["--augment.crop.scale", 0.2, 1],
            ["augment.crop.scale: [0.08, 1.0] -> [0.2, 1.0]"],
        ),
        (USUAL, ["--data.name", "folder:x"], ['data.name: "imagenet" -> "folder:x"']),
    ],
)
def test_windows_are_changed_by_their_own_settings(default, arguments, lines):
    changed = overridden(*arguments, default=default)
    assert differences(as_dict(default), as_dict(changed)) == lines


@pytest.mark.parametrize("recipe", [SOFT, WINDOWS, USUAL], ids=lambda recipe: recipe.name)
def test_every_setting_can_be_given(recipe, capsys):
    with pytest.raises(SystemExit):
        overridden("--help", default=recipe)
    told = capsys.readouterr().out
    for name in dotted(as_dict(recipe)):
        path, _, last = name.replace("_", "-").rpartition(".")
        assert f"--{path}{'.' * bool(path)}{last}" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--optim.lrr", 0.1], "--optim.lr"),
        (["--augment.crop.sgima", 0.1], "--augment.crop.sigma"),
        (["--epochs", 1.5], "--epochs"),
        (["--loss.soften", "targt"], "target"),
        (["--augment.crop.sigma", -1], "sigma must be > 0"),
        (["--augment.pace.rule", "acuracy-line"], "accuracy-line"),
        (["--augment.pace.rule", "accuracy-line"], "must have no schedule"),
    ],
)
def test_a_wrong_override_ends_with_code_2_and_says_what_is_right(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        overridden(*arguments)
    assert stopped.value.code == 2
    assert said in "".join(capsys.readouterr())
