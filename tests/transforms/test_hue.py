import colorsys

import pytest
import torch
from torchvision.transforms.v2 import functional as theirs

from softaug.transforms.color_jitter import adjust_hue

TURNS = torch.linspace(-0.5, 0.5, 41, dtype=torch.float64)


def pictures(num=41):
    """Noise, with greys, pure colours and black among it."""
    images = torch.randint(
        0, 256, (num, 3, 8, 9), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    images[:, :, 0] = images[:, :1, 0]
    images[:, :, 1, :3] = 255 * torch.eye(3, dtype=torch.uint8)
    images[:, :, 2] = 0
    return images


def test_pixels_are_torchvisions_to_a_grey_level():
    images = pictures()
    pairs = zip(images, TURNS.tolist(), strict=True)
    expected = torch.stack([theirs.adjust_hue(image, turn) for image, turn in pairs])
    away = (adjust_hue(images, TURNS).int() - expected.int()).abs()
    assert int(away.max()) <= 1
    assert float((away > 0).double().mean()) < 0.01  # where rounding decides


def test_each_pixel_is_what_pythons_colorsys_says():
    images, turns = pictures(3).double() / 255, torch.tensor([0.1, -0.3, 0.5]).double()
    expected = torch.empty_like(images)
    for image, out, turn in zip(images, expected, turns.tolist(), strict=True):
        for y in range(8):
            for x in range(9):
                hue, saturation, value = colorsys.rgb_to_hsv(*image[:, y, x].tolist())
                new = colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)
                out[:, y, x] = torch.tensor(new)
    torch.testing.assert_close(adjust_hue(images, turns), expected)


def test_a_third_of_a_circle_turns_red_into_green_and_green_into_blue():
    colours = 200 * torch.eye(3).view(1, 3, 1, 3)
    found = adjust_hue(colours / 255, torch.tensor([1 / 3])) * 255
    torch.testing.assert_close(found, colours.roll(1, dims=1))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32])
def test_no_turn_and_greys_stay_as_they_are(dtype):
    images = pictures() if dtype == torch.uint8 else (pictures() / 255).to(dtype)
    found = adjust_hue(images, torch.zeros(41))
    assert found.dtype == dtype
    torch.testing.assert_close(found, images, atol=1 if dtype == torch.uint8 else 1e-3, rtol=0)
    greys = images[:, :, [0, 2]]
    assert torch.equal(adjust_hue(greys, TURNS), greys)


def test_one_channel_has_no_hue():
    images = pictures()[:, :1]
    assert adjust_hue(images, TURNS) is images
