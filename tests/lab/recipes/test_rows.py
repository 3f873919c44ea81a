"""What rows are called, what each changes of its parent, what it costs."""

import itertools
import re

import pytest

from softaug.lab.models.registry import MODELS
from softaug.lab.recipes import (
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
from softaug.lab.recipes.augment import WINDOWS_FIRST

NAMES = [entry.recipe.name for entry in entries()]
LABELED = [entry for entry in entries() if isinstance(entry.recipe, Recipe)]
PAIRED = [entry for entry in entries() if isinstance(entry.recipe, PretrainRecipe)]
DATA = ("cifar100", "cifar10")
NETWORKS = ("resnet18", "resnet50", "wrn28-10", "efficientnet-b0", "pyramidnet272")
ARMS = ("hard", "soft", "randaugment", "soft-randaugment")
RESNET18, SIMSIAM = "cifar100-resnet18", "cifar100-simsiam-resnet18"


def changes(old, new):
    lines = differences(as_dict(find(old).recipe), as_dict(find(new).recipe))
    return [line for line in lines if not line.startswith("name: ")]


def keys(old, new):
    return {line.partition(":")[0] for line in changes(old, new)}


def test_names_are_unique_and_begin_with_data_method_and_model():
    assert len(set(NAMES)) == len(NAMES)
    assert [find(name).recipe.name for name in NAMES] == NAMES
    for recipe in (entry.recipe for entry in entries()):
        method = f"{recipe.method.word}-" if isinstance(recipe, PretrainRecipe) else ""
        own = recipe.model.removeprefix("imagenet-")
        assert recipe.name.startswith(f"{recipe.data.name}-{method}{own}-")
        assert recipe.model in MODELS


def test_every_network_of_the_paper_has_its_four_arms_on_both_data_sets():
    wanted = {"-".join(parts) for parts in itertools.product(DATA, NETWORKS, ARMS)}
    wanted |= {f"{data}-wrn28-10-trivialaugment" for data in DATA}
    assert wanted <= set(NAMES)


def test_a_soft_recipe_changes_only_crop_and_loss():
    hard_of = {"soft": "hard", "soft-randaugment": "randaugment"}
    hard_of["soft-trivialaugment"] = "trivialaugment"
    families = [f"{data}-{model}" for data in DATA for model in (*NETWORKS, "resnet8-s2")]
    pairs = [
        (f"{family}-{hard}", f"{family}-{soft}")
        for family in (*families, "digits-resnet8")
        for soft, hard in hard_of.items()
        if f"{family}-{soft}" in NAMES
    ]
    assert len(pairs) == 10 * 2 + 2 + 3  # the paper's, TrivialAugment's, CPU scale
    needed = {"augment.crop.max_shift", "augment.crop.sigma", "loss.soften"}
    for hard, soft in pairs:
        assert needed <= keys(hard, soft) <= needed | {"augment.schedules"}


def test_a_row_changes_one_part_of_its_parent():
    """Soft Augmentation itself is an augmentation and a loss; the release's run is all its own."""
    for entry in LABELED:
        name, parts = entry.recipe.name, {re.split(r"[.:]", line)[0] for line in entry.changes}
        if entry.parent is None:
            assert parts == set()
        elif name == "fashion-mini-resnet8-tiny-paced":  # of the soft row
            assert parts == {"augment"}
        elif re.search("-soft$|-soft-noise$|-paced|resnet8-s2-soft-policy", name):
            assert parts == {"augment", "loss"}
        elif "-figure3-" in name or "-sigma" in name:
            assert parts <= {"augment", "loss"}
        elif not name.endswith("-soft-release"):
            assert len(parts) == 1, name


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
    for recipe in (entry.recipe for entry in LABELED if entry.recipe.model in NETWORKS):
        name, far = recipe.name, hasattr(recipe.augment.crop, "sigma")
        wanted = far and recipe.data.name == "cifar100" and not name.endswith("-no-decay")
        assert bool(recipe.augment.schedules) == (wanted or name == "cifar10-resnet18-soft-release")


TRIVIAL = 'augment.policy: "none" -> "trivialaugment"'
NOISY = "augment.noise.sigma: 0.0 -> 0.1"
ABLATIONS = [
    ("hard", "label-smoothing", ["loss.label_smoothing: 0.0 -> 0.1"]),
    ("hard", "hard-aggressive", ["augment.crop.max_shift: 4 -> 16"]),
    ("hard", "hard-paper-fill", ['augment.crop.fill: "data-mean" -> "black"']),
    ("soft", "hard-normal", ['loss.soften: "both" -> "none"']),
    ("soft", "soft-target", ['loss.soften: "both" -> "target"']),
    ("soft", "soft-weight", ['loss.soften: "both" -> "weight"']),
    ("soft", "soft-black", ['augment.crop.fill: "data-mean" -> "black"']),
    ("soft", "soft-release-sigma", ["augment.crop.sigma: 0.3 -> 0.375"]),
    ("soft", "soft-batch-mean", ['loss.weighting: "sample" -> "batch_mean"']),
    ("soft", "soft-no-decay", ['augment.schedules: [["crop.sigma", 0.001, 0.04]] -> []']),
    (
        "randaugment",
        "randaugment-release-order",
        [
            'augment.order: ["policy", "flip", "crop", "noise", "cutout"] -> '
            '["flip", "crop", "policy", "noise", "cutout"]'
        ],
    ),
    ("hard", "mixup", ['mix.kind: "none" -> "mixup"']),
    ("hard", "cutmix", ['mix.kind: "none" -> "cutmix"']),
    ("hard", "manifold-mixup", ['mix.kind: "none" -> "manifold-mixup"']),
    ("soft", "soft-mixup", ['mix.kind: "none" -> "mixup"']),
    ("hard", "cutout", ["augment.cutout.length: 0 -> 8"]),
    ("hard", "online-label-smoothing", ["loss.online_smoothing: 0.0 -> 0.5"]),
    *[("hard", f"focal-gamma{g}", [f"loss.focal_gamma: 0.0 -> {g}.0"]) for g in (1, 2, 5)],
    ("hard", "autoaugment", ['augment.policy: "none" -> "autoaugment"']),
    ("soft", "soft-policy", ['augment.curves: null -> "cifar100"', TRIVIAL]),
    ("soft", "soft-policy-naive", ['augment.curves: null -> "naive"', TRIVIAL]),
    ("hard", "noise", [NOISY]),
    (
        "hard",
        "soft-noise",
        ["augment.crop.k: 2.0 -> null", NOISY, 'loss.soften: "none" -> "both"'],
    ),
    ("soft-randaugment", "soft-noise-randaugment", [NOISY]),
]


def test_an_ablation_is_one_change():
    for old, new, lines in ABLATIONS:
        assert changes(f"{RESNET18}-{old}", f"{RESNET18}-{new}") == lines


def test_an_ensemble_is_five_baselines():
    for data in DATA:
        entry = find(f"{data}-wrn28-10-ensemble")
        assert entry.changes == ["members: 1 -> 5"]
        assert entry.parent.recipe.name == f"{data}-wrn28-10-hard"
        assert entry.cost == "5 runs, each 9 V100-hours (the paper's)"


def test_figure_3_has_every_point_of_its_grid():
    rows = [entry for entry in LABELED if "-figure3-" in entry.recipe.name]
    assert len(rows) == 4 * 4 + 3 * 4 * 4
    for entry in rows:
        augment, loss, name = entry.recipe.augment, entry.recipe.loss, entry.recipe.name
        smoothing = loss.label_smoothing
        softens = f"smoothing{smoothing:g}" if loss.soften == "none" else loss.soften
        k = "" if loss.soften == "none" else f"-k{augment.crop.k:g}"
        assert name == f"{RESNET18}-figure3-{softens}{k}-sigma{augment.crop.sigma:g}"
        assert augment.schedules


def test_the_release_s_run_decays_for_21_of_501_epochs_on_either_data_set():
    for data in DATA:
        recipe = find(f"{data}-resnet18-soft-release").recipe
        ((setting, factor, share),) = recipe.augment.schedules
        assert (setting, factor, recipe.epochs) == ("crop.sigma", 0.001, 501)
        assert share * recipe.epochs == pytest.approx(21)
        assert (recipe.augment.crop.sigma, recipe.loss.weighting) == (0.375, "batch_mean")


def test_one_order_and_one_fill_in_all_arms_but_the_controls():
    for entry in LABELED:
        augment, name = entry.recipe.augment, entry.recipe.name
        if name.startswith("imagenet"):
            continue
        on_black = name.startswith(("digits", "fashion"))
        black = on_black or name.endswith(("-paper-fill", "-black"))
        assert augment.order[0] == ("flip" if name.endswith("release-order") else "policy")
        assert augment.crop.fill == ("black" if black else "data-mean")


def test_networks_with_another_learning_rate():
    wanted = {"efficientnet-b0": (0.025, 5e-4), "pyramidnet272": (0.05, 5e-5)}
    for data, model, arm in itertools.product(DATA, NETWORKS, ARMS):
        optim = find(f"{data}-{model}-{arm}").recipe.optim
        assert (optim.lr, optim.weight_decay) == wanted.get(model, (0.1, 5e-4))


def test_what_the_paper_does_not_state_is_said_to_be_ours():
    for entry in LABELED:
        smoothed = entry.recipe.name == f"{RESNET18}-label-smoothing"
        ours = entry.recipe.model == "pyramidnet272" or smoothed
        assert ("paper states none" in entry.about) == ours


def test_digits_are_few_small_and_never_flipped():
    for arm in ("hard", "hard-aggressive", "soft"):
        recipe = find(f"digits-resnet8-{arm}").recipe
        assert (recipe.data.per_class, recipe.epochs, recipe.batch) == (20, 60, 50)
        assert not recipe.augment.flip


def test_photographs_have_the_paper_s_settings_and_windows_first():
    for model, arm in itertools.product(("resnet50", "resnet101"), ("baseline", *ARMS[1:])):
        recipe = find(f"imagenet-{model}-{arm}").recipe
        optim = recipe.optim
        assert (recipe.batch, recipe.epochs, optim.lr, optim.warmup_epochs) == (256, 270, 0.1, 5)
        assert (optim.momentum, optim.weight_decay) == (0.9, 1e-4)
        assert (recipe.data.size, recipe.data.resize, recipe.augment.flip) == (224, None, True)
    windowed = [entry.recipe for entry in LABELED if entry.recipe.name.startswith("imagenet")]
    assert len(windowed) == 4 + 2 + 4 + 4
    for recipe in windowed:
        assert (recipe.augment.order, recipe.augment.schedules) == (WINDOWS_FIRST, ())


def test_a_soft_row_of_photographs_changes_only_windows_and_loss():
    for family in ("imagenet-resnet50", "imagenet-resnet101", "imagenette-resnet8-s2"):
        hard, soft = f"{family}-baseline", f"{family}-soft"
        assert find(hard).recipe.augment.crop == UniformWindows()
        assert find(soft).recipe.augment.crop == NormalWindows(0.3, 2.0)
        parts = {name.rpartition(".")[0] for name in keys(hard, soft)}
        assert parts == {"augment.crop", "loss"}
    fifty = "imagenet-resnet50-soft"
    literal = ['augment.crop.offsets: "half" -> "literal"']
    assert changes(fifty, f"{fifty}-literal-offsets") == literal
    assert changes(fifty, "imagenet-resnet50-hard-windows") == ['loss.soften: "both" -> "none"']


def test_the_paper_s_rows_without_labels_are_as_the_text_says():
    recipe = find(f"{SIMSIAM}-sa1").recipe
    assert (recipe.epochs, recipe.batch, recipe.optim.lr) == (500, 512, 0.2)
    assert (recipe.optim.momentum, recipe.optim.weight_decay) == (0.9, 5e-4)
    assert (recipe.optim.warmup_epochs, recipe.weight) == (0, PairSpec("SA1", k=4, p_min=0))
    assert recipe.method == SimSiamSpec(hidden=2048, bottleneck=512, num_layers=3)
    assert recipe.views == ViewsSpec(scale=(0.2, 1.0), ratio=(3 / 4, 4 / 3))
    assert recipe.probe == ProbeSpec(epochs=100, lr=10, drops=(0.6, 0.8))
    assert [find(f"{SIMSIAM}-sa1-k{k}").recipe.weight.k for k in (1, 2, 3)] == [1, 2, 3]


def test_a_row_without_labels_changes_the_weight_of_pairs_or_the_learning_rate():
    for entry in PAIRED:
        name, parts = entry.recipe.name, {re.split(r"[.:]", line)[0] for line in entry.changes}
        if entry.parent is None:
            assert name.endswith("-baseline")
        elif name.endswith("-simsiam-resnet18-sa2"):
            assert parts == {"weight", "optim"}
        else:
            assert parts == ({"optim"} if "-lr" in name else {"weight"})


def test_a_header_says_what_to_type_what_to_expect_and_what_it_costs():
    for entry in entries():
        lines = header(entry).splitlines()
        assert lines[:2] == [f"# softaug train {entry.recipe.name}", f"# {entry.about}"]
        assert all(line.startswith("# ") for line in lines)
        assert lines[-1] == f"# Cost: {entry.cost}"
        assert lines[-2].startswith("# Expect: ")


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
    assert "# Expect: 34.97 ± 0.03 % error on ImageNet-V2 (paper: Table 2)" in text
    assert "# Expect: 9.91 % ECE on ImageNet-V2 (paper: Table 7, bins not stated)" in text


def test_costs():
    wanted = {
        "cifar10-resnet18": "2.5 V100-hours (the paper's)",
        "cifar100-resnet50": "7 V100-hours (the paper's)",
        "cifar100-wrn28-10": "9 V100-hours (the paper's)",
        "cifar10-efficientnet-b0": "not stated in the paper",
        "cifar10-pyramidnet272": "not stated in the paper, which used 2 V100s",
        "cifar10-resnet8-s2": "about 40 minutes on one CPU core",
    }
    for family, cost in wanted.items():
        assert {find(f"{family}-{arm}").cost for arm in ("hard", "soft")} == {cost}
    fifty, larger = (find(f"imagenet-resnet{depth}-soft").cost for depth in (50, 101))
    assert fifty == "about 16 V100-days (the paper's: 4 V100s for 4 days)"
    assert larger.startswith(f"about {round(16 * 7.8 / 4.1, -1):.0f} V100-days (our estimate: ")


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
