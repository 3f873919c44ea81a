"""Transforms with labels, with each other, in loaders and among torchvision's; one k a class."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate
from torchvision import tv_tensors
from torchvision.transforms import v2

from softaug import (
    DrawKey,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftLoss,
    SoftNoise,
    SoftResizedCrop,
    confidence,
)
from softaug.transforms import CropParams
from tests.transforms.pictures import pictures

POWERS = (1.0, 2.0, 4.0)


@given(
    st.floats(0, 1),
    st.lists(st.tuples(st.integers(0, 7), st.floats(0.5, 6)), max_size=4),
    st.integers(2, 100),
)
def test_transforms_compose_by_the_authors_rule(start, shifts, num_classes):
    label, p = SoftLabel(0, start), confidence(start, num_classes)
    for dx, k in shifts:
        visible = torch.tensor([1 - dx / 8], dtype=torch.float64)
        params = CropParams(torch.tensor([dx]), torch.tensor([0]), visible)
        label = SoftCrop(k=k).report(label, params)
        p = p - (p - 1 / num_classes) * (dx / 8) ** k  # p_n - (p_n - 1/N)(1 - v)^k
    assert label.confidence(num_classes) == pytest.approx(p, abs=1e-12)


def test_modules_hold_transforms_like_any_layer():
    model, seen = nn.Sequential(SoftCrop(), nn.Sequential(SoftNoise()), nn.Linear(2, 2)), []
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen == ["SoftCrop", "SoftNoise", "Sequential", "Linear", "Sequential"]
    assert model.to(torch.float64)[2].weight.dtype == torch.float64
    assert model.eval()[0].training is False


def test_one_sample_with_zero_dim_tensors_reports_plain_numbers():
    label = SoftLabel(torch.tensor(3), torch.tensor(0.5))
    _, out = SoftCutout(4)(torch.ones(1, 8, 8), label)
    assert (type(out.label), type(out.retained)) == (int, float)


class Pictures(Dataset):
    """Ten images, augmented one by one as the loader's workers ask for them."""

    def __init__(self):
        self.images = pictures(10)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, label = self.images[index], index % 3
        for transform in (SoftCrop(), SoftNoise()):
            image, label = transform(image, label, key=DrawKey(3, 1, index))
        return image, label


def loaded(num_workers, batch_size):
    data = DataLoader(Pictures(), batch_size, num_workers=num_workers)
    images, labels = zip(*data, strict=True)
    return torch.cat(images), [torch.cat(part) for part in zip(*labels, strict=True)]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a small machine
def test_a_key_gives_the_same_result_with_any_number_of_workers():
    images, (labels, kept) = loaded(0, 4)
    for num_workers, batch_size in ((3, 3), (0, 1)):
        found, (found_labels, found_kept) = loaded(num_workers, batch_size)
        assert torch.equal(found, images)
        assert torch.equal(found_labels, labels)
        assert torch.equal(found_kept, kept)


def test_batches_of_a_loader_and_of_collate_fn_go_into_the_loss():
    crop = SoftCrop()
    plain = [(image, n % 3) for n, image in enumerate(pictures(10))]
    collated = DataLoader(plain, 5, collate_fn=lambda batch: crop(*default_collate(batch)))
    for loader in (collated, DataLoader(Pictures(), 5)):
        for images, label in loader:
            assert (images.dtype, type(label)) == (torch.uint8, SoftLabel)
            loss = SoftLoss()(torch.zeros(5, 3), label)
            assert (loss.dtype, bool(loss > 0)) == (torch.float32, True)


def recipe(*crops):
    steps = [v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.5,) * 3, (0.25,) * 3)]
    return v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(p=1), *crops, *steps])


def test_compose_runs_soft_transforms_among_torchvisions():
    image, chain = pictures(1)[0], (SoftCrop(), SoftErase(), SoftNoise())
    torch.manual_seed(1)
    out, label = recipe(*chain)(image, 2)
    torch.manual_seed(1)
    torch.rand(1)  # the flip's
    expected, soft = image.flip(-1), 2
    for transform in chain:
        expected, soft = transform((expected, soft))  # a sample may come as one pair
    torch.testing.assert_close(out.as_subclass(torch.Tensor), (expected / 255 - 0.5) / 0.25)
    assert label == soft
    assert (type(out), type(label)) == (tv_tensors.Image, SoftLabel)


@pytest.mark.parametrize("sample", [torch.zeros(3, 8, 8), {"image": 1, "label": 2}])
def test_images_without_labels_are_refused(sample):
    with pytest.raises(ValueError, match="SoftCrop: images and their labels are needed, got only"):
        SoftCrop()(sample)


def half(num):
    """Parameters of a crop that leaves half of each image."""
    shift = torch.full((num,), 4)
    return CropParams(shift, torch.zeros_like(shift), torch.full((num,), 0.5))


def test_each_label_takes_the_curve_of_its_class():
    labels = torch.tensor([2, 0, 1])
    soft = SoftCrop(k=POWERS).report(labels, half(3))
    assert soft.retained.tolist() == [0.9375, 0.5, 0.75]
    assert SoftCrop(k=POWERS).report(1, half(1)) == SoftLabel(1, 0.75)
    before = SoftLabel(labels, torch.tensor([1.0, 0.5, 1.0]))
    assert SoftCrop(k=POWERS).report(before, half(3)).retained.tolist() == [0.9375, 0.25, 0.75]
    hard = SoftCrop(k=(math.inf, 1.0)).report(torch.tensor([0, 1]), half(2))
    assert hard.retained.tolist() == [1.0, 0.5]


@pytest.mark.parametrize("kind", [SoftCrop, SoftErase, SoftNoise, SoftResizedCrop])
def test_one_k_a_class_is_each_sample_by_itself(kind):
    images, labels = torch.rand(6, 3, 12, 12), torch.tensor([2, 0, 1, 1, 0, 2])
    key = DrawKey(1, 0, torch.arange(6))
    _, soft = kind(k=POWERS)(images, labels, key=key)
    for sample, label in enumerate(labels.tolist()):
        _, own = kind(k=POWERS[label])(images, labels, key=key)
        assert soft.retained[sample] == own.retained[sample]
