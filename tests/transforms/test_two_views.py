"""Two views of each image, and their jittered colors: pixels, boxes and draws."""

import itertools

import pytest
import torch
from torchvision.transforms.v2 import functional as theirs

from softaug import pair_weight
from softaug.transforms import ColorJitter, TwoViews, Views, operations
from softaug.transforms.resized_crop import resize_windows
from softaug.transforms.two_views import ADJUST
from tests.transforms.pictures import drawn, key_of
from tests.transforms.pictures import pictures as noise

NUM = 40
PLAIN = {"jitter_p": 0.0, "gray_p": 0.0}  # a view is then a window, flipped or not
THEIRS = (
    theirs.adjust_brightness,
    theirs.adjust_contrast,
    theirs.adjust_saturation,
    theirs.adjust_hue,
)


def pictures(num=NUM, channels=3, edge=32):
    """Noise that is dull in every second image, so that it is not all cut at black and white."""
    images = noise(num, channels, edge, edge)
    images[::2] = images[::2] // 3 + 80
    return images


@pytest.mark.parametrize("index", range(3), ids=["brightness", "contrast", "saturation"])
def test_each_adjustment_gives_torchvisions_pixels(index):
    images, factor = pictures(), torch.linspace(0, 2, NUM, dtype=torch.float64)
    pairs = zip(images, factor.tolist(), strict=True)
    expected = torch.stack([THEIRS[index](i, f) for i, f in pairs])
    assert torch.equal(ADJUST[index](images, factor), expected)


def one_by_one(images, params, adjust):
    """Each image by itself: its adjustments in its order, then gray."""
    out = []
    for image, amount, order, jittered, gray, _ in zip(images, *params, strict=True):
        for index in order.tolist() if jittered else ():
            image = adjust(index, image, amount[index])
        out.append(theirs.rgb_to_grayscale(image, 3) if gray else image)
    return torch.stack(out)


def test_each_image_has_its_adjustments_in_its_own_order(monkeypatch):
    images, jitter = pictures(80), ColorJitter(p=0.7)
    params = jitter.draw(images, key=key_of(80))
    found = jitter.apply(images, params)
    expected = one_by_one(images, params, lambda i, x, a: ADJUST[i](x[None], a[None])[0])
    assert torch.equal(found, expected)
    expected = one_by_one(images, params, lambda i, x, a: THEIRS[i](x, float(a)))
    away = (found.int() - expected.int()).abs()
    assert int(away.max()) <= 3  # a gray level of the hue, then more contrast
    assert float((away > 0).double().mean()) < 0.01
    monkeypatch.setattr(operations, "eager_on_cpu", lambda images: False)
    assert torch.equal(jitter.apply(images, params), found)  # as on a GPU: all are computed


def test_the_ends_of_p_and_widths_of_0_change_nothing():
    images, labels = pictures(), torch.arange(NUM)
    for jitter in (ColorJitter(p=0.0, gray_p=0.0), ColorJitter(0, 0, 0, 0, p=1.0, gray_p=0.0)):
        assert torch.equal(jitter(images, labels)[0], images)
    gray = ColorJitter(p=0.0, gray_p=1.0)(images, labels)[0]
    assert torch.equal(gray, theirs.rgb_to_grayscale(images, 3))
    one = pictures(channels=1)  # one channel has neither saturation nor hue
    out, label = ColorJitter(0, 0, 0.4, 0.1, p=1.0, gray_p=1.0)(one, labels)
    assert torch.equal(out, one)
    assert label.retained.tolist() == [1.0] * NUM


def test_amounts_are_even_within_their_widths():
    amount = drawn(ColorJitter(0.4, 0.3, 1.5, 0.1), 40_000).amount
    ends = torch.tensor([[0.6, 0.7, 0.0, -0.1], [1.4, 1.3, 2.5, 0.1]]).double()
    found = torch.stack([amount.amin(0), amount.amax(0)])
    torch.testing.assert_close(found, ends, atol=2e-3, rtol=0)
    unit = (amount - ends[0]) / (ends[1] - ends[0])
    assert float((unit.mean(0) - 0.5).abs().max()) < 4 * (1 / 12 / 40_000) ** 0.5
    assert float((unit.var(0) - 1 / 12).abs().max()) < 0.003


def test_every_order_is_equally_likely_and_shares_are_p_and_gray_p():
    params = drawn(ColorJitter(p=0.8, gray_p=0.2), 24_000)
    found, counts = params.order.unique(dim=0, return_counts=True)
    assert [tuple(row) for row in found.tolist()] == sorted(itertools.permutations(range(4)))
    assert float((counts - 1000).abs().max()) < 5 * 1000**0.5
    shares = [params.jittered, params.gray, params.jittered & params.gray]
    found = [float(share.double().mean()) for share in shares]
    assert found == pytest.approx([0.8, 0.2, 0.16], abs=0.01)


def test_each_view_is_the_box_it_names_resized():
    images, views = pictures(edge=40), TwoViews(24, flip_p=0.0, **PLAIN)
    found = views(images, key=key_of(NUM))
    for view, boxes in ((found.first, found.boxes_first), (found.second, found.boxes_second)):
        for image, ours, (x1, y1, x2, y2) in zip(images, view, boxes.tolist(), strict=True):
            place = y1, x1, y2 - y1, x2 - x1
            their = theirs.resized_crop(image, *place, [24, 24], antialias=True)
            assert int((ours.int() - their.int()).abs().max()) <= 1


def test_a_flip_changes_the_view_and_not_its_box():
    images = pictures()
    straight = TwoViews(flip_p=0.0, **PLAIN)(images, key=key_of(NUM))
    flipped = TwoViews(flip_p=1.0, **PLAIN)(images, key=key_of(NUM))
    assert torch.equal(flipped.first, theirs.horizontal_flip(straight.first))
    assert torch.equal(flipped.boxes_first, straight.boxes_first)


def test_a_view_is_cropped_then_colored_then_flipped():
    images, views = pictures(), TwoViews()
    params = views.draw(images, 1, key=key_of(NUM))
    window = resize_windows(images, params.window, 32)
    colored = views.color.apply(window, params.color)
    expected = views.flip.apply(colored, params.flip)
    assert torch.equal(views(images, key=key_of(NUM)).second, expected)
    assert torch.equal(views.finish(window, 1, key_of(NUM)), expected)


def test_windows_show_between_a_fifth_and_all_of_the_image():
    images = torch.zeros(4000, 1, 32, 32, dtype=torch.uint8)
    boxes = TwoViews().draw(images, 0, key=key_of(4000)).window.boxes
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1) / 32**2
    assert bool((boxes >= 0).all() & (boxes <= 32).all())
    assert (float(area.min()), float(area.max())) == pytest.approx((0.2, 1.0), abs=0.03)
    assert float(area.mean()) == pytest.approx(0.57, abs=0.05)  # 0.6 but for those that do not fit


def test_a_key_gives_the_same_views_in_any_batch_and_leaves_torchs_generator_alone():
    before, key = torch.get_rng_state(), key_of(NUM)
    images, views = pictures(), TwoViews()
    whole = views(images, key=key)
    parts = zip(images.split([1, 12, 27]), key.index.split([1, 12, 27]), strict=True)
    found = [views(x, key=key._replace(index=i)) for x, i in parts]
    for name in Views._fields:
        joined = torch.cat([getattr(part, name) for part in found])
        assert torch.equal(joined, getattr(whole, name)), name
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("change", [{"seed": 1}, {"epoch": 1}, {"stream": 1}], ids=str)
def test_both_views_differ_and_so_do_those_of_another_key(change):
    images, views, key = pictures(), TwoViews(), key_of(NUM)
    before, after = views(images, key=key), views(images, key=key._replace(**change))
    boxes = [before.boxes_first, before.boxes_second, after.boxes_first, after.boxes_second]
    for one, other in itertools.combinations(boxes, 2):
        assert int((one == other).all(1).sum()) <= 1
    weights = pair_weight(before.boxes_first, before.boxes_second)
    assert float(weights.std()) > 0.05


def test_float_images_have_the_boxes_and_nearly_the_pixels_of_uint8_ones():
    images, views, key = pictures(), TwoViews(), key_of(NUM)
    whole, wide = views(images, key=key), views(images.float() / 255, key=key)
    assert torch.equal(wide.boxes_second, whole.boxes_second)
    assert float((wide.second * 255 - whole.second).abs().mean()) < 2


def test_no_value_is_read_off_the_cpu():
    found = TwoViews(16)(pictures().to("meta"), key=key_of(NUM))
    assert [part.device.type for part in found] == ["meta"] * 4
    assert (found.first.shape, found.boxes_second.shape) == ((NUM, 3, 16, 16), (NUM, 4))
