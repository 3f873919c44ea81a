"""The rows for photographs."""

import pytest

from softaug.lab.recipes import NormalWindows, UniformWindows, as_dict, differences, entries, find

ARMS = ("baseline", "soft", "randaugment", "soft-randaugment")
FIFTY, SMALL = "imagenet-resnet50", "imagenette-resnet8-s2"
WINDOWED = [e.recipe for e in entries() if e.recipe.name.startswith("imagenet")]
SOFT_LINES = [  # of differences() from the baseline: the windows, and what softens
    "augment.crop.fill",
    "augment.crop.min_size",
    "augment.crop.offsets",
    "augment.crop.ratio",
    "augment.crop.relative_to",
    "augment.crop.scale",
    "augment.crop.share_of",
    "augment.crop.sigma",
    "loss.soften",
    "name",
]


def changes(old, new):
    return differences(as_dict(find(old).recipe), as_dict(find(new).recipe))


@pytest.mark.parametrize("model", ["resnet50", "resnet101"])
@pytest.mark.parametrize("arm", ARMS)
def test_the_paper_s_settings(model, arm):
    recipe = find(f"imagenet-{model}-{arm}").recipe
    optim = recipe.optim
    assert (recipe.model, recipe.data.name) == (f"imagenet-{model}", "imagenet")
    assert (recipe.batch, recipe.epochs, optim.lr, optim.warmup_epochs) == (256, 270, 0.1, 5)
    assert (optim.momentum, optim.weight_decay) == (0.9, 1e-4)
    assert (recipe.data.size, recipe.data.resize, recipe.augment.flip) == (224, None, True)


@pytest.mark.parametrize("family", [FIFTY, "imagenet-resnet101", SMALL])
def test_a_soft_row_changes_only_windows_and_loss(family):
    lines = changes(f"{family}-baseline", f"{family}-soft")
    assert [line.split(":")[0] for line in lines] == SOFT_LINES
    assert find(f"{family}-baseline").recipe.augment.crop == UniformWindows()
    assert find(f"{family}-soft").recipe.augment.crop == NormalWindows(0.3, 2.0)
    assert 'loss.soften: "none" -> "both"' in lines


def test_windows_come_first_in_every_arm_and_nothing_decays():
    assert len(WINDOWED) == 4 + 2 + 4 + 4
    for recipe in WINDOWED:
        assert recipe.augment.order == ("crop", "policy", "flip", "noise", "cutout")
        assert recipe.augment.schedules == ()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("baseline", "randaugment", 'augment.policy: "none" -> "randaugment"'),
        ("soft", "soft-randaugment", 'augment.policy: "none" -> "randaugment"'),
        ("soft", "soft-literal-offsets", 'augment.crop.offsets: "half" -> "literal"'),
        ("soft", "hard-windows", 'loss.soften: "both" -> "none"'),
    ],
)
def test_another_row_is_one_change(old, new, line):
    assert changes(f"{FIFTY}-{old}", f"{FIFTY}-{new}")[:-1] == [line]


def test_small_rows_are_small():
    for arm, sigma in (("soft", 0.3), ("soft-mild", 0.1), ("hard-windows", 0.3)):
        recipe = find(f"{SMALL}-{arm}").recipe
        assert (recipe.data.name, recipe.data.size, recipe.batch) == ("imagenette", 64, 64)
        assert (recipe.epochs, recipe.optim.lr) == (100, 0.05)
        assert recipe.augment.crop.sigma == sigma


def test_a_cost_says_what_it_rests_on():
    assert find(f"{FIFTY}-soft").cost == "about 16 V100-days (the paper's: 4 V100s for 4 days)"
    larger = find("imagenet-resnet101-soft").cost
    assert larger.startswith(f"about {round(16 * 7.8 / 4.1, -1):.0f} V100-days (our estimate: ")
    for recipe in WINDOWED:
        assert ("on one CPU core" in find(recipe.name).cost) == recipe.name.startswith(SMALL)
