import pytest
import torch

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


@pytest.mark.parametrize("p", [-0.1, 1.1, "half", True])
def test_a_p_that_is_no_share_is_refused(p):
    with pytest.raises(ValueError, match=r"HorizontalFlip: p must be a number in 0\.\.1, got"):
        HorizontalFlip(p)
