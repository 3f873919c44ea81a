"""Any field of a recipe can be changed on the command line, and nothing else."""

import pytest
import tyro

from softaug.recipes import Recipe, as_dict, differences, find

SOFT = find("cifar100-resnet18-soft").recipe


def overridden(*arguments):
    kind = tyro.conf.AvoidSubcommands[Recipe]  # the crop stays of its kind
    return tyro.cli(kind, default=SOFT, args=[str(argument) for argument in arguments])


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
    ],
)
def test_an_override_changes_what_it_names(arguments, lines):
    assert differences(as_dict(SOFT), as_dict(overridden(*arguments))) == lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--optim.lrr", 0.1], "--optim.lr"),
        (["--augment.crop.sgima", 0.1], "--augment.crop.sigma"),
        (["--epochs", 1.5], "--epochs"),
        (["--loss.soften", "targt"], "target"),
        (["--augment.crop.sigma", -1], "sigma must be > 0"),
    ],
)
def test_a_wrong_override_ends_with_code_2_and_says_what_is_right(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        overridden(*arguments)
    assert stopped.value.code == 2
    assert said in "".join(capsys.readouterr())
