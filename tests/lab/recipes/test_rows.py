"""What rows are called, what each changes of its parent, what it costs."""

import itertools
import re

import pytest

from softaug.lab.models.registry import MODELS
from softaug.lab.recipes import (
    NormalOffsets,
    NormalWindows,
    PairSpec,
    PretrainRecipe,
    ProbeSpec,
    Recipe,
    SimSiamSpec,
    UniformWindows,
    ViewsSpec,
    as_dict,
    differences,
    entries,
    find,
    header,
)

NAMES = [entry.recipe.name for entry in entries()]
LABELED = [entry for entry in entries() if isinstance(entry.recipe, Recipe)]
DATA = ("cifar100", "cifar10")
NETWORKS = ("resnet18", "resnet50", "wrn28-10", "efficientnet-b0", "pyramidnet272")
ARMS = ("hard", "soft", "randaugment", "soft-randaugment")
RESNET18, SIMSIAM = "cifar100-resnet18", "cifar100-simsiam-resnet18"


def keys(old, new):
    lines = differences(as_dict(find(old).recipe), as_dict(find(new).recipe))
    return {line.partition(":")[0] for line in lines} - {"name"}


def test_names_are_unique_and_begin_with_data_method_and_model():
    assert len(set(NAMES)) == len(NAMES)
    assert [find(name).recipe.name for name in NAMES] == NAMES
    for recipe in (entry.recipe for entry in entries()):
        method = f"{recipe.method.word}-" if isinstance(recipe, PretrainRecipe) else ""
        own = recipe.model.removeprefix("imagenet-")
        assert recipe.name.startswith(f"{recipe.data.name}-{method}{own}-")
        assert recipe.model in MODELS


def test_a_soft_recipe_changes_only_crop_and_loss():
    needed = {"augment.crop.max_shift", "augment.crop.sigma", "loss.soften"}
    families = [f"{data}-{model}" for data in DATA for model in (*NETWORKS, "resnet8-s2")]
    arms = {"soft": "hard", "soft-randaugment": "randaugment"}
    arms["soft-trivialaugment"] = "trivialaugment"
    for family, (soft, hard) in itertools.product((*families, "digits-resnet8"), arms.items()):
        if f"{family}-{soft}" in NAMES:
            changed = keys(f"{family}-{hard}", f"{family}-{soft}")
            assert needed <= changed <= needed | {"augment.schedules"}


def test_a_row_changes_one_part_of_its_parent():
    """Soft Augmentation itself is an augmentation and a loss; the release's rows are their own."""
    for entry in LABELED:
        name, parts = entry.recipe.name, {re.split(r"[.:]", line)[0] for line in entry.changes}
        if entry.parent is None:
            assert parts == set()
        elif name == "fashion-mini-resnet8-tiny-paced":  # of the soft row
            assert parts == {"augment"}
        elif re.search(
            "-soft$|-tiny-label-smoothing$|-soft-noise$|-paced|resnet8-s2-soft-policy", name
        ):
            assert parts == {"augment", "loss"}
        elif re.search("-figure3-|-sigma|-law-|-tail-none$", name):
            assert parts <= {"augment", "loss"}
        elif not name.endswith("-release"):
            assert len(parts) == 1, name


def test_the_paper_s_soft_arm_is_as_the_text_says():
    recipe = find(f"{RESNET18}-soft").recipe
    assert recipe.augment.crop == NormalOffsets(0.3, 2.0)
    assert recipe.augment.schedules == (("crop.sigma", 0.001, 0.04),)
    assert (recipe.loss.soften, recipe.loss.weighting) == ("both", "sample")
    assert (recipe.epochs, recipe.batch, recipe.optim.lr) == (500, 128, 0.1)
    assert (recipe.optim.momentum, recipe.optim.weight_decay) == (0.9, 5e-4)


def test_residual_networks_have_the_paper_s_learning_rate_and_controls_the_usual_one():
    for data, model in itertools.product(DATA, NETWORKS):
        optim = find(f"{data}-{model}-soft").recipe.optim
        wanted = 0.025 if model == "efficientnet-b0" else 0.1
        assert (optim.lr, optim.weight_decay, optim.nesterov) == (wanted, 5e-4, True)
    for arm in ("hard", "soft"):
        control = find(f"cifar100-pyramidnet272-{arm}-lr0.05")
        assert control.changes == ["optim.lr: 0.1 -> 0.05", "optim.weight_decay: 0.0005 -> 5e-05"]


def test_sigma_decays_at_the_paper_s_scale_on_cifar100_only():
    """The release's rows are the exception that their names announce."""
    for recipe in (entry.recipe for entry in LABELED if entry.recipe.model in NETWORKS):
        name, far = recipe.name, hasattr(recipe.augment.crop, "sigma")
        wanted = far and recipe.data.name == "cifar100" and not name.endswith("-no-decay")
        if not name.endswith("-release"):
            assert bool(recipe.augment.schedules) == wanted


def test_the_release_s_rows_change_what_its_code_has_otherwise():
    wanted = {"epochs", "augment.crop.sigma", "augment.schedules", "loss.weighting"}
    assert keys("cifar10-resnet18-soft", "cifar10-resnet18-soft-release") == wanted
    mixup = find(f"{RESNET18}-mixup-release").recipe
    ((setting, factor, share),) = mixup.augment.schedules
    assert (setting, factor, share * mixup.epochs) == ("mix.alpha", 0.0, pytest.approx(21))
    assert find(f"{RESNET18}-cutout-release").recipe.augment.schedules[0][0] == "cutout.length"
    hard = find(f"{RESNET18}-randaugment-release").recipe.augment
    assert (hard.crop.fill, hard.order[:3]) == ("black", ("flip", "crop", "policy"))
    for absent in ("efficientnet-b0-soft", "wrn28-10-soft-trivialaugment", "resnet18-noise"):
        assert f"cifar100-{absent}-release" not in NAMES


def test_photographs_have_the_paper_s_settings():
    for arm in ("baseline", *ARMS[1:]):
        recipe = find(f"imagenet-resnet101-{arm}").recipe
        soft, optim = "soft" in arm, recipe.optim
        assert (recipe.batch, recipe.epochs, optim.lr, optim.warmup_epochs) == (256, 270, 0.1, 5)
        assert recipe.augment.crop == (NormalWindows(0.3, 2.0) if soft else UniformWindows())
        assert recipe.loss.soften == ("both" if soft else "none")


def test_each_soft_row_of_photographs_has_a_twin_with_the_paper_s_offsets():
    for model, arm in itertools.product(("resnet50", "resnet101"), ("soft", "soft-randaugment")):
        twin = find(f"imagenet-{model}-{arm}-literal-offsets")
        assert twin.changes == ['augment.crop.offsets: "half" -> "literal"']


def test_the_paper_s_rows_without_labels_are_as_the_text_says():
    recipe = find(f"{SIMSIAM}-sa1").recipe
    assert (recipe.epochs, recipe.batch, recipe.optim.lr) == (500, 512, 0.2)
    assert (recipe.optim.momentum, recipe.optim.weight_decay) == (0.9, 5e-4)
    assert (recipe.optim.warmup_epochs, recipe.weight) == (0, PairSpec("SA1", k=4, p_min=0))
    assert recipe.method == SimSiamSpec(hidden=2048, bottleneck=512, num_layers=2)
    assert recipe.views == ViewsSpec(scale=(0.2, 1.0), ratio=(3 / 4, 4 / 3))
    assert recipe.probe == ProbeSpec(epochs=100, lr=10, drops=(0.6, 0.8))
    three = find(f"{SIMSIAM}-sa1-3-layers")
    assert three.changes == ["method.num_layers: 2 -> 3"]
    for entry in entries():  # a row changes the weight of pairs or the learning rate
        name, parts = entry.recipe.name, {re.split(r"[.:]", line)[0] for line in entry.changes}
        if name.endswith("-3-layers"):
            continue
        if isinstance(entry.recipe, PretrainRecipe) and entry.parent is not None:
            both = name.endswith("-simsiam-resnet18-sa2")
            wanted = {"optim"} if "-lr" in name else {"weight"}
            assert parts == (wanted | {"optim"} if both else wanted)


def test_a_header_groups_the_tables_that_agree_and_names_the_changes():
    assert header(find(f"{RESNET18}-label-smoothing")).splitlines() == [
        f"# softaug train {RESNET18}-label-smoothing",
        "# Baseline with label smoothing; alpha 0.1 is ours, the paper states none",
        f"# Differs from {RESNET18}-hard in:",
        "#   loss.label_smoothing: 0.0 -> 0.1",
        "# Expect: 19.47 ± 0.18 % error (paper: Table 1, Table 5)",
        "# Cost: 2.5 V100-hours (the paper's)",
    ]
    text = header(find("imagenet-resnet50-baseline"))
    assert "# Expect: 9.91 % ECE on ImageNet-V2 (paper: Table 7, bins not stated)" in text
    ensemble = find("cifar100-wrn28-10-ensemble")
    assert ensemble.changes == ["members: 1 -> 5"]
    assert ensemble.cost == "5 runs, each 9 V100-hours (the paper's)"


def test_an_unknown_name_is_refused_with_the_nearest():
    for name, remedy in (("cifar100-resnet18-sotf", "did you mean '"), ("", "`softaug recipes` l")):
        with pytest.raises(ValueError, match=re.escape(f"got {name!r}; {remedy}")):
            find(name)
