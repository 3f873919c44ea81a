import math

import pytest
import torch
from torch import Tensor

from softaug.metrics import add_noise, occlude, shift_images


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def bounds(mask: Tensor) -> tuple[int, int, int, int]:
    """The rectangle [H, W] that was hidden, which must be solid."""
    rows, columns = mask.any(1).nonzero().flatten(), mask.any(0).nonzero().flatten()
    found = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    assert int(mask.sum()) == (found[1] - found[0]) * (found[3] - found[2])
    return found


@pytest.mark.parametrize("fraction", [0.04, 0.4, 0.8, 1.0])
def test_occlusion_hides_one_square_of_the_area_in_every_channel(fraction) -> None:
    hidden = occlude(torch.ones(50, 3, 20, 20), fraction) == 0
    assert bool((hidden == hidden[:, :1]).all())
    for mask in hidden[:, 0]:
        top, bottom, left, right = bounds(mask)
        assert bottom - top == right - left == round((fraction * 400) ** 0.5)


@pytest.mark.parametrize(("height", "width"), [(10, 40), (40, 10)])
def test_where_no_square_fits_the_full_short_side_is_hidden(height, width) -> None:
    for mask in occlude(torch.ones(20, 1, height, width), 0.5)[:, 0] == 0:
        top, bottom, left, right = bounds(mask)
        assert sorted((bottom - top, right - left)) == [10, 20]


def test_every_place_is_equally_likely() -> None:
    hidden = occlude(torch.ones(9000, 1, 4, 4), 0.25, generator=seeded())[:, 0] == 0
    corners = hidden.flatten(1).int().argmax(1)  # the first hidden pixel
    counts = [int((corners == 4 * top + left).sum()) for top in range(3) for left in range(3)]
    assert sum(counts) == 9000
    assert all(abs(count - 1000) < 120 for count in counts)  # 4 sd


def find_offset(image):
    """The shift of an image of distinct positive numbers, from any pixel that is left."""
    width = image.shape[1]
    y, x = (int(place) for place in image.nonzero()[0])
    source = int(image[y, x]) - 1
    return source % width - x, source // width - y


@pytest.mark.parametrize("share", [0.05, 0.5, 0.77, 1.0])
@pytest.mark.parametrize(("height", "width"), [(32, 32), (9, 30), (30, 9)])
def test_a_shift_leaves_its_share_to_half_a_row(share, height, width) -> None:
    left = shift_images(torch.ones(200, 1, height, width), share, seeded()).double().mean((1, 2, 3))
    assert float((left - share).abs().max()) <= 0.5 / height + 1e-9


def test_each_output_is_a_plain_shift_of_its_image() -> None:
    images = (torch.arange(8 * 10).view(1, 1, 8, 10) + 1.0).repeat(50, 1, 1, 1)
    for image, out in zip(images[:, 0], shift_images(images, 0.4, seeded())[:, 0], strict=True):
        dx, dy = find_offset(out)
        slow = torch.zeros_like(image)
        for y in range(8):
            for x in range(10):
                if 0 <= y + dy < 8 and 0 <= x + dx < 10:
                    slow[y, x] = image[y + dy, x + dx]
        assert torch.equal(out, slow)


def test_directions_are_all_and_even() -> None:
    images = (torch.arange(32 * 32).view(1, 1, 32, 32) + 1.0).repeat(1000, 1, 1, 1)
    offsets = torch.tensor([find_offset(out[0]) for out in shift_images(images, 0.5, seeded())])
    signs = (offsets > 0).double().mean(0)
    assert bool(((signs - 0.5).abs() < 0.08).all())  # some are 0
    across, down = offsets.abs().double().mean(0).tolist()
    assert across == pytest.approx(down, rel=0.1)
    assert (int(offsets[:, 0].abs().max()), int(offsets[:, 0].abs().min())) == (16, 0)


@pytest.mark.parametrize("sd", [0.05, 0.3])
def test_noise_is_normal_with_this_sd(sd) -> None:
    added = add_noise(torch.zeros(40, 3, 32, 32), sd, seeded()) / sd
    assert float(added.mean()) == pytest.approx(0, abs=0.012)  # 4 s.e.
    assert float(added.std()) == pytest.approx(1, abs=0.009)
    assert float((added.abs() < 1.96).double().mean()) == pytest.approx(0.95, abs=0.003)


def test_noise_of_bytes_is_in_gray_levels_rounded_and_clamped() -> None:
    gray = torch.full((20, 3, 32, 32), 128, dtype=torch.uint8)
    added = add_noise(gray, 0.04, seeded()).double() - 128
    assert float(added.std()) == pytest.approx(math.sqrt(10.2**2 + 1 / 12), rel=0.02)
    black = add_noise(torch.zeros_like(gray), 0.04, seeded())
    assert float((black == 0).double().mean()) == pytest.approx(0.52, abs=0.01)


def test_noise_differs_by_sample_and_pixel_and_not_by_chunk(monkeypatch) -> None:
    images = torch.zeros(3, 3, 16, 16)
    first = add_noise(images, 0.1, seeded(1))
    flat = first.flatten(1)
    assert float(torch.corrcoef(flat)[0, 1].abs()) < 0.15
    assert len(flat[0].unique()) > 700
    monkeypatch.setattr("softaug.metrics.corruptions._CHUNK", 2)
    assert torch.equal(add_noise(images, 0.1, seeded(1)), first)


ALL = pytest.mark.parametrize("function", [occlude, shift_images, add_noise])


@ALL
def test_draws_differ_by_sample_repeat_with_the_seed_and_one_image_is_a_batch_of_one(function):
    images = torch.rand(30, 3, 16, 16)
    first, again, other = (function(images, 0.3, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    alike = function(images[:1].expand(30, -1, -1, -1), 0.3, seeded(1))
    assert len({tuple(image.flatten().tolist()) for image in alike}) > 5
    one = function(images[0], 0.3, seeded(5))
    assert torch.equal(one, function(images[:1], 0.3, seeded(5))[0])


@ALL
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float64])
def test_type_is_kept_and_the_input_not_changed(function, dtype) -> None:
    images = torch.full((4, 3, 8, 8), 7, dtype=dtype)
    assert function(images, 0.5, seeded()).dtype == dtype
    assert bool((images == 7).all())


def test_none_and_all_and_a_fill_for_each_channel() -> None:
    images = torch.rand(4, 3, 9, 7)
    for same in (occlude(images, 0.0), shift_images(images, 1.0), add_noise(images, 0)):
        assert torch.equal(same, images)
    for gone in (occlude(images, 1.0, fill=(1, 2, 3)), shift_images(images, 0.0, fill=(1, 2, 3))):
        assert bool((gone == torch.tensor([1, 2, 3])[:, None, None]).all())


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (occlude, r"fraction must be a number in 0\.\.1"),
        (shift_images, r"visible_share must be a number in 0\.\.1"),
        (add_noise, "sd must be a finite number >= 0"),
    ],
)
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, "half", True, None])
def test_a_bad_strength_is_refused(function, rule, value) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: {rule}"):
        function(torch.ones(1, 4, 4), value)


@ALL
@pytest.mark.parametrize("images", [torch.ones(4, 4), torch.ones(0, 1, 4, 4), [1]])
def test_bad_images_are_refused(function, images) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: images must"):
        function(images, 0.5)


@pytest.mark.parametrize("function", [occlude, shift_images])
@pytest.mark.parametrize("fill", ["black", (1, 2)])
def test_bad_fill_is_refused_by_name(function, fill) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: fill must be"):
        function(torch.ones(3, 4, 4), 0.5, fill=fill)
