import pytest
import torch
from torchvision import tv_tensors

from softaug import DrawKey, SoftCrop, SoftLabel
from softaug.transforms import HorizontalFlip

LABELS = torch.arange(12)


def pictures(num=12):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (num, 3, 6, 5), generator=generator, dtype=torch.uint8)


def key(index=LABELS, epoch=1):
    return DrawKey(3, epoch, index)


def test_each_image_is_flipped_or_left_alone():
    flip, images = HorizontalFlip(), pictures()
    out, _ = flip(images, LABELS, key=key())
    flipped = flip.draw(images, key=key()).flipped
    assert 0 < int(flipped.sum()) < 12
    assert torch.equal(out[flipped], images[flipped].flip(-1))
    assert torch.equal(out[~flipped], images[~flipped])


def test_the_ends_of_p_flip_none_and_all():
    images = pictures()
    assert torch.equal(HorizontalFlip(0.0)(images, LABELS)[0], images)
    assert torch.equal(HorizontalFlip(1.0)(images, LABELS)[0], images.flip(-1))


@pytest.mark.parametrize("p", [0.5, 0.1])
def test_the_share_of_flips_is_p(p):
    images = torch.zeros(20_000, 1, 1, 1)
    share = HorizontalFlip(p).draw(images, key=key(torch.arange(20_000))).flipped.double().mean()
    assert float(share) == pytest.approx(p, abs=4 * (p * (1 - p) / 20_000) ** 0.5)


@pytest.mark.parametrize("sizes", [[1] * 12, [5, 7]], ids=str)
def test_a_key_gives_the_same_flips_in_any_batch(sizes):
    flip, images, place = HorizontalFlip(), pictures(), torch.randperm(12)
    whole = flip(images, LABELS, key=key())[0][place]
    parts = zip(images[place].split(sizes), LABELS[place].split(sizes), strict=True)
    assert torch.equal(torch.cat([flip(i, n, key=key(n))[0] for i, n in parts]), whole)


def test_another_epoch_flips_others():
    draws = [HorizontalFlip().draw(pictures(), key=key(epoch=e)).flipped for e in range(3)]
    assert len({tuple(draw.tolist()) for draw in draws}) == 3


def test_a_key_leaves_torchs_generator_alone():
    before = torch.get_rng_state()
    HorizontalFlip()(pictures(), LABELS, key=key())
    assert torch.equal(torch.get_rng_state(), before)


def test_drawn_parameters_replay_the_call():
    flip, images = HorizontalFlip(), pictures()
    params = flip.draw(images, key=key())
    assert torch.equal(flip.apply(images, params), flip(images, LABELS, key=key())[0])
    assert torch.equal(flip.apply(flip.apply(images, params), params), images)


def test_labels_stay_as_they_come():
    soft = SoftLabel(LABELS, torch.linspace(0, 1, 12))
    _, out = HorizontalFlip()(pictures(), soft, key=key())
    assert torch.equal(out.retained, soft.retained)
    _, plain = HorizontalFlip()(pictures(), LABELS, key=key())
    assert plain.retained.tolist() == [1.0] * 12


def test_before_a_crop_it_does_not_soften():
    flipped, label = HorizontalFlip()(pictures(), LABELS, key=key())
    both = SoftCrop()(flipped, label, key=key())[1]
    assert torch.equal(both.retained, SoftCrop()(pictures(), LABELS, key=key())[1].retained)


def test_one_image_gives_what_it_gives_in_a_batch():
    flip, images = HorizontalFlip(), pictures()
    whole = flip(images, LABELS, key=key())[0]
    for place in range(12):
        image, label = flip(images[place], 7, key=key(place))
        assert torch.equal(image, whole[place])
        assert label == SoftLabel(7, 1.0)


def test_float_images_and_torchvision_images_are_flipped_alike():
    out, _ = HorizontalFlip(1.0)(pictures().float(), LABELS)
    assert torch.equal(out, pictures().flip(-1).float())
    image, _ = HorizontalFlip(1.0)(tv_tensors.Image(pictures()), LABELS)
    assert type(image) is tv_tensors.Image


@pytest.mark.parametrize("p", [-0.1, 1.1, "half", True])
def test_a_p_that_is_no_share_is_refused(p):
    with pytest.raises(ValueError, match=r"HorizontalFlip: p must be a number in 0\.\.1, got"):
        HorizontalFlip(p)
