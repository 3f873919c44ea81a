"""Colours jittered: torchvision's operations, each image's own order, its law, its refusals."""

import itertools
import math

import pytest
import torch
from torchvision.transforms.v2 import functional as theirs

from softaug import DrawKey
from softaug.transforms import ColorJitter
from softaug.transforms import operations as chosen
from softaug.transforms.color_jitter import ADJUST
from softaug.transforms.photometric import adjust_brightness, adjust_contrast, adjust_saturation

THEIRS = (
    theirs.adjust_brightness,
    theirs.adjust_contrast,
    theirs.adjust_saturation,
    theirs.adjust_hue,
)


def pictures(num=80, channels=3):
    """Noise that is dull in every second image, so that it is not all cut at black and white."""
    generator = torch.Generator().manual_seed(0)
    shape = (num, channels, 12, 10)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    images[::2] = images[::2] // 3 + 80
    return images


def key(num=80, epoch=0):
    return DrawKey(0, epoch, torch.arange(num))


@pytest.mark.parametrize(
    ("ours", "peer"),
    list(zip((adjust_brightness, adjust_contrast, adjust_saturation), THEIRS[:3], strict=True)),
    ids=lambda function: function.__name__,
)
def test_each_adjustment_gives_torchvisions_pixels(ours, peer):
    images, factor = pictures(), torch.linspace(0, 2, 80, dtype=torch.float64)
    pairs = zip(images, factor.tolist(), strict=True)
    assert torch.equal(ours(images, factor), torch.stack([peer(i, f) for i, f in pairs]))


def one_by_one(images, params, adjust):
    """Each image by itself: its adjustments in its order, then gray."""
    out = []
    for image, amount, order, jittered, gray, _ in zip(images, *params, strict=True):
        for index in order.tolist() if jittered else ():
            image = adjust(index, image, amount[index])
        out.append(theirs.rgb_to_grayscale(image, 3) if gray else image)
    return torch.stack(out)


def test_each_image_has_its_adjustments_in_its_own_order():
    images, jitter = pictures(), ColorJitter()
    params = jitter.draw(images, key=key())
    expected = one_by_one(images, params, lambda i, x, a: ADJUST[i](x[None], a[None])[0])
    assert torch.equal(jitter.apply(images, params), expected)


def test_four_in_a_row_are_torchvisions_but_for_rounding():
    images, jitter = pictures(), ColorJitter()
    params = jitter.draw(images, key=key())
    expected = one_by_one(images, params, lambda i, x, a: THEIRS[i](x, float(a)))
    away = (jitter.apply(images, params).int() - expected.int()).abs()
    assert int(away.max()) <= 3  # a gray level of the hue, then more contrast
    assert float((away > 0).double().mean()) < 0.01


def test_rows_and_masks_give_the_same_pixels(monkeypatch):
    images, jitter = pictures(), ColorJitter()
    params = jitter.draw(images, key=key())
    rows = jitter.apply(images, params)
    monkeypatch.setattr(chosen, "eager_on_cpu", lambda images: False)
    assert torch.equal(jitter.apply(images, params), rows)


def test_images_that_are_not_drawn_stay_as_they_are():
    images, jitter = pictures(), ColorJitter(p=0.5, gray_p=0.0)
    params = jitter.draw(images, key=key())
    out = jitter.apply(images, params)
    assert 0 < int(params.jittered.sum()) < 80
    assert torch.equal(out[~params.jittered], images[~params.jittered])
    changed = (out != images).flatten(1).any(1)
    assert torch.equal(changed, params.jittered)


def test_the_ends_of_grey_p_make_none_and_all_grey():
    images = pictures()
    none = ColorJitter(p=0.0, gray_p=0.0)(images, torch.arange(80))[0]
    gray = ColorJitter(p=0.0, gray_p=1.0)(images, torch.arange(80))[0]
    assert torch.equal(none, images)
    assert torch.equal(gray, theirs.rgb_to_grayscale(images, 3))


def test_widths_of_0_change_nothing():
    images = pictures()
    out, _ = ColorJitter(0, 0, 0, 0, p=1.0, gray_p=0.0)(images, torch.arange(80))
    assert torch.equal(out, images)


def test_amounts_are_even_within_their_widths():
    jitter = ColorJitter(0.4, 0.3, 1.5, 0.1)
    amount = jitter.draw(torch.zeros(40_000, 1, 1, 1), key=key(40_000)).amount
    ends = torch.tensor([[0.6, 0.7, 0.0, -0.1], [1.4, 1.3, 2.5, 0.1]]).double()
    low, high = ends
    torch.testing.assert_close(
        torch.stack([amount.amin(0), amount.amax(0)]), ends, atol=2e-3, rtol=0
    )
    unit = (amount - low) / (high - low)
    assert float((unit.mean(0) - 0.5).abs().max()) < 4 * (1 / 12 / 40_000) ** 0.5
    assert float((unit.var(0) - 1 / 12).abs().max()) < 0.003


def test_every_order_is_equally_likely():
    order = ColorJitter().draw(torch.zeros(24_000, 1, 1, 1), key=key(24_000)).order
    found, counts = order.unique(dim=0, return_counts=True)
    assert [tuple(row) for row in found.tolist()] == sorted(itertools.permutations(range(4)))
    assert float((counts - 1000).abs().max()) < 5 * 1000**0.5


def test_shares_of_jittered_and_grey_images_are_p_and_grey_p():
    params = ColorJitter(p=0.8, gray_p=0.2).draw(torch.zeros(40_000, 1, 1, 1), key=key(40_000))
    assert float(params.jittered.double().mean()) == pytest.approx(0.8, abs=0.008)
    assert float(params.gray.double().mean()) == pytest.approx(0.2, abs=0.008)
    both = float((params.jittered & params.gray).double().mean())
    assert both == pytest.approx(0.16, abs=0.008)


def test_grey_images_and_labels_pass():
    images = pictures(channels=1)
    out, label = ColorJitter(0, 0, 0.4, 0.1, p=1.0, gray_p=1.0)(images, torch.arange(80))
    assert torch.equal(out, images)  # one channel has neither saturation nor hue
    assert label.retained.tolist() == [1.0] * 80


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"brightness": -0.1}, "brightness must be a finite number >= 0, got float -0.1"),
        ({"contrast": math.inf}, "contrast must be a finite number >= 0, got float inf"),
        ({"saturation": "0.4"}, "saturation must be a finite number >= 0, got str 0.4"),
        ({"hue": 0.6}, r"hue must be a number in 0\.\.0.5, got float 0.6"),
        ({"p": 1.1}, r"p must be a number in 0\.\.1"),
        ({"gray_p": True}, r"gray_p must be a number in 0\.\.1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(ValueError, match=f"ColorJitter: {message}"):
        ColorJitter(**settings)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (torch.zeros(2, 4, 8, 8), "1 or 3 channels"),
        (torch.full((2, 3, 8, 8), -2.0), r"float images must be in 0\.\.1"),
    ],
)
def test_images_that_are_no_pictures_are_refused(images, message):
    with pytest.raises(ValueError, match=f"ColorJitter: .*{message}"):
        ColorJitter()(images, torch.arange(2))
