"""Common corruptions against references, their strengths, and what their draws depend on."""

import colorsys
import io

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from softaug import DrawKey
from softaug.metrics import COMMON_CORRUPTIONS, corrupt

FIXED = {"defocus-blur", "zoom-blur", "brightness", "contrast", "pixelate", "jpeg"}
EACH = pytest.mark.parametrize("kind", COMMON_CORRUPTIONS)


def seeded(seed=1):
    return torch.Generator().manual_seed(seed)


def make_smooth(num=8, edge=32):
    """Colored clouds: as in photographs, neighbors are alike."""
    coarse = 255 * torch.rand(num, 3, 6, 6, generator=seeded(0))
    images = F.interpolate(coarse, size=(edge, edge), mode="bicubic")
    return images.clamp(0, 255).to(torch.uint8)


@EACH
def test_a_higher_severity_changes_more(kind):
    images = make_smooth()
    changes = [
        float((corrupt(images, kind, severity, seeded()).float() - images).abs().mean())
        for severity in (1, 3, 5)
    ]
    assert 0.5 < changes[0] < changes[1] < changes[2] < 64


@EACH
def test_draws_are_each_image_s_own_and_those_of_a_key_in_any_batch(kind, monkeypatch):
    images = make_smooth(1).expand(5, -1, -1, -1)
    key = DrawKey(3, 1, torch.arange(5))
    together = corrupt(images, kind, 4, key=key)
    assert (together.dtype, together.shape) == (torch.uint8, images.shape)
    assert (len(together.flatten(1).unique(dim=0)) == 1) == (kind in FIXED)
    alone = corrupt(images[3], kind, 4, key=DrawKey(3, 1, 3))
    assert (alone.int() - together[3].int()).abs().max() <= 1, "sums of another order"
    monkeypatch.setattr("softaug.metrics.common_corruptions._CHUNK_PIXELS", 2 * 32 * 32)
    assert (corrupt(images, kind, 4, key=key).int() - together.int()).abs().max() <= 1
    small = corrupt(images[..., :20, :28], kind, 2, seeded())
    assert small.equal(corrupt(images[..., :20, :28], kind, 2, seeded()))


@pytest.mark.parametrize(("severity", "quality"), [(1, 80), (2, 65), (3, 50), (5, 28)])
def test_jpeg_is_that_of_pillow(severity, quality):
    image = make_smooth(1)[0]
    file = io.BytesIO()
    pixels = image.permute(1, 2, 0).numpy()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality, subsampling="4:2:0")
    expected = torch.from_numpy(np.array(Image.open(file))).permute(2, 0, 1)
    found = corrupt(image, "jpeg", severity)
    loss = (expected.float() - image).abs().mean()
    assert float((found.float() - expected).abs().mean()) < 0.3 * loss


def test_brightness_adds_to_the_value_of_hue_saturation_and_value():
    image = make_smooth(1, 8)[0]
    found = corrupt(image, "brightness", 3).permute(1, 2, 0).reshape(-1, 3)
    for before, after in zip(image.permute(1, 2, 0).reshape(-1, 3), found, strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*(before / 255).tolist())
        expected = colorsys.hsv_to_rgb(hue, saturation, min(1.0, value + 0.15))
        assert after.tolist() == pytest.approx([255 * part for part in expected], abs=0.51)


def test_contrast_and_pixelate_worked_out_by_hand():
    steps = torch.tensor([0, 40, 80, 120], dtype=torch.uint8).expand(3, 4, 4)
    # the mean is 60; a share of 0.4 of each difference is left
    assert corrupt(steps, "contrast", 3)[0, 0].tolist() == [36, 52, 68, 84]
    # 0.45 of 4 pixels: two cells of two
    assert corrupt(steps, "pixelate", 5)[0, 0].tolist() == [20, 20, 100, 100]


GRAY = torch.full((40, 3, 32, 32), 128, dtype=torch.uint8)


def test_noises_have_their_distribution():
    gaussian = corrupt(GRAY, "gaussian-noise", 3, seeded()).double() - 128
    assert float(gaussian.std()) / 255 == pytest.approx(0.08, rel=0.02)
    shot = corrupt(GRAY, "shot-noise", 3, seeded()).double() / 255
    assert float(shot.mean()) == pytest.approx(128 / 255, abs=0.002)
    assert float(shot.var()) == pytest.approx(128 / 255 / 100, rel=0.05), "as Poisson's: the mean"
    impulse = corrupt(GRAY, "impulse-noise", 4, seeded())
    for value in (0, 255):
        assert float((impulse == value).double().mean()) == pytest.approx(0.025, rel=0.05)


@pytest.mark.parametrize("kind", ["defocus-blur", "glass-blur", "motion-blur", "zoom-blur"])
def test_blurs_leave_a_plain_area_and_spread_a_point(kind):
    assert corrupt(GRAY, kind, 5, seeded()).equal(GRAY)
    points = torch.zeros(200, 3, 33, 33, dtype=torch.uint8)
    points[..., 16, 16] = 255
    result = corrupt(points, kind, 3, seeded()).double()
    light = float(result.mean(0).sum()) / (3 * 255)
    assert 0.9 < light < (1.4 if kind == "zoom-blur" else 1.1)
    lit = (result > 0).sum((1, 2, 3)) / 3
    assert float(lit[lit > 0].min()) > 2


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"images": GRAY.float()}, r"images must be uint8 \[3, H, W\] or \[B, 3, H, W\]"),
        ({"images": GRAY[:, :1]}, "images must be uint8"),
        ({"kind": "snowy"}, r"kind must be one of .*did you mean 'snow'"),
        ({"severity": 0}, "severity must be a whole number >= 1"),
        ({"severity": 6}, "severity must be at most 5, got 6"),
    ],
)
def test_bad_input_is_refused(change, rule):
    with pytest.raises(ValueError, match=f"corrupt: {rule}"):
        corrupt(**{"images": GRAY, "kind": "snow", "severity": 1, **change})
