"""One `k` for all classes, or one for each (Eq. 11)."""

import math

import pytest
import torch

from softaug import (
    DrawKey,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftNoise,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
    retained,
)
from softaug.transforms import CropParams

KINDS = [
    SoftCrop,
    UniformCrop,
    SoftErase,
    SoftCutout,
    SoftNoise,
    SoftResizedCrop,
    UniformResizedCrop,
]
POWERS = [1.0, 2.0, 4.0]
IMAGES, LABELS = torch.rand(6, 3, 12, 12), torch.tensor([2, 0, 1, 1, 0, 2])
KEY = DrawKey(1, 0, torch.arange(6))


def half(num):
    """Parameters of a crop that leaves half of each image."""
    shift = torch.full((num,), 4)
    return CropParams(shift, torch.zeros_like(shift), torch.full((num,), 0.5))


def test_each_label_takes_the_curve_of_its_class():
    soft = SoftCrop(k=POWERS).report(torch.tensor([2, 0, 1]), half(3))
    assert soft.retained.tolist() == [0.9375, 0.5, 0.75]


def test_one_image_takes_the_curve_of_its_class():
    assert SoftCrop(k=POWERS).report(1, half(1)) == SoftLabel(1, 0.75)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_its_samples_one_by_one(kind):
    _, soft = kind(k=POWERS)(IMAGES, LABELS, key=KEY)
    for sample, label in enumerate(LABELS.tolist()):
        _, own = kind(k=POWERS[label])(IMAGES, LABELS, key=KEY)
        assert soft.retained[sample] == own.retained[sample]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_numbers_are_one_number_to_the_bit(kind):
    one, each = (kind(k=k)(IMAGES, LABELS, key=KEY) for k in (1.7, [1.7, 1.7, 1.7]))
    assert torch.equal(one[0], each[0])
    assert torch.equal(one[1].retained, each[1].retained)


def test_a_soft_label_that_comes_in_composes_by_its_own_curve():
    before = SoftLabel(torch.tensor([0, 1]), torch.tensor([0.5, 1.0]))
    assert SoftCrop(k=POWERS).report(before, half(2)).retained.tolist() == [0.25, 0.75]


def test_a_class_may_stay_hard():
    soft = SoftCrop(k=(math.inf, 1.0)).report(torch.tensor([0, 1]), half(2))
    assert soft.retained.tolist() == [1.0, 0.5]


def test_compiled_curves_per_class_equal_eager_ones():
    torch.compiler.reset()
    crop = SoftCrop(k=POWERS)
    compiled = torch.compile(crop, backend="aot_eager", fullgraph=True)
    expected = crop(IMAGES, LABELS, key=KEY)[1].retained
    torch.testing.assert_close(compiled(IMAGES, LABELS, key=KEY)[1].retained, expected)


def test_repr_shows_every_class():
    assert "k=(1.0, 2.0, 4.0)" in repr(SoftCrop(k=POWERS))


@pytest.mark.parametrize(
    ("k", "rule"),
    [
        ([], "k must be a number > 0, or one for each class, got none"),
        ([1, 0], "k of class 1 must be > 0, got 0"),
        ([1, "2"], "k of class 1 must be a number > 0, got str 2"),
        ("12", "k must be a number > 0, got str 12"),
    ],
)
def test_bad_powers_are_refused(k, rule):
    with pytest.raises(ValueError, match=f"SoftCrop: {rule}"):
        SoftCrop(k=k)


@pytest.mark.parametrize("label", [3, -1])
def test_a_label_without_a_curve_is_refused(label):
    rule = f"SoftCrop: k is for 3 classes, so labels must be in 0..2, got {label}; give one k"
    with pytest.raises(ValueError, match=rule):
        SoftCrop(k=POWERS)(IMAGES[0], label)
    with pytest.raises(ValueError, match=rule):
        SoftCrop(k=POWERS)(IMAGES[:2], torch.tensor([0, label]))


@pytest.mark.parametrize(
    ("visible", "k", "rule"),
    [
        (0.5, torch.tensor([1.0]), "a tensor with one for each visible share"),
        (torch.ones(2), torch.ones(3), "a tensor with one for each visible share"),
        (torch.ones(2), torch.ones(2, 1), "a tensor with one for each visible share"),
        (torch.ones(2), torch.tensor([1.0, 0.0]), "k must be > 0, got 0"),
        (torch.ones(2), torch.tensor([1.0, math.nan]), "k must be > 0, got nan"),
    ],
)
def test_bad_powers_of_samples_are_refused(visible, k, rule):
    with pytest.raises(ValueError, match=f"retained: .*{rule}"):
        retained(visible, k)
