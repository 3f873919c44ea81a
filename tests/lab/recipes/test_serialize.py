import copy
import json

import pytest

from softaug.lab.recipes import UniformOffsets, as_dict, differences, entries, from_dict

RECIPES = [entry.recipe for entry in entries()]
SOFT, HARD = "cifar100-resnet18-soft", "cifar100-resnet18-hard"


def plain(name=SOFT):
    return as_dict(next(recipe for recipe in RECIPES if recipe.name == name))


def changed(values, path, *value):
    """A copy of nested `values` with one of them set, or left out."""
    found = inner = copy.deepcopy(values)
    *parents, last = path.split(".")
    for parent in parents:
        inner = inner[parent]
    inner.pop(last, None)
    if value:
        (inner[last],) = value
    return found


def test_a_recipe_comes_back_from_json_as_it_was():
    for recipe in RECIPES:
        text = json.dumps(as_dict(recipe))
        back = from_dict(json.loads(text))
        assert back == recipe
        assert json.dumps(as_dict(back)) == text


def test_a_whole_number_is_a_float_where_one_is_wanted():
    lr = from_dict(changed(plain(), "optim.lr", 1)).optim.lr
    assert lr == 1
    assert type(lr) is float


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [  # a crop with both sigma and max_shift is taken for the first kind
        ("augment.crop.sgima", 0.1, "did you mean 'augment.crop.sigma'?"),
        ("augment.crop.max_shift", 4, "got 'augment.crop.sigma'; the keys are augment.crop.fill"),
        ("optim.lr", "0.1", "optim.lr must be a number, got str 0.1"),
        ("epochs", True, "epochs must be a whole number, got bool True"),
        ("augment.crop", None, "augment.crop must be a table of keys and values, got NoneType"),
        ("loss.soften", "targt", "loss.soften must be one of .* did you mean 'target'?"),
        ("augment.order", ["flop", "crop"], r"augment.order\[0\] .* did you mean 'flip'?"),
        ("augment.schedules", [["crop.sigma", 0.1]], r"augment.schedules\[0\] must hold 3 values"),
    ],
)
def test_a_wrong_key_or_value_is_refused_by_its_dotted_name(path, value, message):
    with pytest.raises(ValueError, match=f"^recipe: .*{message}"):
        from_dict(changed(plain(), path, value))


@pytest.mark.parametrize("path", ["epochs", "optim", "optim.lr", "augment.crop.k"])
def test_a_missing_key_is_refused_by_its_dotted_name(path):
    with pytest.raises(ValueError, match=f"^recipe: {path} must be given, got only "):
        from_dict(changed(plain(), path))


def test_what_is_out_of_range_or_no_table_is_refused():
    with pytest.raises(ValueError, match=r"augment\.crop: sigma must be .*>= 0, got float -1"):
        from_dict(changed(plain(), "augment.crop.sigma", -1))
    with pytest.raises(ValueError, match="recipe: it must be a table of keys and values"):
        from_dict([])
    barlow = plain("cifar10-barlow-twins-resnet18-sa1")  # the keys say of which kind it is
    with pytest.raises(ValueError, match=r"got 'views\.scal'; did you mean 'views\.scale'"):
        from_dict(changed(barlow, "views.scal", [0.2, 1.0]))


def test_recipes_of_earlier_versions_are_read():
    old = changed(plain(), "augment.pace")
    assert from_dict(old) == from_dict(plain())
    assert not from_dict(old).augment.pace.on
    today = old = plain("cifar10-resnet8-s2-5000x40-paced")  # from before strengths settled
    for key in ("by", "since", "settle"):
        old = changed(old, f"augment.pace.{key}")
    assert from_dict(old) == from_dict(changed(today, "augment.pace.settle", 0.0))


def test_a_rule_of_pacing_that_is_gone_is_refused_and_its_held_out_images_are_forgotten():
    paced = plain("cifar10-resnet8-s2-5000x40-paced")
    old = changed(paced, "augment.pace", {**paced["augment"]["pace"], "held_out": 500})
    assert from_dict(old) == from_dict(paced)
    with pytest.raises(ValueError, match=r"pace\.rule must be one of .*, got 'held-out-gap'"):
        from_dict(changed(old, "augment.pace.rule", "held-out-gap"))


def test_settings_of_a_pace_that_is_off_are_todays():
    assert from_dict(changed(plain(), "augment.pace.factor", 1.15)) == from_dict(plain())
    paced = changed(plain(), "augment.pace.rule", "accuracy-hold")
    with pytest.raises(ValueError, match=r"^recipe: augment\.pace\.goal must be given, got only"):
        from_dict(changed(paced, "augment.pace.goal"))


def test_names_of_earlier_versions_are_read():
    hard, soft = plain(HARD), plain(SOFT)
    crop = hard["augment"]["crop"]
    old = changed(hard, "augment.crop", {"reach": crop["max_shift"], **changed(crop, "max_shift")})
    old = changed(old, "augment.schedules", [["crop.reach", 0.5, 0.1]])
    assert from_dict(old).augment.crop == UniformOffsets(4)
    assert from_dict(old).augment.schedules == (("crop.max_shift", 0.5, 0.1),)
    assert from_dict(changed(old, "augment.pace")) == from_dict(old)
    british = changed(soft, "loss.weighting", "normalised")
    assert from_dict(british) == from_dict(changed(soft, "loss.weighting", "normalized"))


def test_differences_names_what_changed_and_what_is_on_one_side_only():
    assert differences(plain(HARD), plain(SOFT)) == [
        "augment.crop.max_shift: 4 -> (absent)",
        "augment.crop.sigma: (absent) -> 0.3",
        'augment.schedules: [] -> [["crop.sigma", 0.001, 0.04]]',
        'loss.soften: "none" -> "both"',
        f'name: "{HARD}" -> "{SOFT}"',
    ]
    assert differences({"crop": {"k": 2.0}}, {"crop": None}) == ["crop.k: 2.0 -> (absent)"]
    assert differences(plain(), as_dict(from_dict(plain()))) == []
