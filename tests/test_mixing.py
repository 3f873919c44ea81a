import math

import pytest
import torch
from scipy import stats
from torchvision.transforms import v2

from softaug import CutMix, DrawKey, MixedLabel, Mixup, SoftLabel
from softaug.mixing import Draw, MixParams, take

NUM, HEIGHT, WIDTH = 6, 7, 10
KEY = DrawKey(seed=3, epoch=1, index=17)
LABELS = torch.arange(NUM)
EACH = pytest.mark.parametrize("mix", [Mixup(0.5), CutMix(0.5)], ids=repr)
ROLLED = torch.arange(NUM).roll(1)  # torchvision's partners


def make_images(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (NUM, 3, HEIGHT, WIDTH), generator=generator)
    return images.to(dtype)


def every(value):
    return torch.full((NUM,), value)


def box(top, bottom, left, right, partner=ROLLED):
    share = 1 - (bottom - top) * (right - left) / (HEIGHT * WIDTH)
    return MixParams(partner, every(share), torch.tensor([[top, bottom, left, right]] * NUM))


def draw(mix, num=NUM, **changes):
    return mix.draw(num, HEIGHT, WIDTH, key=KEY._replace(**changes))


def draws(mix, num=300, height=HEIGHT, width=WIDTH):
    """The shares, and the boxes if there are any, of many steps."""
    found = [mix.draw(2, height, width, key=KEY._replace(index=step)) for step in range(num)]
    boxes = [params.box[0] for params in found if params.box is not None]
    return torch.stack([params.share[0] for params in found]), boxes


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_mixup_equals_torchvisions(share):
    images = make_images()
    theirs = v2.MixUp(num_classes=NUM)
    params = {"lam": share, "labels": LABELS, "batch_size": NUM}
    mixed = Mixup().apply(images, images[ROLLED], MixParams(ROLLED, every(share)))
    torch.testing.assert_close(mixed, theirs.transform(images, params))
    label = Mixup().report(LABELS, LABELS[ROLLED], MixParams(ROLLED, every(share)))
    torch.testing.assert_close(label.dense(NUM), theirs.transform(LABELS, params))


@pytest.mark.parametrize("edges", [(0, 3, 2, 9), (4, 4, 0, 10), (0, HEIGHT, 0, WIDTH)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_cutmix_equals_torchvisions(edges, dtype):
    images, params, theirs = make_images(dtype), box(*edges), v2.CutMix(num_classes=NUM)
    top, bottom, left, right = edges
    given = {"labels": LABELS, "batch_size": NUM, "box": (left, top, right, bottom)}
    given["lam_adjusted"] = params.share[0].item()
    mixed = CutMix().apply(images, images[ROLLED], params)
    assert torch.equal(mixed, theirs.transform(images, given))
    label = CutMix().report(LABELS, LABELS[ROLLED], params)
    torch.testing.assert_close(label.dense(NUM), theirs.transform(LABELS, given))


def test_mixup_rounds_grey_levels_to_the_nearest():
    images = torch.tensor([0, 255, 10]).byte().view(3, 1, 1, 1)
    partners = torch.tensor([255, 0, 13]).byte().view(3, 1, 1, 1)
    params = MixParams(torch.tensor([1, 0, 2]), torch.tensor([0.75, 0.75, 0.5]))
    mixed = Mixup().apply(images, partners, params)  # 63.75, 191.25 and 11.5
    assert mixed.dtype == torch.uint8
    assert mixed.flatten().tolist() == [64, 191, 12]


def test_each_sample_may_have_a_share_and_a_box_of_its_own():
    ones, zeros = torch.ones(2, 1, 2, 2), torch.zeros(2, 1, 2, 2)
    partner, share = torch.tensor([0, 1]), torch.tensor([0.25, 0.75])
    mixed = Mixup().apply(ones, zeros, MixParams(partner, share))
    assert mixed.mean((1, 2, 3)).tolist() == [0.25, 0.75]
    edges = torch.tensor([[0, 2, 0, 1], [1, 2, 1, 2]])  # the left column; the last pixel
    params = MixParams(partner, torch.tensor([0.5, 0.75]), edges)
    assert CutMix().apply(ones, zeros, params).flatten(1).tolist() == [[0, 1, 0, 1], [1, 1, 1, 0]]


@EACH
def test_forward_is_draw_apply_and_report_also_of_the_rows_that_a_process_has(mix):
    images, kept, rows = make_images(), torch.linspace(0, 1, NUM), torch.tensor([4, 1])
    state = torch.get_rng_state()
    params, (mixed, label) = draw(mix), mix(images, SoftLabel(LABELS, kept), key=KEY)
    assert torch.equal(torch.get_rng_state(), state)
    assert isinstance(label, MixedLabel)
    assert torch.equal(label.labels, torch.stack([LABELS, params.partner], 1))
    assert torch.equal(label.retained, torch.stack([kept, kept[params.partner]], 1))
    own = take(params, rows)
    assert torch.equal(mix.apply(images[rows], images[own.partner], own), mixed[rows])


@EACH
def test_the_share_is_that_of_the_first_images_pixels(mix):
    images = torch.arange(NUM).view(-1, 1, 1, 1).expand(NUM, 1, HEIGHT, WIDTH).double()
    mixed, label = mix(images, LABELS, key=KEY)
    expected = (label.labels * label.share).sum(1)  # a constant image holds its class
    torch.testing.assert_close(mixed.mean((1, 2, 3)), expected.double(), atol=1e-5, rtol=0)


@EACH
def test_a_key_or_the_state_of_a_generator_names_the_draw(mix):
    first = draw(mix, 64)
    for index in (17, torch.tensor(17)):
        assert all(map(torch.equal, draw(mix, 64, index=index)[:2], first))
    for change in ({"seed": 4}, {"epoch": 2}, {"index": 18}, {"stream": 1}):
        assert not torch.equal(draw(mix, 64, **change).partner, first.partner)
    states = [torch.Generator().manual_seed(5) for _ in range(2)]
    one, other = (mix(make_images(), LABELS, generator=state)[0] for state in states)
    assert torch.equal(one, other)
    torch.manual_seed(5)
    assert torch.equal(mix(make_images(), LABELS)[0], one)
    assert not torch.equal(mix(make_images(), LABELS)[0], one)


def test_mixup_and_cutmix_draw_even_permutations_apart_from_one_key():
    assert not torch.equal(*(draw(mix, 64).partner for mix in (Mixup(), CutMix())))
    found = torch.stack([draw(Mixup(), 4, index=step).partner for step in range(300)])
    assert torch.equal(found.sort(1).values, torch.arange(4).expand(300, 4))
    counts = torch.stack([(found == image).sum(0) for image in range(4)])
    assert stats.chisquare(counts.flatten()).pvalue > 0.01


@pytest.mark.parametrize("alpha", [0.2, 8.0])
def test_mixups_share_follows_the_beta_law(alpha):
    share, _ = draws(Mixup(alpha))
    assert stats.kstest(share.numpy(), "beta", args=(alpha, alpha)).pvalue > 0.01


def test_a_tiny_alpha_leaves_images_whole():
    share, _ = draws(Mixup(1e-5), num=200)
    assert set(share.tolist()) == {0.0, 1.0}
    assert share.mean().item() == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(200))


@pytest.mark.parametrize(
    ("spare", "edges", "share"),
    [
        ((0.5, 0.5), (2, 6, 4, 12), 0.75),  # a quarter of the area is sides of half the length
        ((0.01, 0.99), (0, 2, 11, 16), 1 - 10 / 128),  # center at row 0, column 15
    ],
)
def test_boxes_equal_values_worked_by_hand(spare, edges, share):
    params = CutMix()._params(Draw(torch.tensor([1, 0]), 0.75, spare), height=8, width=16)
    assert params.box.tolist() == [list(edges)] * 2
    assert params.share.tolist() == [share, share]


def test_boxes_have_the_images_shape_an_even_center_and_an_exact_share():
    share, boxes = draws(CutMix(0.2), num=400, height=400, width=800)
    top, bottom, left, right = torch.stack(boxes).unbind(1)
    area = (bottom - top) * (right - left) / (400 * 800)
    torch.testing.assert_close(share, 1 - area)
    assert bool(((top >= 0) & (bottom <= 400) & (left >= 0) & (right <= 800)).all())
    whole = (top > 0) & (bottom < 400) & (left > 0) & (right < 800)
    ratio = ((right - left) / (bottom - top))[whole & (share < 0.99)]
    assert len(ratio) > 10
    assert bool(((ratio - 2).abs() < 0.1).all())
    center = ((left + right) / 2)[(share > 0.999) & (share < 1)]  # tiny ones are seldom cut
    assert len(center) > 10
    assert stats.kstest(center.numpy() / 800, "uniform").pvalue > 0.01


@EACH
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float64])
def test_the_type_of_the_images_stays_and_no_value_of_them_is_read(mix, dtype):
    images = make_images(dtype)
    mixed, _ = mix(images, LABELS, key=KEY)
    assert mixed.dtype == dtype
    assert torch.equal(images, make_images(dtype))
    mixed, label = mix(images.to("meta"), LABELS.to("meta"), key=KEY)
    assert (mixed.device.type, mixed.shape) == ("meta", images.shape)
    assert [part.device.type for part in label] == ["meta"] * 3


@EACH
def test_gradients_flow_to_both_images(mix):
    images, partners = (make_images().requires_grad_() for _ in range(2))
    params = draw(mix)
    mix.apply(images, partners, params).sum().backward()
    share = params.share[0].item()
    assert images.grad.mean().item() == pytest.approx(share, abs=1e-5)
    assert partners.grad.mean().item() == pytest.approx(1 - share, abs=1e-5)


def test_a_parent_module_can_apply_functions_to_its_children():
    seen = []
    torch.nn.Sequential(Mixup(), CutMix()).apply(lambda module: seen.append(type(module)))
    assert seen == [Mixup, CutMix, torch.nn.Sequential]


IMAGES = make_images()
PARAMS = MixParams(ROLLED, every(0.5))
BAD = [
    (lambda: Mixup(0), "Mixup: alpha must be > 0 and finite, got 0"),
    (lambda: CutMix(math.inf), "CutMix: alpha must be > 0 and finite, got inf"),
    (lambda: Mixup("1"), "Mixup: alpha must be a number > 0, got str 1"),
    (lambda: Mixup()(IMAGES[0], 3), "images must be a batch [B, C, H, W], got"),
    (lambda: Mixup()(IMAGES.long(), LABELS), "images must be uint8 or floating point"),
    (lambda: Mixup()(IMAGES, LABELS[:2]), "Mixup: labels of 6 images must be [B], got int64"),
    (lambda: Mixup()(IMAGES, LABELS.float()), "labels must be integers"),
    (lambda: Mixup().draw(0, 8, 8), "Mixup: num must be a whole number >= 1, got int 0"),
    (lambda: CutMix().draw(4, 8, 0), "CutMix: width must be a whole number >= 1, got int 0"),
    (lambda: draw(Mixup(), index=LABELS), "one whole number, that of the step, got int64"),
    (lambda: Mixup().draw(4, 8, 8, key=(0, 0, 0)), "key must be a DrawKey, got tuple"),
    (lambda: Mixup().apply(IMAGES, IMAGES), "apply needs images, their partners and the drawn"),
    (lambda: Mixup().apply(IMAGES, IMAGES[:2], PARAMS), "partners must be like the images"),
    (lambda: Mixup().apply(IMAGES[:2], IMAGES[:2], PARAMS), "got parameters for 6; use take("),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match="Mix") as error:
        call()
    assert message in str(error.value)
