import json
import math

import pytest
import torch
from tiny_runs import tiny

from softaug import DrawKey, SoftCrop, SoftResizedCrop, UniformCrop
from softaug.lab.recipes import (
    Augment,
    Erase,
    Factors,
    NormalOffsets,
    NormalWindows,
    SigmaLaw,
    UniformOffsets,
    UniformWindows,
)
from softaug.lab.recipes.augment import STEPS, WINDOWS_FIRST
from softaug.lab.training.augmentation import build_transforms, read_factors, scheduled
from softaug.lab.training.batches import Batches, apply_transforms
from softaug.lab.training.setup import load_data
from softaug.transforms import HorizontalFlip, Mixture, PerSample, Uniform, UniformResizedCrop

MEAN = [10.4, 20.6, 30.0]


def kinds(augment):
    return [type(transform) for transform in build_transforms(augment, MEAN, 32)]


def test_a_transforms_holds_the_steps_in_their_order():
    crop = NormalOffsets()
    assert kinds(Augment(crop)) == [HorizontalFlip, SoftCrop]
    assert kinds(Augment(UniformOffsets(), flip=False)) == [UniformCrop]
    order = ("policy", "crop", "flip", "noise", "cutout")
    chosen = Augment(crop, policy="randaugment", order=order)
    assert kinds(chosen) == [PerSample, SoftCrop, HorizontalFlip]


@pytest.mark.parametrize(
    ("policy", "name"),
    [("randaugment", "RandAugment"), ("trivialaugment", "TrivialAugmentWide")],
)
def test_a_policy_is_torchvisions(policy, name):
    transforms = build_transforms(Augment(policy=policy, flip=False), MEAN, 32)
    assert type(transforms[0].transform).__name__ == name


@pytest.mark.parametrize(
    ("fill", "expected"), [("data-mean", (10, 21, 30)), ("image-mean", "mean"), ("black", 0)]
)
def test_a_fill_is_what_the_crop_gets(fill, expected):
    for crop in (NormalOffsets(fill=fill), UniformOffsets(fill=fill)):
        assert build_transforms(Augment(crop), MEAN, 32)[-1].fill == expected


def test_the_numbers_of_a_crop_are_what_the_recipe_says():
    soft = build_transforms(Augment(NormalOffsets(0.2, 3.0)), MEAN, 32)[-1]
    hard = build_transforms(Augment(UniformOffsets(3, 1.5)), MEAN, 32)[-1]
    assert (soft.sigma, soft.k) == (0.2, 3.0)
    assert (hard.max_shift, hard.k) == (3, 1.5)


def test_a_law_is_built_of_the_crops_sigma_and_decays_with_it():
    decay = (("crop.sigma", 0.5, 0.5),)
    for law, early, late in (
        (SigmaLaw("uniform"), Uniform(0.4), Uniform(0.2)),
        (SigmaLaw("mixture", 0.75, 0.5), Mixture(0.2, 0.4, 0.75), Mixture(0.1, 0.2, 0.75)),
    ):
        for crop, order in ((NormalOffsets(0.4), STEPS), (NormalWindows(0.4), WINDOWS_FIRST)):
            soft = Augment(crop, law, order=order, flip=False, schedules=decay)
            made = [build_transforms(scheduled(soft, e, 2), MEAN, 32)[0].sigma for e in (0, 1)]
            assert made == [early, late]


def test_erasing_takes_the_step_of_cutout_and_can_be_turned_off():
    erase = Erase(0.5, (0.1, 0.2), 1.0, "black")
    found = Augment(erase=erase, flip=False, schedules=(("erase.p", 0.0, 0.5),))
    _, made = build_transforms(found, MEAN, 32)
    assert (made.p, made.area, made.k, made.fill) == (0.5, (0.1, 0.2), 1.0, 0)
    assert len(build_transforms(scheduled(found, 1, 2), MEAN, 32)) == 1


def windows(crop, size=24, **changes):
    augment = Augment(crop, order=WINDOWS_FIRST, **changes)
    return build_transforms(augment, MEAN, size)


def test_windows_come_first_and_have_the_size_of_the_data():
    found = windows(UniformWindows((0.2, 0.9), (0.5, 2.0), 3.0, False), policy="randaugment")
    assert [type(step) for step in found] == [UniformResizedCrop, PerSample, HorizontalFlip]
    crop = found[0]
    assert (crop.size, crop.scale, crop.ratio) == (24, (0.2, 0.9), (0.5, 2.0))
    assert (crop.k, crop.antialias) == (3.0, False)


def test_soft_windows_are_what_the_recipe_says():
    crop = NormalWindows(0.2, None, 6, "black", False, "literal", "short-edge", "window")
    found = windows(crop)[0]
    assert type(found) is SoftResizedCrop
    assert (found.size, found.sigma, found.k, found.min_size) == (24, 0.2, math.inf, 6)
    assert (found.fill, found.antialias, found.offsets) == (0, False, "literal")
    assert (found.relative_to, found.share_of) == ("short-edge", "window")
    assert (windows(NormalWindows())[0].fill, windows(NormalWindows())[0].min_size) == (
        (10, 21, 30),
        12,
    )


def test_windows_smaller_than_the_smallest_are_refused():
    with pytest.raises(ValueError, match="min_size must be at most size, 24, got 25"):
        windows(NormalWindows(min_size=25))


def test_the_sigma_of_windows_can_decay():
    decay = (("crop.sigma", 0.1, 0.5),)
    soft = Augment(NormalWindows(0.3), order=WINDOWS_FIRST, schedules=decay)
    assert [scheduled(soft, epoch, 2).crop.sigma for epoch in (0, 1)] == [0.3, 0.03]


def test_a_transforms_passes_images_and_labels_through_all_its_transforms():
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8)
    labels, key = torch.arange(6), DrawKey(0, 0, torch.arange(6))
    transforms = build_transforms(Augment(NormalOffsets()), MEAN, 32)
    found, label = apply_transforms(transforms, images, labels, key)
    flip, crop = transforms
    expected, soft = crop(*flip(images, labels, key=key), key=key)
    assert torch.equal(found, expected)
    assert torch.equal(label.retained, soft.retained)


def sigmas(epochs, share, *at):
    soft = Augment(NormalOffsets(0.3), schedules=(("crop.sigma", 0.1, share),))
    return [round(scheduled(soft, epoch, epochs).crop.sigma, 10) for epoch in at]


def test_a_schedule_holds_in_the_last_share_of_the_epochs():
    assert sigmas(500, 0.04, 0, 479, 480, 499) == [0.3, 0.3, 0.03, 0.03]
    assert sigmas(10, 0.0, 9) == [0.3]
    assert sigmas(10, 1.0, 0) == [0.03]
    assert sigmas(501, 21 / 501, 479, 480) == [0.3, 0.03]


def test_schedules_multiply_one_another():
    schedules = (("crop.sigma", 0.5, 0.5), ("crop.sigma", 0.5, 0.2), ("crop.k", 2.0, 0.2))
    soft = Augment(NormalOffsets(0.4, 2.0), schedules=schedules)
    found = [scheduled(soft, epoch, 10).crop for epoch in (4, 5, 8)]
    assert [(crop.sigma, crop.k) for crop in found] == [(0.4, 2.0), (0.2, 2.0), (0.1, 4.0)]


def test_a_whole_number_stays_whole():
    hard = Augment(UniformOffsets(4), schedules=(("crop.max_shift", 0.5, 1.0),))
    reach = scheduled(hard, 0, 1).crop.max_shift
    assert (reach, type(reach)) == (2, int)
    uneven = Augment(UniformOffsets(4), schedules=(("crop.max_shift", 0.3, 1.0),))
    with pytest.raises(ValueError, match=r"crop.max_shift must stay a whole number, got 4 x 0.3"):
        scheduled(uneven, 0, 1)


def test_a_setting_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean 'crop\.sigma'"):
        Augment(NormalOffsets(), schedules=(("crop.sgima", 0.1, 0.1),))


@pytest.mark.parametrize(("factor", "last"), [(0.001, 0.0003), (0, 1e-6)])
def test_batches_follow_the_schedule(factor, last):
    crop = NormalOffsets(0.3, fill="black")
    decayed = Augment(crop, flip=False, schedules=(("crop.sigma", factor, 0.5),))
    recipe = tiny(augment=decayed)
    data = load_data(recipe, None).train
    batches = Batches(recipe, data, MEAN)
    early, late = batches[0], batches[3]
    assert [batches.transforms(epoch)[-1].sigma for epoch in (0, 1)] == [0.3, last]
    assert float(early.label.retained.min()) < 1
    assert torch.equal(late.images, data.images[late.sample])


def test_factors_by_class_and_by_sample_multiply_the_crops_sigma_and_k(tmp_path):
    file = tmp_path / "factors.json"
    file.write_text(json.dumps({"sigma": [1.0, 2.0, 3.0], "k": [1.0, 1.0, 0.5]}))
    factors = Factors(sigma=(0.5, 1.0), k=(1.0, 2.0), samples=str(file))
    labels = torch.tensor([0, 1, 0])
    found = read_factors(factors, labels, num_classes=2)
    assert found.sigma.tolist() == [0.5, 2.0, 1.5]
    assert found.k.tolist() == [1.0, 2.0, 0.5]
    augment = Augment(NormalOffsets(0.2, 3.0), flip=False)
    (crop,) = build_transforms(augment, MEAN, 16, factors=found)
    images, index = torch.zeros(6, 3, 16, 16), torch.arange(6)  # two views of each image
    key = DrawKey(0, 0, index)
    _, label = crop(images, labels.repeat(2), key=key)
    for row in range(6):
        sigma, k = 0.2 * found.sigma[row % 3].item(), 3.0 * found.k[row % 3].item()
        alone = SoftCrop(sigma, k)(images[0], 0, key=key._replace(index=row))[1]
        assert label.retained[row].item() == pytest.approx(alone.retained)


@pytest.mark.parametrize(
    ("factors", "content", "message"),
    [
        (Factors(sigma=(1.0,)), None, "sigma must have a factor for each of the 2 classes, got 1"),
        (
            Factors(samples="f.json"),
            {"sigma": [1, 1]},
            "sigma must have a factor for each of the 3",
        ),
        (Factors(samples="f.json"), {"sigma": [1, 0, 1]}, r"sigma\[1\] must be > 0"),
        (Factors(samples="f.json"), {"sgima": []}, "it must hold"),
        (Factors(samples="none.json"), {}, "it must be a JSON file .*No such file"),
    ],
)
def test_factors_that_do_not_fit_the_data_are_refused(
    factors, content, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        read_factors(factors, torch.tensor([0, 1, 0]), num_classes=2)
