import math

import pytest
import torch
from torchvision.ops import box_iou

from softaug import pair_weight
from softaug.pair_weights import pair_iou

WHOLE = torch.tensor([[0.0, 0.0, 4.0, 4.0]]).repeat(5, 1)
PARTS = torch.tensor(  # IoU with WHOLE: 1, 1/2, 1/4, 1/16, 0
    [[0, 0, 4, 4], [0, 0, 4, 2], [2, 2, 4, 4], [1, 2, 2, 3], [4, 0, 8, 4]], dtype=torch.float32
)
IOUS = [1, 1 / 2, 1 / 4, 1 / 16, 0]


def random_boxes(num, edge=20, seed=0):
    generator = torch.Generator().manual_seed(seed)
    corner = torch.randint(-4, edge - 1, (num, 2), generator=generator)
    size = torch.randint(1, edge, (num, 2), generator=generator)
    return torch.cat([corner, corner + size], dim=1)


def pixels(box):
    left, top, right, bottom = box
    return {(x, y) for x in range(left, right) for y in range(top, bottom)}


def test_iou_counts_the_pixels_of_both_boxes():
    first, second = random_boxes(200), random_boxes(200, seed=1)
    pairs = zip(map(pixels, first.tolist()), map(pixels, second.tolist()), strict=True)
    expected = torch.tensor([len(a & b) / len(a | b) for a, b in pairs])
    assert 0 < int((expected == 0).sum()) < 200
    assert torch.equal(pair_iou(first, second), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_iou_of_boxes_between_pixels_is_torchvisions(dtype):
    first, second = ((random_boxes(200, seed=s) / 7).to(dtype) for s in range(2))
    found = pair_iou(first, second)
    assert found.dtype == dtype
    torch.testing.assert_close(found, box_iou(first, second).diagonal())


def test_iou_does_not_depend_on_the_order_or_the_place_of_the_boxes():
    first, second = random_boxes(50), random_boxes(50, seed=1)
    assert torch.equal(pair_iou(first, second), pair_iou(second, first))
    assert torch.equal(pair_iou(first, second), pair_iou(first + 100, second + 100))


def flipped(boxes, width=32):
    left, top, right, bottom = boxes.unbind(1)
    return torch.stack([width - right, top, width - left, bottom], dim=1)


def test_iou_is_the_same_after_a_flip():
    first, second = random_boxes(50), random_boxes(50, seed=1)
    assert torch.equal(pair_iou(first, second), pair_iou(flipped(first), flipped(second)))


EQUATIONS = {
    "SA1": lambda iou, k, p_min: 1 - (1 - p_min) * (1 - iou) ** k,
    "SA2": lambda iou, k, p_min: 1 - (1 - p_min) * iou**k,
    "none": lambda iou, k, p_min: 1,
}


@pytest.mark.parametrize("mode", EQUATIONS)
@pytest.mark.parametrize("k", [1, 4, 0.5])
@pytest.mark.parametrize("p_min", [0.0, 0.1, 1.0])
def test_weights_follow_the_equations(mode, k, p_min):
    plain = [EQUATIONS[mode](iou, k, p_min) for iou in IOUS]
    expected = torch.tensor([5 * p / sum(plain) for p in plain])
    torch.testing.assert_close(pair_weight(WHOLE, PARTS, k, mode, p_min), expected)


def test_by_default_overlap_counts_to_the_fourth_power():
    found = pair_weight(WHOLE[:3], PARTS[:3])
    torch.testing.assert_close(found / found[0], torch.tensor([1, 1 - 1 / 16, 1 - 81 / 256]))
    assert float(found.mean()) == pytest.approx(1)


@pytest.mark.parametrize(("mode", "other"), [("SA1", PARTS[[4, 4]]), ("SA2", WHOLE[:2])])
def test_weights_that_would_all_be_zero_are_one(mode, other):
    assert pair_weight(WHOLE[:2], other, mode=mode).tolist() == [1.0, 1.0]


def test_whole_pixels_weigh_as_floats_do():
    whole = pair_weight(WHOLE.long(), PARTS.long())
    assert torch.equal(whole, pair_weight(WHOLE, PARTS))
    assert whole.dtype == torch.float32


def test_off_the_cpu_no_value_is_read():
    assert pair_weight(WHOLE.to("meta"), PARTS.to("meta")).shape == (5,)


@pytest.mark.parametrize("function", [pair_iou, pair_weight])
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (WHOLE[0], PARTS[0], r"boxes_a must be a tensor \[B, 4\] .* shape \[4\]"),
        (WHOLE, PARTS.tolist(), r"boxes_b must be a tensor \[B, 4\] .* list"),
        (WHOLE, PARTS[:, :3], r"boxes_b must be a tensor \[B, 4\] .* \[5, 3\]"),
        (WHOLE, PARTS > 1, "boxes_b must be whole or floating-point numbers, got bool"),
        (WHOLE, PARTS[:2], "must hold a box for each pair, got 5 and 2 boxes"),
        (WHOLE, PARTS[:, [2, 1, 0, 3]], r"boxes_b must have x1 < x2 .* \(pair 0\); a box is x1"),
        (WHOLE * 0, PARTS, "boxes_a must have x1 < x2 and y1 < y2"),
        (WHOLE * math.nan, PARTS, "boxes_a must have x1 < x2 and y1 < y2"),
        (WHOLE * math.inf, PARTS, "boxes_a must have x1 < x2 and y1 < y2"),
    ],
)
def test_what_is_no_pair_of_boxes_is_refused(function, first, second, message):
    with pytest.raises(ValueError, match=f"{function.__name__}: .*{message}"):
        function(first, second)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k must be > 0 and finite, got 0"),
        ({"k": math.inf}, "k must be > 0 and finite, got inf"),
        ({"k": "4"}, "k must be a number > 0, got str 4"),
        ({"mode": "SA#1"}, "mode must be one of 'SA1', 'SA2', 'none', got 'SA#1'; did you mean"),
        ({"p_min": -0.1}, r"p_min must be a number in 0\.\.1, got float -0.1"),
        ({"p_min": 1.1}, r"p_min must be a number in 0\.\.1, got float 1.1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(ValueError, match=f"pair_weight: {message}"):
        pair_weight(WHOLE, PARTS, **settings)
