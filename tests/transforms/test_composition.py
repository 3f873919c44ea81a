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
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftLoss,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
    confidence,
)
from softaug.transforms import CropParams

TRANSFORMS = [
    SoftCrop(),
    UniformCrop(2),
    SoftErase(),
    SoftCutout(3),
    SoftNoise(noise_sd=1.0),
    SoftAffine(60, (0.2, 0.2)),
    SoftPolicy("rand", 2, 15),
    SoftResizedCrop(8),
    UniformResizedCrop(8),
]
each_transform = pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: t.name)


def pictures(num=12):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (num, 3, 8, 10), generator=generator, dtype=torch.uint8)


def keyed(transform, images, labels, index, stream=0):
    return transform(images, labels, key=DrawKey(3, 1, index, stream))


def assert_same(found, expected):
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1].label, expected[1].label)
    assert torch.equal(found[1].retained, expected[1].retained)


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


def test_soft_labels_of_a_batch_are_multiplied():
    images, labels, index = pictures(), torch.arange(12), torch.arange(12)
    once, first = keyed(SoftCrop(), images, labels, index)
    twice, both = keyed(SoftErase(), once, first, index)
    _, second = keyed(SoftErase(), images, labels, index)
    torch.testing.assert_close(both.retained, first.retained * second.retained)
    assert torch.equal(both.label, labels)
    assert not torch.equal(once, twice)


@each_transform
def test_parameters_are_drawn_for_each_sample(transform):
    same = pictures(1).expand(6, 3, 8, 10)
    out, label = transform(same, torch.zeros(6).long(), generator=torch.Generator().manual_seed(0))
    assert out.unique(dim=0).shape[0] > 3
    assert label.retained.unique().numel() > 1


@each_transform
@pytest.mark.parametrize("sizes", [[12], [1] * 12, [5, 7], [4, 1, 7]], ids=str)
def test_a_key_gives_the_same_result_in_any_batch_split(transform, sizes):
    images, labels, index = pictures(), torch.arange(12), torch.arange(100, 112)
    parts = zip(*(t.split(sizes) for t in (images, labels, index)), strict=True)
    done = [keyed(transform, *part) for part in parts]
    label = SoftLabel(*(torch.cat(part) for part in zip(*(d[1] for d in done), strict=True)))
    joined = torch.cat([d[0] for d in done]), label
    assert_same(joined, keyed(transform, images, labels, index))


@each_transform
def test_one_image_gives_what_it_gives_in_a_batch(transform):
    images, index = pictures(), torch.arange(12)
    batch, labels = keyed(transform, images, torch.arange(12), index)
    image, label = keyed(transform, images[7], 7, 7)
    assert torch.equal(image, batch[7])
    assert (type(label.label), type(label.retained)) == (int, float)
    assert label.label == 7
    assert label.retained == pytest.approx(labels.retained[7].item(), abs=1e-7)


@each_transform
def test_a_batch_of_one_stays_a_batch(transform):
    image, label = keyed(transform, pictures(1), torch.tensor([4]), torch.tensor([9]))
    assert image.shape[:3] == (1, 3, 8)
    assert label.label.tolist() == [4]
    assert label.retained.shape == (1,)


@each_transform
@pytest.mark.parametrize("change", ["seed", "epoch", "stream"])
def test_another_key_gives_another_result(transform, change):
    images, labels, key = pictures(), torch.arange(12), DrawKey(3, 1, torch.arange(12))
    other = key._replace(**{change: 2})
    first, second = transform(images, labels, key=key), transform(images, labels, key=other)
    assert not torch.equal(first[0], second[0])
    assert not torch.equal(first[1].retained, second[1].retained)


def test_different_classes_draw_differently_from_one_key():
    images, key = torch.ones(50, 1, 9, 9), DrawKey(0, 0, torch.arange(50))
    soft, even = SoftCrop(sigma=1e6).draw(images, key=key), UniformCrop(8).draw(images, key=key)
    agree = (soft.dx == even.dx).float().mean()  # nearly the same law
    assert agree < 0.3


@each_transform
def test_generator_of_the_same_state_gives_the_same_result(transform):
    images, labels = pictures(), torch.arange(12)
    states = [torch.Generator().manual_seed(4) for _ in range(2)]
    first, second = (transform(images, labels, generator=state) for state in states)
    assert_same(first, second)
    assert not torch.equal(first[0], transform(images, labels, generator=states[0])[0])


@each_transform
def test_torchs_own_seed_decides_where_nothing_is_given(transform):
    images, labels = pictures(), torch.arange(12)
    torch.manual_seed(6)
    first = transform(images, labels)
    torch.manual_seed(6)
    assert_same(transform(images, labels), first)


@each_transform
def test_drawn_parameters_replay_the_call(transform):
    images, labels, key = pictures(), torch.arange(12), DrawKey(3, 1, torch.arange(12))
    params = transform.draw(images, key=key)
    replayed = transform.apply(images, params), transform.report(labels, params)
    assert_same(replayed, transform(images, labels, key=key))
    assert_same((transform.apply(images, params), transform.report(labels, params)), replayed)


@each_transform
def test_input_is_left_as_it_was(transform):
    images = pictures()
    keyed(transform, images, torch.arange(12), torch.arange(12))
    assert torch.equal(images, pictures())


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


@each_transform
def test_an_image_stays_a_torchvision_image(transform):
    plain, labels, index = pictures(), torch.arange(12), torch.arange(12)
    out, label = keyed(transform, tv_tensors.Image(plain), labels, index)
    assert type(out) is tv_tensors.Image
    assert type(label.retained) is torch.Tensor
    assert torch.equal(out.as_subclass(torch.Tensor), keyed(transform, plain, labels, index)[0])


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
