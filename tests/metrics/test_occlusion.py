import pytest
import torch
from torch import Tensor

from softaug.metrics import occlude


def hidden(images: Tensor) -> Tensor:
    """Where images of ones were occluded with zeros, [B, H, W]."""
    assert bool((images == images[:, :1]).all())  # every channel alike
    return images[:, 0] == 0


def bounds(mask: Tensor) -> tuple[int, int, int, int]:
    rows, columns = mask.any(1).nonzero().flatten(), mask.any(0).nonzero().flatten()
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


@pytest.mark.parametrize("fraction", [0.04, 0.2, 0.4, 0.6, 0.8, 1.0])
def test_hides_one_square_of_the_area_inside_each_image(fraction) -> None:
    masks = hidden(occlude(torch.ones(50, 3, 20, 20), fraction))
    side = round((fraction * 400) ** 0.5)
    for mask in masks:
        top, bottom, left, right = bounds(mask)
        assert bottom - top == right - left == side
        assert int(mask.sum()) == side * side  # solid


@pytest.mark.parametrize(("height", "width"), [(10, 40), (40, 10)])
def test_where_no_square_fits_the_full_short_side_is_hidden(height, width) -> None:
    for mask in hidden(occlude(torch.ones(20, 1, height, width), 0.5)):
        top, bottom, left, right = bounds(mask)
        assert sorted((bottom - top, right - left)) == [10, 20]


@pytest.mark.parametrize(("height", "width"), [(7, 30), (31, 32), (1, 5), (5, 1)])
@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.7, 0.95])
def test_area_is_right_up_to_a_pixel_of_each_side(height, width, fraction) -> None:
    area = hidden(occlude(torch.ones(1, 1, height, width), fraction)).sum()
    assert abs(int(area) - fraction * height * width) <= max(height, width)


def test_none_and_all() -> None:
    images = torch.rand(4, 3, 9, 9)
    assert torch.equal(occlude(images, 0.0), images)
    assert bool((occlude(images, 1.0) == 0).all())


def test_every_place_is_equally_likely() -> None:
    generator = torch.Generator().manual_seed(0)
    masks = hidden(occlude(torch.ones(9000, 1, 4, 4), 0.25, generator=generator))
    corners = [bounds(mask)[::2] for mask in masks]
    counts = [corners.count((top, left)) for top in range(3) for left in range(3)]
    assert sum(counts) == 9000
    assert all(abs(count - 1000) < 120 for count in counts)  # 4 sd


def test_same_generator_state_same_places() -> None:
    images = torch.ones(30, 1, 16, 16)
    first, second = (occlude(images, 0.2, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, occlude(images, 0.2, torch.Generator().manual_seed(4)))


def test_one_image_is_a_batch_of_one() -> None:
    image = torch.rand(3, 12, 12)
    one = occlude(image, 0.3, torch.Generator().manual_seed(5))
    batch = occlude(image[None], 0.3, torch.Generator().manual_seed(5))
    assert one.shape == image.shape
    assert torch.equal(one, batch[0])


def test_fill_and_type_are_kept_and_the_input_is_not_changed() -> None:
    images = torch.full((2, 3, 8, 8), 9, dtype=torch.uint8)
    out = occlude(images, 1.0, fill=(1, 2, 3))
    assert out.dtype == torch.uint8
    assert out[0, :, 0, 0].tolist() == [1, 2, 3]
    assert bool((images == 9).all())


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), "half", True, None])
def test_bad_fraction_is_refused(fraction) -> None:
    with pytest.raises(ValueError, match=r"occlude: fraction must be a number in 0\.\.1"):
        occlude(torch.ones(1, 4, 4), fraction)


@pytest.mark.parametrize(
    "images", [torch.ones(4, 4), torch.ones(0, 1, 4, 4), [1], torch.eye(3).long()]
)
def test_bad_images_are_refused(images) -> None:
    with pytest.raises(ValueError, match="occlude: images must"):
        occlude(images, 0.5)


def test_bad_fill_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="occlude: fill must be"):
        occlude(torch.ones(1, 4, 4), 0.5, fill="black")
