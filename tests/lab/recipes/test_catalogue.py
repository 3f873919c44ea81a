import itertools
import re
from pathlib import Path

import pytest

import softaug.lab.recipes
from softaug.lab.models.registry import MODELS
from softaug.lab.recipes import Recipe, as_dict, differences, entries, find, header

NAMES = [entry.recipe.name for entry in entries()]
LABELLED = [entry for entry in entries() if isinstance(entry.recipe, Recipe)]
DATA = ("cifar100", "cifar10")
NETWORKS = ("resnet18", "resnet50", "wrn28-10", "efficientnet-b0", "pyramidnet272")
ARMS = ("hard", "soft", "randaugment", "soft-randaugment")
RESNET18 = "cifar100-resnet18"
HARD_OF = {
    "soft": "hard",
    "soft-randaugment": "randaugment",
    "soft-trivialaugment": "trivialaugment",
}
PAIRS = [
    (name.removesuffix(soft) + hard, name)
    for soft, hard in HARD_OF.items()
    for name in NAMES
    if not name.startswith("imagenet")
    and re.search(rf"-(?:{'|'.join(map(re.escape, (*NETWORKS, 'resnet8', 's2')))})-{soft}$", name)
]


def changes(old, new):
    lines = differences(as_dict(find(old).recipe), as_dict(find(new).recipe))
    return [line for line in lines if not line.startswith("name: ")]


def mixed(kind):
    return [f'mix.kind: "none" -> "{kind}"']


def soft_policy(curves):
    lines = [f'augment.curves: null -> "{curves}"']
    return [*lines, 'augment.policy: "none" -> "trivialaugment"']


NOISY = ["augment.noise.sigma: 0.0 -> 0.1"]


def test_names_are_unique_and_find_their_own_recipe():
    assert len(set(NAMES)) == len(NAMES)
    assert [find(name).recipe.name for name in NAMES] == NAMES


def test_a_name_begins_with_data_and_model():
    for entry in LABELLED:
        recipe = entry.recipe
        own = recipe.model.removeprefix("imagenet-")
        assert recipe.name.startswith(f"{recipe.data.name}-{own}-")
        assert recipe.model in MODELS


def test_every_network_of_the_paper_has_its_four_arms_on_both_data_sets():
    wanted = {"-".join(parts) for parts in itertools.product(DATA, NETWORKS, ARMS)}
    assert wanted <= set(NAMES)
    assert {f"{data}-wrn28-10-trivialaugment" for data in DATA} <= set(NAMES)


def test_there_is_a_pair_for_every_soft_row():
    assert len(PAIRS) == 10 * 2 + 2 + 3  # the paper's, TrivialAugment's, CPU scale


@pytest.mark.parametrize(("hard", "soft"), PAIRS)
def test_a_soft_recipe_changes_only_crop_and_loss(hard, soft):
    changed = {line.split(":")[0] for line in changes(hard, soft)}
    assert {"augment.crop.max_shift", "augment.crop.sigma", "loss.soften"} <= changed
    assert changed <= {
        "augment.crop.max_shift",
        "augment.crop.sigma",
        "augment.schedules",
        "loss.soften",
    }


def test_a_row_changes_one_part_of_its_parent():
    """Soft Augmentation itself is an augmentation and a loss; the release's run is all its own."""
    for entry in LABELLED:
        name, parts = entry.recipe.name, {re.split(r"[.:]", line)[0] for line in entry.changes}
        if entry.parent is None:
            assert parts == set()
        elif re.search("-soft$|-soft-noise$|-paced|resnet8-s2-soft-policy", name):
            assert parts == {"augment", "loss"}
        elif "-figure3-" in name or "-sigma" in name:
            assert parts <= {"augment", "loss"}
        elif not entry.recipe.name.endswith("-soft-release"):
            assert len(parts) == 1


def test_the_paper_s_soft_arm_is_as_the_text_says():
    assert changes(f"{RESNET18}-hard", f"{RESNET18}-soft") == [
        "augment.crop.max_shift: 4 -> (absent)",
        "augment.crop.sigma: (absent) -> 0.3",
        'augment.schedules: [] -> [["crop.sigma", 0.001, 0.04]]',
        'loss.soften: "none" -> "both"',
    ]
    recipe = find(f"{RESNET18}-soft").recipe
    assert (recipe.augment.crop.k, recipe.loss.weighting) == (2, "sample")
    assert (recipe.epochs, recipe.batch, recipe.optim.lr) == (500, 128, 0.1)
    assert (recipe.optim.momentum, recipe.optim.weight_decay) == (0.9, 5e-4)


def test_sigma_decays_at_the_paper_s_scale_on_cifar100_only():
    """The release's own run on CIFAR-10 is the exception that its name announces."""
    for entry in LABELLED:
        recipe, name = entry.recipe, entry.recipe.name
        far = hasattr(recipe.augment.crop, "sigma")
        paper = recipe.data.name == "cifar100" and recipe.model in NETWORKS
        wanted = far and paper and not name.endswith("-no-decay")
        assert bool(recipe.augment.schedules) == (wanted or name == "cifar10-resnet18-soft-release")


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("hard", "label-smoothing", ["loss.label_smoothing: 0.0 -> 0.1"]),
        ("hard", "hard-aggressive", ["augment.crop.max_shift: 4 -> 16"]),
        ("hard", "hard-paper-fill", ['augment.crop.fill: "data-mean" -> "black"']),
        ("soft", "hard-normal", ['loss.soften: "both" -> "none"']),
        ("soft", "soft-target", ['loss.soften: "both" -> "target"']),
        ("soft", "soft-weight", ['loss.soften: "both" -> "weight"']),
        ("soft", "soft-black", ['augment.crop.fill: "data-mean" -> "black"']),
        ("soft", "soft-release-sigma", ["augment.crop.sigma: 0.3 -> 0.375"]),
        ("soft", "soft-batch-mean", ['loss.weighting: "sample" -> "batch_mean"']),
        (
            "soft",
            "soft-no-decay",
            ['augment.schedules: [["crop.sigma", 0.001, 0.04]] -> []'],
        ),
        (
            "randaugment",
            "randaugment-release-order",
            [
                'augment.order: ["policy", "flip", "crop", "noise", "cutout"] -> '
                '["flip", "crop", "policy", "noise", "cutout"]'
            ],
        ),
        ("hard", "mixup", mixed("mixup")),
        ("hard", "cutmix", mixed("cutmix")),
        ("hard", "manifold-mixup", mixed("manifold-mixup")),
        ("soft", "soft-mixup", mixed("mixup")),
        ("hard", "cutout", ["augment.cutout.length: 0 -> 8"]),
        ("hard", "online-label-smoothing", ["loss.online_smoothing: 0.0 -> 0.5"]),
        ("hard", "focal-gamma1", ["loss.focal_gamma: 0.0 -> 1.0"]),
        ("hard", "focal-gamma2", ["loss.focal_gamma: 0.0 -> 2.0"]),
        ("hard", "focal-gamma5", ["loss.focal_gamma: 0.0 -> 5.0"]),
        ("hard", "autoaugment", ['augment.policy: "none" -> "autoaugment"']),
        ("soft", "soft-policy", soft_policy("cifar100")),
        ("soft", "soft-policy-naive", soft_policy("naive")),
        ("hard", "noise", NOISY),
        (
            "hard",
            "soft-noise",
            ["augment.crop.k: 2.0 -> null", *NOISY, 'loss.soften: "none" -> "both"'],
        ),
        ("soft-randaugment", "soft-noise-randaugment", NOISY),
    ],
)
def test_an_ablation_is_one_change(old, new, lines):
    assert changes(f"{RESNET18}-{old}", f"{RESNET18}-{new}") == lines


@pytest.mark.parametrize("data", DATA)
def test_an_ensemble_is_five_baselines(data):
    entry = find(f"{data}-wrn28-10-ensemble")
    assert entry.changes == ["members: 1 -> 5"]
    assert entry.parent.recipe.name == f"{data}-wrn28-10-hard"
    assert entry.cost == "5 runs, each 9 V100-hours (the paper's)"


def test_figure_3_has_every_point_of_its_grid():
    rows = [entry for entry in LABELLED if "-figure3-" in entry.recipe.name]
    assert len(rows) == 4 * 4 + 3 * 4 * 4
    for entry in rows:
        augment, loss, name = entry.recipe.augment, entry.recipe.loss, entry.recipe.name
        smoothing = loss.label_smoothing
        softens = f"smoothing{smoothing:g}" if loss.soften == "none" else loss.soften
        k = "" if loss.soften == "none" else f"-k{augment.crop.k:g}"
        assert name == f"{RESNET18}-figure3-{softens}{k}-sigma{augment.crop.sigma:g}"
        assert augment.schedules


@pytest.mark.parametrize("data", DATA)
def test_the_release_s_run_decays_for_21_of_501_epochs_on_either_data_set(data):
    recipe = find(f"{data}-resnet18-soft-release").recipe
    ((setting, factor, share),) = recipe.augment.schedules
    assert (setting, factor, recipe.epochs) == ("crop.sigma", 0.001, 501)
    assert share * recipe.epochs == pytest.approx(21)
    assert (recipe.augment.crop.sigma, recipe.loss.weighting) == (0.375, "batch_mean")


def test_one_order_and_one_fill_in_all_arms_but_the_controls():
    for entry in LABELLED:
        augment, name = entry.recipe.augment, entry.recipe.name
        if name.startswith("imagenet"):
            continue
        first = "flip" if name.endswith("release-order") else "policy"
        on_black = name.startswith(("digits", "fashion-mnist"))
        black = on_black or name.endswith(("-paper-fill", "-black"))
        assert augment.order[0] == first
        assert augment.crop.fill == ("black" if black else "data-mean")


@pytest.mark.parametrize(
    ("model", "lr", "weight_decay"),
    [("efficientnet-b0", 0.025, 5e-4), ("pyramidnet272", 0.05, 5e-5), ("wrn28-10", 0.1, 5e-4)],
)
def test_networks_with_another_learning_rate(model, lr, weight_decay):
    for data, arm in itertools.product(DATA, ARMS):
        optim = find(f"{data}-{model}-{arm}").recipe.optim
        assert (optim.lr, optim.weight_decay) == (lr, weight_decay)


def test_what_the_paper_does_not_state_is_said_to_be_ours():
    for entry in LABELLED:
        smoothed = entry.recipe.name == f"{RESNET18}-label-smoothing"
        ours = entry.recipe.model == "pyramidnet272" or smoothed
        assert ("paper states none" in entry.about) == ours


def test_small_rows_crop_as_they_say():
    crops = {
        name: vars(find(f"cifar100-resnet8-s2-{name}").recipe.augment.crop)
        for name in ("hard", "hard-aggressive", "hard-normal", "soft", "soft-target", "soft-mild")
    }
    max_shift = {name: crop["max_shift"] for name, crop in crops.items() if "max_shift" in crop}
    sigma = {name: crop["sigma"] for name, crop in crops.items() if "sigma" in crop}
    assert max_shift == {"hard": 4, "hard-aggressive": 16}
    assert sigma == {"hard-normal": 0.3, "soft": 0.3, "soft-target": 0.3, "soft-mild": 0.1}


def test_digits_are_few_small_and_never_flipped():
    for arm in ("hard", "hard-aggressive", "soft"):
        recipe = find(f"digits-resnet8-{arm}").recipe
        assert (recipe.data.per_class, recipe.epochs, recipe.batch) == (20, 60, 50)
        assert not recipe.augment.flip
        assert recipe.loss.soften == ("both" if arm == "soft" else "none")


@pytest.mark.parametrize("name", NAMES)
def test_a_header_says_what_to_type_what_to_expect_and_what_it_costs(name):
    lines = header(find(name)).splitlines()
    assert lines[0] == f"# softaug train {name}"
    assert lines[1] == f"# {find(name).about}"
    assert all(line.startswith("# ") for line in lines)
    assert sum(line.startswith("# Cost: ") for line in lines) == 1
    assert any(line.startswith("# Expect: ") for line in lines)


def test_a_header_groups_the_tables_that_agree_and_names_the_changes():
    assert header(find(f"{RESNET18}-label-smoothing")).splitlines() == [
        f"# softaug train {RESNET18}-label-smoothing",
        "# Baseline with label smoothing; alpha 0.1 is ours, the paper states none",
        f"# Differs from {RESNET18}-hard in:",
        "#   loss.label_smoothing: 0.0 -> 0.1",
        "# Expect: 19.47 ± 0.18 % error (paper: Table 1, Table 5)",
        "# Cost: 2.5 V100-hours (the paper's)",
    ]


@pytest.mark.parametrize(
    ("family", "cost"),
    [
        ("cifar10-resnet18", "2.5 V100-hours (the paper's)"),
        ("cifar100-resnet50", "7 V100-hours (the paper's)"),
        ("cifar100-wrn28-10", "9 V100-hours (the paper's)"),
        ("cifar10-efficientnet-b0", "not stated in the paper"),
        ("cifar10-pyramidnet272", "not stated in the paper, which used 2 V100s"),
        ("cifar10-resnet8-s2", "about 40 minutes on one CPU core"),
    ],
)
def test_costs(family, cost):
    assert {find(f"{family}-{arm}").cost for arm in ("hard", "soft")} == {cost}


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("cifar100-resnet18-sotf", "did you mean 'cifar100-resnet18-soft'?"),
        ("cifar10-wrn-28-10-hard", "did you mean 'cifar10-wrn28-10-hard'?"),
        ("", "`softaug recipes` lists them"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name, remedy):
    with pytest.raises(ValueError, match=re.escape(f"got {name!r}; {remedy}")):
        find(name)


def test_the_package_can_be_imported_without_terminal_libraries():
    """Only the command and what it shows need rich and tyro."""
    folder = Path(softaug.lab.recipes.__file__).parent
    users = {path.stem for path in folder.glob("*.py") if "import tyro" in path.read_text()}
    users |= {path.stem for path in folder.glob("*.py") if "from rich" in path.read_text()}
    assert users == {"command", "show"}
