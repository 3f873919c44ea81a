"""What every transform must do, whichever it is: a new one is added to TRANSFORMS."""

import pytest
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

from softaug import (
    DrawKey,
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
    UniformCrop,
    UniformResizedCrop,
)
from softaug.transforms import ColorJitter, HorizontalFlip, Mixture, PerSample, Uniform
from softaug.transforms.curves import NAIVE, Curve
from tests.transforms.pictures import DTYPES, pictures

PER_CLASS = {**NAIVE, "color": Curve("strength", 1.0, (1.0,) * 12)}
TRANSFORMS = {
    "SoftCrop": SoftCrop(),
    "SoftCrop by class": SoftCrop(0.2, (1.5,) * 12, "mean"),
    "SoftCrop by law": SoftCrop(Uniform(0.3)),
    "UniformCrop": UniformCrop(2),
    "SoftErase": SoftErase(),
    "SoftCutout": SoftCutout(3),
    "SoftNoise": SoftNoise(noise_sd=1.0),
    "SoftAffine": SoftAffine(60, (0.2, 0.2)),
    "trivial": SoftPolicy(),
    "rand": SoftPolicy("rand", 2, 15, curves=PER_CLASS),
    "SoftResizedCrop": SoftResizedCrop(8),
    "SoftResizedCrop by law": SoftResizedCrop(8, Mixture(0.0, 0.3)),
    "UniformResizedCrop": UniformResizedCrop(8),
    "HorizontalFlip": HorizontalFlip(),
    "ColorJitter": ColorJitter(),
    "PerSample": PerSample(v2.RandomErasing(p=1)),
}
HARD = ("HorizontalFlip", "ColorJitter", "PerSample")  # they report 1 for every image
INDEX = torch.arange(12)
each_transform = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)


def keyed(transform, images, labels, index):
    return transform(images, labels, key=DrawKey(3, 1, index))


def assert_same(found, expected):
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1].label, expected[1].label)
    assert torch.equal(found[1].retained, expected[1].retained)


def in_parts(transform, sizes):
    """The twelve pictures in batches of these sizes, joined again."""
    parts = zip(*(values.split(sizes) for values in (pictures(), INDEX, INDEX)), strict=True)
    done = [keyed(transform, *part) for part in parts]
    labels = [torch.cat(part) for part in zip(*(label for _, label in done), strict=True)]
    return torch.cat([images for images, _ in done]), SoftLabel(*labels)


@each_transform
def test_a_key_gives_the_same_result_in_any_batch_split(transform):
    torch.manual_seed(1)
    before, whole = torch.get_rng_state(), keyed(transform, pictures(), INDEX, INDEX)
    for sizes in ([1] * 12, [5, 7]):
        assert_same(in_parts(transform, sizes), whole)
    image, label = keyed(transform, pictures()[7], 7, 7)  # one by itself
    assert torch.equal(image, whole[0][7])
    assert (type(label.label), type(label.retained), label.label) == (int, float, 7)
    assert label.retained == pytest.approx(whole[1].retained[7].item(), abs=1e-7)
    assert torch.equal(torch.get_rng_state(), before)  # torch's own generator is left alone


@each_transform
def test_parameters_are_drawn_for_each_sample_and_each_key(transform):
    same, labels = pictures(1).expand(40, 3, 8, 10), torch.zeros(40).long()
    key = DrawKey(3, 1, torch.arange(40))
    image, label = transform(same, labels, key=key)
    assert image.unique(dim=0).shape[0] > 1
    hard = any(transform is TRANSFORMS[name] for name in HARD)
    assert (label.retained.unique().numel() == 1) == hard
    for change in ("seed", "epoch", "stream"):
        other, other_label = transform(same, labels, key=key._replace(**{change: 2}))
        assert not torch.equal(other, image)
        assert torch.equal(other_label.retained, label.retained) == hard


@each_transform
def test_generators_of_the_same_state_give_the_same_result(transform):
    states = [torch.Generator().manual_seed(4) for _ in range(2)]
    first, second = (transform(pictures(), INDEX, generator=state) for state in states)
    assert_same(first, second)
    assert not torch.equal(first[0], transform(pictures(), INDEX, generator=states[0])[0])
    torch.manual_seed(6)
    third = transform(pictures(), INDEX)
    torch.manual_seed(6)
    assert_same(transform(pictures(), INDEX), third)


@each_transform
def test_drawn_parameters_replay_the_call_and_leave_the_input_alone(transform):
    images, key = pictures(), DrawKey(3, 1, INDEX)
    params = transform.draw(images, key=key)
    for _ in range(2):
        replayed = transform.apply(images, params), transform.report(INDEX, params)
        assert_same(replayed, transform(images, INDEX, key=key))
    assert torch.equal(images, pictures())


@each_transform
def test_images_keep_their_type_in_any_memory_layout(transform):
    for dtype in DTYPES:
        plain = (pictures() / 255).to(dtype) if dtype.is_floating_point else pictures()
        expected = keyed(transform, plain, INDEX, INDEX)
        assert (expected[0].dtype, len(expected[0])) == (dtype, 12)
        wide = torch.zeros(12, 3, 8, 20, dtype=dtype)
        wide[..., ::2] = plain
        turned = plain.transpose(2, 3).contiguous().transpose(2, 3)
        for images in (plain.to(memory_format=torch.channels_last), turned, wide[..., ::2]):
            found = keyed(transform, images, INDEX, INDEX)
            torch.testing.assert_close(found[0], expected[0])
            assert torch.equal(found[1].retained, expected[1].retained)


@each_transform
def test_an_image_stays_a_torchvision_image(transform):
    out, label = keyed(transform, tv_tensors.Image(pictures()), INDEX, INDEX)
    assert (type(out), type(label.retained)) == (tv_tensors.Image, torch.Tensor)
    plain, _ = keyed(transform, pictures(), INDEX, INDEX)
    assert torch.equal(out.as_subclass(torch.Tensor), plain)


@each_transform
def test_a_soft_label_that_comes_in_is_multiplied(transform):
    _, alone = keyed(transform, pictures(), INDEX, INDEX)
    _, both = keyed(transform, pictures(), SoftLabel(INDEX, torch.full((12,), 0.5)), INDEX)
    torch.testing.assert_close(both.retained, alone.retained * 0.5)
    assert torch.equal(both.label, INDEX)


@each_transform
def test_probabilities_travel_as_class_indices_do(transform):
    if "k=(1.5" in repr(transform) or transform is TRANSFORMS["rand"]:
        with pytest.raises(ValueError, match="must be integers"):
            keyed(transform, pictures(), torch.eye(12), INDEX)
        return
    images, label = keyed(transform, pictures(), torch.eye(12), INDEX)
    expected, classes = keyed(transform, pictures(), INDEX, INDEX)
    assert torch.equal(images, expected)
    assert torch.equal(label.label, torch.eye(12))
    assert torch.equal(label.retained, classes.retained)
    _, one = keyed(transform, pictures()[7], torch.eye(12)[7], 7)
    assert torch.equal(one.label, torch.eye(12)[7])
    assert one.retained == pytest.approx(classes.retained[7].item(), abs=1e-7)


@each_transform
def test_the_repr_shows_every_setting(transform):
    hidden = {"training", "k"} if isinstance(transform, SoftPolicy) else {"training"}
    names = [name for name in vars(transform) if name[0] != "_" and name not in hidden]
    shown = repr(transform)
    assert all(f"{name}=" in shown for name in names if getattr(transform, name) is not None)


@each_transform
def test_boxes_masks_and_mappings_are_refused_with_a_remedy(transform):
    boxes = tv_tensors.BoundingBoxes(torch.ones(1, 4), format="XYXY", canvas_size=(8, 10))
    mask, image = tv_tensors.Mask(torch.zeros(1, 8, 10)), pictures()[0]
    remedy = r"boxes and masks would stay behind.*t\.draw\(images\)"
    for call in [
        (image, 3, boxes),
        ((image, 3, mask),),
        (image, boxes),
        (image, {"boxes": boxes}),
        (mask, 3),
    ]:
        with pytest.raises(ValueError, match=remedy):
            transform(*call)
