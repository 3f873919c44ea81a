import math

import pytest
import torch

from softaug.metrics import add_noise, shift_images


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def find_offset(image):
    """The shift of an image of distinct positive numbers, from any pixel that is left."""
    width = image.shape[1]
    y, x = (int(place) for place in image.nonzero()[0])
    source = int(image[y, x]) - 1
    return source % width - x, source // width - y


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.77, 0.9, 1.0])
@pytest.mark.parametrize(("height", "width"), [(32, 32), (9, 30), (30, 9)])
def test_the_share_is_left_to_half_a_row(share, height, width) -> None:
    out = shift_images(torch.ones(200, 1, height, width), share, seeded())
    left = out.double().mean((1, 2, 3))
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


def test_all_and_none_left() -> None:
    images = torch.rand(5, 3, 12, 7) + 0.1
    assert torch.equal(shift_images(images, 1.0), images)
    assert bool((shift_images(images, 0.0, fill=0.5) == 0.5).all())


def test_samples_move_apart_and_repeat_with_the_seed() -> None:
    images = torch.ones(30, 1, 16, 16)
    first, again, other = (shift_images(images, 0.3, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(image.flatten().tolist()) for image in first}) > 5


@pytest.mark.parametrize("function", [shift_images, add_noise])
def test_one_image_is_a_batch_of_one(function) -> None:
    image = torch.rand(3, 12, 10)
    one, batch = function(image, 0.3, seeded(5)), function(image[None], 0.3, seeded(5))
    assert one.shape == image.shape
    assert torch.equal(one, batch[0])


@pytest.mark.parametrize("function", [shift_images, add_noise])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64])
def test_type_is_kept_and_the_input_not_changed(function, dtype) -> None:
    images = torch.full((4, 3, 8, 8), 7, dtype=dtype)
    assert function(images, 0.5, seeded()).dtype == dtype
    assert bool((images == 7).all())


def test_fill_is_one_for_each_channel() -> None:
    out = shift_images(torch.zeros(1, 3, 4, 4, dtype=torch.uint8), 0.0, fill=(1, 2, 3))
    assert out[0, :, 0, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("sd", [0.05, 0.3])
def test_noise_is_normal_with_this_sd(sd) -> None:
    added = add_noise(torch.zeros(40, 3, 32, 32), sd, seeded()) / sd
    assert float(added.mean()) == pytest.approx(0, abs=0.012)  # 4 s.e.
    assert float(added.std()) == pytest.approx(1, abs=0.009)
    assert float((added.abs() < 1.96).double().mean()) == pytest.approx(0.95, abs=0.003)


def test_noise_of_bytes_is_in_grey_levels_rounded_and_clamped() -> None:
    grey = torch.full((20, 3, 32, 32), 128, dtype=torch.uint8)
    added = add_noise(grey, 0.04, seeded()).double() - 128
    assert float(added.std()) == pytest.approx(math.sqrt(10.2**2 + 1 / 12), rel=0.02)
    black = add_noise(torch.zeros_like(grey), 0.04, seeded())
    assert float((black == 0).double().mean()) == pytest.approx(0.52, abs=0.01)


def test_noise_differs_by_sample_and_pixel_and_repeats_with_the_seed() -> None:
    images = torch.zeros(3, 3, 16, 16)
    first, again, other = (add_noise(images, 0.1, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    flat = first.flatten(1)
    assert float(torch.corrcoef(flat)[0, 1].abs()) < 0.15
    assert len(flat[0].unique()) > 700


def test_noise_does_not_depend_on_the_chunks(monkeypatch) -> None:
    images = torch.rand(10, 1, 6, 6)
    whole = add_noise(images, 0.2, seeded())
    monkeypatch.setattr("softaug.metrics.corruptions._CHUNK", 3)
    assert torch.equal(add_noise(images, 0.2, seeded()), whole)


def test_no_noise_changes_nothing() -> None:
    images = torch.rand(3, 1, 6, 6)
    assert torch.equal(add_noise(images, 0), images)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, "half", True, None])
def test_bad_share_is_refused(share) -> None:
    with pytest.raises(ValueError, match=r"shift_images: visible_share must be a number in 0\.\.1"):
        shift_images(torch.ones(1, 4, 4), share)


@pytest.mark.parametrize("sd", [-0.1, math.nan, math.inf, "loud", True, None])
def test_bad_sd_is_refused(sd) -> None:
    with pytest.raises(ValueError, match="add_noise: sd must be a finite number >= 0"):
        add_noise(torch.ones(1, 4, 4), sd)


@pytest.mark.parametrize("function", [shift_images, add_noise])
@pytest.mark.parametrize("images", [torch.ones(4, 4), torch.ones(0, 1, 4, 4), [1], torch.eye(3)])
def test_bad_images_are_refused(function, images) -> None:
    with pytest.raises(ValueError, match=f"{function.__name__}: images must"):
        function(images, 0.5)


@pytest.mark.parametrize("fill", ["black", (1, 2)])
def test_bad_fill_is_refused_by_name(fill) -> None:
    with pytest.raises(ValueError, match="shift_images: fill must be"):
        shift_images(torch.ones(3, 4, 4), 0.5, fill=fill)
