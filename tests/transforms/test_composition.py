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
    UniformCrop,
    confidence,
)
from softaug.transforms import CropParams


def pictures(num=12):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (num, 3, 8, 10), generator=generator, dtype=torch.uint8)


def keyed(transform, images, labels, index, stream=0):
    return transform(images, labels, key=DrawKey(3, 1, index, stream))


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


def test_different_classes_draw_differently_from_one_key():
    images, key = torch.ones(50, 1, 9, 9), DrawKey(0, 0, torch.arange(50))
    soft, even = SoftCrop(sigma=1e6).draw(images, key=key), UniformCrop(8).draw(images, key=key)
    agree = (soft.dx == even.dx).float().mean()  # nearly the same law
    assert agree < 0.3


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

    def __init__(self, transform):
        self.images, self.transform = pictures(10), transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index], index % 3, index)


def crop_and_noise(image, label, index):
    image, label = keyed(SoftCrop(), image, label, index)
    return keyed(SoftNoise(), image, label, index)


def loaded(num_workers, batch_size=4):
    data = DataLoader(Pictures(crop_and_noise), batch_size, num_workers=num_workers)
    images, labels = zip(*data, strict=True)
    return torch.cat(images), [torch.cat(part) for part in zip(*labels, strict=True)]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a small machine
@pytest.mark.parametrize(("num_workers", "batch_size"), [(1, 4), (4, 4), (0, 1), (4, 3)])
def test_a_key_gives_the_same_result_with_any_number_of_workers(num_workers, batch_size):
    images, (labels, kept) = loaded(0)
    found, (found_labels, found_kept) = loaded(num_workers, batch_size)
    assert torch.equal(found, images)
    assert torch.equal(found_labels, labels)
    assert torch.equal(found_kept, kept)


def test_the_loaders_batches_go_into_the_loss():
    images, label = next(iter(DataLoader(Pictures(crop_and_noise), 10)))
    assert isinstance(label, SoftLabel)
    loss = SoftLoss()(torch.zeros(10, 3), label)
    assert images.shape == (10, 3, 8, 10)
    assert (loss.dtype, bool(loss > 0)) == (torch.float32, True)


def test_batches_are_augmented_in_collate_fn():
    crop = SoftCrop()
    plain = [(image, n) for n, image in enumerate(pictures(10))]
    loader = DataLoader(plain, 5, collate_fn=lambda batch: crop(*default_collate(batch)))
    batches = list(loader)
    assert [label.label.tolist() for _, label in batches] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert all(isinstance(label, SoftLabel) for _, label in batches)
    assert all(images.dtype == torch.uint8 for images, _ in batches)


def recipe(crop):
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomHorizontalFlip(p=1),
            crop,
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize((0.5,) * 3, (0.25,) * 3),
        ]
    )


def test_compose_runs_a_soft_transform_among_torchvisions():
    image, crop = pictures(1)[0], SoftCrop()
    torch.manual_seed(1)
    out, label = recipe(crop)(image, 2)
    torch.manual_seed(1)
    torch.rand(1)  # the flip's
    cropped, expected = crop(image.flip(-1), 2)
    torch.testing.assert_close(out.as_subclass(torch.Tensor), (cropped / 255 - 0.5) / 0.25)
    assert label == expected
    assert (type(out), type(label)) == (tv_tensors.Image, SoftLabel)


def test_compose_chains_soft_transforms():
    torch.manual_seed(2)
    _, label = v2.Compose([SoftCrop(), SoftErase(), SoftNoise()])(pictures(1)[0], 2)
    torch.manual_seed(2)
    alone = [t(pictures(1)[0], 2)[1].retained for t in (SoftCrop(), SoftErase(), SoftNoise())]
    assert label.retained == pytest.approx(alone[0] * alone[1] * alone[2])


def test_compose_leaves_the_labels_of_a_batch_alone():
    images, label = recipe(UniformCrop(0))(pictures(), torch.arange(12))
    assert images.shape == (12, 3, 8, 10)
    assert label.label.tolist() == list(range(12))
    assert label.retained.tolist() == [1.0] * 12


def test_a_sample_may_come_as_one_pair():
    torch.manual_seed(3)
    image, label = v2.Compose([SoftCrop()])((pictures(1)[0], 2))
    torch.manual_seed(3)
    expected, soft = SoftCrop()(pictures(1)[0], 2)
    assert torch.equal(image, expected)
    assert label == soft


@pytest.mark.parametrize("sample", [torch.zeros(3, 8, 8), {"image": 1, "label": 2}])
def test_images_without_labels_are_refused(sample):
    with pytest.raises(ValueError, match="SoftCrop: images and their labels are needed, got only"):
        SoftCrop()(sample)


def test_parameters_logged_elsewhere_are_moved_to_the_images():
    crop, images = SoftCrop(), pictures()
    params = crop.draw(images)
    there = crop.apply(images.to("meta"), params)
    assert there.device.type == "meta"
