from dataclasses import replace

from softaug.lab.evaluation.show import describe_augment
from softaug.lab.recipes import (
    Augment,
    Cutout,
    Mix,
    Noise,
    NormalOffsets,
    Pace,
    UniformOffsets,
    find,
)

HARD = find("cifar100-resnet18-hard").recipe


def said(augment, **changes):
    return describe_augment(replace(HARD, augment=augment, **changes), 32)


def test_steps_are_told_in_their_order():
    order = ("policy", "crop", "flip", "noise", "cutout")
    augment = Augment(UniformOffsets(4), policy="randaugment", flip=False, order=order)
    assert said(augment) == "randaugment, crop (offsets up to 4 of 32 pixels; k = 2), hard labels"
    assert said(replace(augment, flip=True)).split(", ")[2] == "flip"


def test_noise_cutout_and_whole_labels_are_told():
    augment = Augment(
        NormalOffsets(0.3, k=None), flip=False, noise=Noise(0.1), cutout=Cutout(8, k=3.0)
    )
    assert said(augment) == (
        "crop (offsets normal, sd 0.3 edges; labels whole), noise (sd 0.01; k = 1), "
        "cutout (8 pixels; k = 3), hard labels"
    )


def test_windows_are_told_by_what_they_are_drawn_from():
    soft, usual = (find(f"imagenet-resnet50-{arm}").recipe for arm in ("soft", "randaugment"))
    assert describe_augment(soft, 224) == (
        "crop (windows of normal size and place, sigma 0.3; k = 2), flip, soft targets and weights"
    )
    assert describe_augment(usual, 224) == (
        "crop (windows of 8 to 100 % of the image; k = 2), randaugment, flip, hard labels"
    )


def test_a_soft_policy_names_its_curves_and_mixing_is_said_not_to_be_drawn():
    augment = Augment(flip=False, policy="randaugment", curves="naive")
    words = said(augment, mix=Mix("cutmix"), loss=replace(HARD.loss, soften="target")).split(", ")
    assert words[0] == "randaugment (naive curves)"
    assert words[-2:] == ["cutmix (not drawn)", "soft targets"]


def test_windows_say_what_is_not_as_usual():
    words = [
        describe_augment(find(f"imagenet-resnet50-{arm}").recipe, 224)
        for arm in ("soft", "soft-literal-offsets")
    ]
    assert "sigma 0.3; k = 2" in words[0]
    assert "sigma 0.3, offsets literal; k = 2" in words[1]


def test_a_strength_that_each_sample_has_is_called_its_own():
    pace = Pace("confidence-match", by="sample")
    words = said(Augment(NormalOffsets(0.1), pace=pace))
    assert "then paced by confidence-match, each sample its own)" in words


def test_a_strength_that_is_paced_is_that_of_the_first_epoch():
    augment = Augment(NormalOffsets(0.1), flip=False, pace=Pace("accuracy-hold"))
    assert said(augment) == (
        "crop (offsets normal, sd 0.1 edges; k = 2; at first, then paced by accuracy-hold), "
        "hard labels"
    )
