"""Two views of each image: their pixels, boxes and draws."""

import pytest
import torch
from torchvision.transforms.v2.functional import horizontal_flip, resized_crop

from softaug import DrawKey, pair_weight
from softaug.transforms import TwoViews, Views
from softaug.transforms.resized_crop import resize_windows

NUM = 40
PLAIN = {"jitter_p": 0.0, "gray_p": 0.0}  # a view is then a window, flipped or not


def pictures(num=NUM, edge=32):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (num, 3, edge, edge), dtype=torch.uint8, generator=generator)


def key(index=None, **changes):
    index = torch.arange(NUM) if index is None else index
    return DrawKey(0, 0, index)._replace(**changes)


def test_each_view_is_the_box_it_names_resized():
    images, views = pictures(edge=40), TwoViews(24, flip_p=0.0, **PLAIN)
    found = views(images, key=key())
    for view, boxes in ((found.first, found.boxes_first), (found.second, found.boxes_second)):
        for image, ours, (x1, y1, x2, y2) in zip(images, view, boxes.tolist(), strict=True):
            theirs = resized_crop(image, y1, x1, y2 - y1, x2 - x1, [24, 24], antialias=True)
            assert int((ours.int() - theirs.int()).abs().max()) <= 1


def test_a_flip_changes_the_view_and_not_its_box():
    images = pictures()
    straight = TwoViews(flip_p=0.0, **PLAIN)(images, key=key())
    flipped = TwoViews(flip_p=1.0, **PLAIN)(images, key=key())
    assert torch.equal(flipped.first, horizontal_flip(straight.first))
    assert torch.equal(flipped.boxes_first, straight.boxes_first)


def test_a_view_is_cropped_then_coloured_then_flipped():
    images, views = pictures(), TwoViews()
    params = views.draw(images, 1, key=key())
    window = resize_windows(images, params.window, 32)
    colored = views.color.apply(window, params.color)
    expected = views.flip.apply(colored, params.flip)
    assert torch.equal(views(images, key=key()).second, expected)


def test_views_are_of_one_image_but_differ():
    found = TwoViews()(pictures(), key=key())
    assert not torch.equal(found.boxes_first, found.boxes_second)
    same = (found.boxes_first == found.boxes_second).all(1)
    assert int(same.sum()) <= 1


def test_windows_show_between_a_fifth_and_all_of_the_image():
    images = torch.zeros(4000, 1, 32, 32, dtype=torch.uint8)
    boxes = TwoViews().draw(images, 0, key=key(torch.arange(4000))).window.boxes
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1) / 32**2
    assert bool((boxes >= 0).all() & (boxes <= 32).all())
    assert (float(area.min()), float(area.max())) == pytest.approx((0.2, 1.0), abs=0.03)
    assert float(area.mean()) == pytest.approx(0.57, abs=0.05)  # 0.6 but for those that do not fit


@pytest.mark.parametrize("sizes", [[1] * NUM, [13, 27]], ids=["ones", "two"])
def test_a_key_gives_the_same_views_in_any_batch(sizes):
    images, views, place = pictures(), TwoViews(), torch.randperm(NUM)
    whole = views(images, key=key())
    parts = zip(images[place].split(sizes), place.split(sizes), strict=True)
    found = [views(x, key=key(i)) for x, i in parts]
    for name in Views._fields:
        joined = torch.cat([getattr(part, name) for part in found])
        assert torch.equal(joined, getattr(whole, name)[place]), name


@pytest.mark.parametrize("change", [{"seed": 1}, {"epoch": 1}, {"stream": 1}], ids=str)
def test_another_seed_epoch_or_stream_gives_other_views(change):
    images, views = pictures(), TwoViews()
    before, after = views(images, key=key()), views(images, key=key(**change))
    boxes = [before.boxes_first, before.boxes_second, after.boxes_first, after.boxes_second]
    for place, one in enumerate(boxes):
        assert not any(torch.equal(one, other) for other in boxes[place + 1 :])


def test_draws_without_a_key_follow_the_generator():
    images, views = pictures(), TwoViews()
    first, second = (views(images, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert all(map(torch.equal, first, second))
    assert not torch.equal(first.boxes_first, first.boxes_second)


def test_a_key_leaves_torchs_generator_alone():
    before = torch.get_rng_state()
    TwoViews()(pictures(), key=key())
    assert torch.equal(torch.get_rng_state(), before)


def test_boxes_weigh_pairs():
    found = TwoViews()(pictures(), key=key())
    weights = pair_weight(found.boxes_first, found.boxes_second)
    assert float(weights.mean()) == pytest.approx(1)
    assert float(weights.std()) > 0.05


def test_float_images_have_the_boxes_and_nearly_the_pixels_of_uint8_ones():
    images, views = pictures(), TwoViews()
    whole, wide = views(images, key=key()), views(images.float() / 255, key=key())
    assert torch.equal(wide.boxes_second, whole.boxes_second)
    assert float((wide.second * 255 - whole.second).abs().mean()) < 2


def test_no_value_is_read_off_the_cpu():
    found = TwoViews(16)(pictures().to("meta"), key=key())
    assert [part.device.type for part in found] == ["meta"] * 4
    assert (found.first.shape, found.boxes_second.shape) == ((NUM, 3, 16, 16), (NUM, 4))


def test_it_compiles_to_one_graph_with_the_same_pixels():
    images, views = pictures(4), TwoViews()
    compiled = torch.compile(views, fullgraph=True, backend="eager")
    index = torch.arange(4)
    assert all(map(torch.equal, compiled(images, key=key(index)), views(images, key=key(index))))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "size must be a whole number >= 1"),
        ({"scale": (0.5, 0.2)}, "scale must be 0 < low <= high <= 1"),
        ({"jitter": (0.4, 0.4, 0.4)}, "TwoViews: jitter must be four numbers: brightness"),
        ({"jitter": 0.4}, "TwoViews: jitter must be four numbers"),
        ({"jitter": (0.4, 0.4, 0.4, 0.6)}, r"hue must be a number in 0\.\.0.5"),
        ({"jitter_p": 2}, r"TwoViews: jitter_p must be a number in 0\.\.1"),
        ({"gray_p": -1}, r"TwoViews: gray_p must be a number in 0\.\.1"),
        ({"flip_p": "half"}, r"TwoViews: flip_p must be a number in 0\.\.1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TwoViews(**settings)


def test_a_third_view_is_refused():
    with pytest.raises(ValueError, match="TwoViews: view must be 0 or 1, got int 2"):
        TwoViews().draw(pictures(), 2, key=key())


def test_one_image_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"TwoViews: images must be \[B, C, H, W\].*unsqueeze"):
        TwoViews()(pictures()[0])
