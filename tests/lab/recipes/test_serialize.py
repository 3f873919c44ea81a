import copy
import json

import pytest

from softaug.lab.recipes import (
    BarlowTwinsSpec,
    NormalOffsets,
    NormalWindows,
    PretrainRecipe,
    UniformOffsets,
    UniformWindows,
    as_dict,
    differences,
    entries,
    from_dict,
)
from softaug.lab.recipes.config import Recipe

RECIPES = [entry.recipe for entry in entries()]
SOFT, HARD = "cifar100-resnet18-soft", "cifar100-resnet18-hard"


def plain(name=SOFT):
    return as_dict(next(recipe for recipe in RECIPES if recipe.name == name))


def changed(values, path, value):
    """A copy of nested `values` with one of them set."""
    found = inner = copy.deepcopy(values)
    *parents, last = path.split(".")
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    return found


def without(values, path):
    found = inner = copy.deepcopy(values)
    *parents, last = path.split(".")
    for parent in parents:
        inner = inner[parent]
    del inner[last]
    return found


def test_a_recipe_comes_back_from_json_as_it_was():
    for recipe in RECIPES:
        text = json.dumps(as_dict(recipe))
        back = from_dict(json.loads(text))
        assert back == recipe
        assert json.dumps(as_dict(back)) == text


def test_plain_values_hold_lists_instead_of_tuples():
    augment = plain()["augment"]
    assert augment["order"] == ["policy", "flip", "crop", "noise", "cutout"]
    assert augment["schedules"] == [["crop.sigma", 0.001, 0.04]]


def test_the_keys_decide_which_kind_it_is():
    assert type(from_dict(plain("cifar10-simsiam-resnet18-sa1"))) is PretrainRecipe
    barlow = plain("cifar10-barlow-twins-resnet18-sa1")
    assert from_dict(barlow).method == BarlowTwinsSpec()
    wrong = {**barlow, "views": {**barlow["views"], "scal": [0.2, 1.0]}}
    with pytest.raises(ValueError, match=r"got 'views\.scal'; did you mean 'views\.scale'"):
        from_dict(wrong)
    assert from_dict(plain(SOFT)).augment.crop == NormalOffsets(0.3)
    assert from_dict(plain(HARD)).augment.crop == UniformOffsets(4)
    assert from_dict(plain("imagenet-resnet50-soft")).augment.crop == NormalWindows()
    assert from_dict(plain("imagenet-resnet50-baseline")).augment.crop == UniformWindows()


def test_a_whole_number_is_a_float_where_one_is_wanted():
    lr = from_dict(changed(plain(), "optim.lr", 1)).optim.lr
    assert lr == 1
    assert type(lr) is float


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [  # a crop with both sigma and max_shift is taken for the first kind
        ("optim.lrr", 0.1, "got 'optim.lrr'; did you mean 'optim.lr'?"),
        ("epoch", 5, "got 'epoch'; did you mean 'epochs'?"),
        ("augment.crop.sgima", 0.1, "did you mean 'augment.crop.sigma'?"),
        ("augment.crop.max_shift", 4, "got 'augment.crop.sigma'; the keys are augment.crop.fill"),
        ("optim.lr", "0.1", "optim.lr must be a number, got str 0.1"),
        ("optim.lr", None, "optim.lr must be a number, got NoneType"),
        ("optim.ema", "x", "optim.ema must be a number, got str x"),
        ("epochs", 5.0, "epochs must be a whole number, got float 5.0"),
        ("epochs", True, "epochs must be a whole number, got bool True"),
        ("augment.flip", 1, "augment.flip must be true or false, got int 1"),
        ("model", 18, "model must be text, got int 18"),
        ("optim", 0.1, "optim must be a table of keys and values, got float 0.1"),
        ("augment.crop", None, "augment.crop must be a table of keys and values, got NoneType"),
        ("augment.crop", "soft", "augment.crop must be a table of keys and values, got str soft"),
        ("loss.soften", "targt", "loss.soften must be one of .* did you mean 'target'?"),
        ("augment.order", "flip", "augment.order must be a list, got str flip"),
        ("augment.order", ["flop", "crop"], r"augment.order\[0\] .* did you mean 'flip'?"),
        ("augment.schedules", [["crop.sigma", 0.1]], r"augment.schedules\[0\] must hold 3 values"),
        ("augment.schedules", [["crop.sigma", "a", 0.1]], r"schedules\[0\]\[1\] must be a number"),
    ],
)
def test_a_wrong_key_or_value_is_refused_by_its_dotted_name(path, value, message):
    with pytest.raises(ValueError, match=f"^recipe: .*{message}"):
        from_dict(changed(plain(), path, value))


@pytest.mark.parametrize("path", ["epochs", "optim", "optim.lr", "augment.crop.k", "name"])
def test_a_missing_key_is_refused_by_its_dotted_name(path):
    with pytest.raises(ValueError, match=f"^recipe: {path} must be given, got only "):
        from_dict(without(plain(), path))


def test_a_recipe_from_before_there_was_a_pace_is_not_paced():
    old = without(plain(), "augment.pace")
    assert from_dict(old) == from_dict(plain())
    assert not from_dict(old).augment.pace.on


def test_a_pace_from_before_strengths_settled_does_not():
    today = old = plain("cifar10-resnet8-s2-5000x40-paced")
    for key in ("by", "since", "settle"):
        old = without(old, f"augment.pace.{key}")
    assert from_dict(old) == from_dict(changed(today, "augment.pace.settle", 0.0))


def test_a_rule_of_pacing_that_is_gone_is_refused_and_its_held_out_images_are_forgotten():
    paced = plain("cifar10-resnet8-s2-5000x40-paced")
    old = changed(paced, "augment.pace", {**paced["augment"]["pace"], "held_out": 0})
    assert from_dict(old) == from_dict(paced)
    old = changed(old, "augment.pace", {**paced["augment"]["pace"], "held_out": 500})
    with pytest.raises(ValueError, match=r"pace\.rule must be one of .*, got 'held-out-gap'"):
        from_dict(changed(old, "augment.pace.rule", "held-out-gap"))


def test_settings_of_a_pace_that_is_off_are_todays():
    assert from_dict(changed(plain(), "augment.pace.factor", 1.15)) == from_dict(plain())


def test_names_of_earlier_versions_are_read():
    hard, soft = plain(HARD), plain(SOFT)
    crop = hard["augment"]["crop"]
    old = changed(hard, "augment.crop", {"reach": crop["max_shift"], **without(crop, "max_shift")})
    old = changed(old, "augment.schedules", [["crop.reach", 0.5, 0.1]])
    assert from_dict(old).augment.crop == UniformOffsets(4)
    assert from_dict(old).augment.schedules == (("crop.max_shift", 0.5, 0.1),)
    assert from_dict(without(old, "augment.pace")) == from_dict(old)
    british = changed(soft, "loss.weighting", "normalised")
    assert from_dict(british) == from_dict(changed(soft, "loss.weighting", "normalized"))


@pytest.mark.parametrize("key", ["goal", "factor"])
def test_a_pace_without_one_of_its_keys_is_refused(key):
    rule = rf"^recipe: augment\.pace\.{key} must be given, got only"
    paced = changed(plain(), "augment.pace.rule", "accuracy-hold")
    with pytest.raises(ValueError, match=rule):
        from_dict(without(paced, f"augment.pace.{key}"))


def test_a_pair_of_numbers_must_be_two():
    values = changed(plain("imagenet-resnet50-baseline"), "augment.crop.scale", [0.1])
    with pytest.raises(ValueError, match=r"augment\.crop\.scale must hold 2 values, got \[0\.1\]"):
        from_dict(values)


def test_a_value_out_of_range_is_refused_by_the_rule_of_its_field():
    with pytest.raises(ValueError, match=r"augment\.crop: sigma must be > 0.*got -1"):
        from_dict(changed(plain(), "augment.crop.sigma", -1))


@pytest.mark.parametrize("values", [None, [], "recipe"])
def test_what_is_no_table_is_no_recipe(values):
    with pytest.raises(ValueError, match="recipe: it must be a table of keys and values"):
        from_dict(values)


def test_differences_names_what_changed_and_what_is_on_one_side_only():
    assert differences(plain(HARD), plain(SOFT)) == [
        "augment.crop.max_shift: 4 -> (absent)",
        "augment.crop.sigma: (absent) -> 0.3",
        'augment.schedules: [] -> [["crop.sigma", 0.001, 0.04]]',
        'loss.soften: "none" -> "both"',
        f'name: "{HARD}" -> "{SOFT}"',
    ]


def test_a_table_that_became_nothing_differs_in_its_keys():
    assert differences({"crop": {"k": 2.0}}, {"crop": None}) == ["crop.k: 2.0 -> (absent)"]


def test_the_same_has_no_differences():
    assert differences(plain(), as_dict(from_dict(plain()))) == []
    assert differences(as_dict(Recipe("a", "resnet8")), as_dict(Recipe("a", "resnet8"))) == []
