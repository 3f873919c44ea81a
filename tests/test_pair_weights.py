import math

import pytest
import torch
from torchvision.ops import box_iou

from softaug import pair_weight
from softaug.pair_weights import pair_iou

WHOLE = torch.tensor([[0.0, 0.0, 4.0, 4.0]]).repeat(5, 1)
PARTS = torch.tensor([[0, 0, 4, 4], [0, 0, 4, 2], [2, 2, 4, 4], [1, 2, 2, 3], [4, 0, 8, 4.0]])
IOUS = [1, 1 / 2, 1 / 4, 1 / 16, 0]


def random_boxes(num, seed=0, edge=12):
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
    found = pair_weight(WHOLE[:3].long(), PARTS[:3].long())  # whole pixels weigh as floats do
    assert found.dtype == torch.float32
    torch.testing.assert_close(found / found[0], torch.tensor([1, 1 - 1 / 16, 1 - 81 / 256]))


@pytest.mark.parametrize(("mode", "other"), [("SA1", PARTS[[4, 4]]), ("SA2", WHOLE[:2])])
def test_weights_that_would_all_be_zero_are_one(mode, other):
    assert pair_weight(WHOLE[:2], other, mode=mode).tolist() == [1.0, 1.0]


def test_off_the_cpu_no_value_is_read():
    assert pair_weight(WHOLE.to("meta"), PARTS.to("meta")).shape == (5,)


BAD = [
    ({"boxes_a": WHOLE[0]}, "boxes_a must be a tensor [B, 4] of x1, y1, x2, y2, got float32"),
    ({"boxes_b": PARTS.tolist()}, "boxes_b must be a tensor [B, 4] of x1, y1, x2, y2, got list"),
    ({"boxes_b": PARTS[:, :3]}, "got float32 tensor of shape [5, 3]"),
    ({"boxes_b": PARTS > 1}, "boxes_b must be whole or floating-point numbers, got bool"),
    ({"boxes_b": PARTS[:2]}, "must hold a box for each pair, got 5 and 2 boxes"),
    ({"boxes_b": PARTS[:, [2, 1, 0, 3]]}, "(pair 0); a box is x1, y1, x2, y2, not x, y, width"),
    ({"boxes_a": WHOLE * 0}, "boxes_a must have x1 < x2 and y1 < y2"),
    ({"boxes_a": WHOLE * math.nan}, "boxes_a must have x1 < x2 and y1 < y2"),
    ({"k": 0}, "k must be > 0 and finite, got 0"),
    ({"k": "4"}, "k must be a number > 0, got str 4"),
    ({"mode": "SA#1"}, "mode must be one of 'SA1', 'SA2', 'none', got 'SA#1'; did you mean"),
    ({"p_min": 1.1}, "p_min must be a number in 0..1, got float 1.1"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[message for _, message in BAD])
def test_what_is_no_pair_of_boxes_and_no_setting_is_refused(changes, message):
    with pytest.raises(ValueError, match=r"^pair_weight: ") as error:
        pair_weight(**{"boxes_a": WHOLE, "boxes_b": PARTS, **changes})
    assert message in str(error.value)
