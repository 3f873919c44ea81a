import math

import pytest
import torch
from scipy import stats
from torchvision.transforms import v2

from softaug import DrawKey, SoftPolicy
from softaug.transforms import PolicyParams
from softaug.transforms import operations as chosen
from softaug.transforms.curves import NAIVE, Curve
from softaug.transforms.operations import OPERATIONS, apply_operation, measure_in_frame

NAMES = list(OPERATIONS)
POLICIES = [SoftPolicy(), SoftPolicy("rand"), SoftPolicy("rand", 3, 20, fill="mean")]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)
THEIRS = {  # torchvision's names, in its order
    "trivial": v2.TrivialAugmentWide._AUGMENTATION_SPACE,
    "rand": v2.RandAugment._AUGMENTATION_SPACE,
}
UNITS = {  # of torchvision's magnitudes: what strength 1 is
    **dict.fromkeys(("shear-x", "shear-y", "brightness", "color"), 0.99),
    **dict.fromkeys(("contrast", "sharpness"), 0.99),
    "rotate": 135,
}


def pictures(num, edge=32):
    generator = torch.Generator().manual_seed(0)
    shape = (num, 3, edge, edge)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def drawn(policy, num=20_000, height=32, width=32):
    images = torch.ones(()).expand(num, 3, height, width)
    return policy.draw(images, key=DrawKey(0, 0, torch.arange(num)))


def params_of(*rows, size=32):
    """Parameters of chosen operations: each row is one image's [(name, strength), ...]."""
    operation = torch.tensor([[NAMES.index(name) for name, _ in row] for row in rows])
    strength = torch.tensor([[s for _, s in row] for row in rows], dtype=torch.float64)
    frame = [
        [measure_in_frame(n, torch.tensor([s]).double(), size, size) for n, s in r] for r in rows
    ]
    frame = torch.tensor(frame)
    return PolicyParams(operation, strength, frame, frame.prod(1))


def magnitude(name, strength, height, width):
    """torchvision's number for a strength."""
    if name == "posterize":
        return round(8 - 6 * strength)
    if name == "solarize":
        return 1 - strength
    edge = {"translate-x": width, "translate-y": height}.get(name)
    return strength * (UNITS[name] if edge is None else edge)


def test_operations_have_torchvisions_order_and_signs():
    for space in THEIRS.values():
        flat = [name.lower().replace("-", "") for name in NAMES]
        assert [name.lower() for name in space] == flat
        assert [signed for _, signed in space.values()] == [o.signed for o in OPERATIONS.values()]
        graded = [numbers(31, 32, 32) is not None for numbers, _ in space.values()]
        assert graded == [o.graded for o in OPERATIONS.values()]


@pytest.mark.parametrize("height", [32, 96])
@pytest.mark.parametrize("name", [name for name, o in OPERATIONS.items() if o.graded])
def test_trivial_draws_every_magnitude_of_torchvisions(name, height):
    params = drawn(SoftPolicy(), height=height, width=64)
    mine = params.strength[params.operation == NAMES.index(name)].abs().unique().tolist()
    numbers, _ = list(THEIRS["trivial"].values())[NAMES.index(name)]
    expected = sorted(numbers(31, height, 64).tolist())
    found = sorted(magnitude(name, strength, height, 64) for strength in mine)
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("level", [0, 1, 9, 30])
@pytest.mark.parametrize("name", [name for name, o in OPERATIONS.items() if o.graded])
def test_rand_draws_its_one_magnitude_of_torchvisions(name, level):
    params = drawn(SoftPolicy("rand", 1, level), 2000, height=40, width=64)
    (mine,) = params.strength[params.operation == NAMES.index(name)].abs().unique().tolist()
    numbers, _ = list(THEIRS["rand"].values())[NAMES.index(name)]
    expected = numbers(31, 40, 64)[level].item()
    assert magnitude(name, mine, 40, 64) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("policy", [SoftPolicy(), SoftPolicy("rand", 3)], ids=repr)
def test_operations_are_drawn_evenly_and_independently(policy):
    operation = drawn(policy).operation
    for column in operation.T:
        assert stats.chisquare(torch.bincount(column, minlength=14).numpy()).pvalue > 1e-3
    if operation.shape[1] > 1:
        pairs = torch.bincount(operation[:, 0] * 14 + operation[:, 1], minlength=196)
        assert stats.chisquare(pairs.numpy()).pvalue > 1e-3


def test_magnitudes_of_trivial_are_even():
    params = drawn(SoftPolicy(), 100_000)
    strength = params.strength[params.operation == NAMES.index("rotate")].abs()
    bins = torch.bincount((strength * 30).round().long(), minlength=31)
    assert stats.chisquare(bins.numpy()).pvalue > 1e-3


@pytest.mark.parametrize("policy", [SoftPolicy(), SoftPolicy("rand", 2, 30)], ids=repr)
def test_signs_are_even_where_there_are_two_directions(policy):
    params = drawn(policy)
    for index, operation in enumerate(OPERATIONS.values()):
        strength = params.strength[params.operation == index]
        below = (strength[strength != 0] < 0).double().mean().item()
        assert math.isnan(below) or below == pytest.approx(0.5 * operation.signed, abs=0.06)


def test_small_images_are_shifted_out_by_at_most_an_edge():
    params = drawn(SoftPolicy(), height=8, width=8)
    shift = params.operation == NAMES.index("translate-x")
    assert params.strength[shift].abs().max() == 1
    assert params.visible[shift[:, 0]].min() == 0


@each_policy
def test_each_image_gets_its_operations_one_after_the_other(policy):
    images = pictures(120)
    params = policy.draw(images, key=DrawKey(0, 0, torch.arange(120)))
    out = policy.apply(images, params)
    for image, ours, steps in zip(images, out, policy.describe(params), strict=True):
        expected = image[None]
        for name, strength in steps:
            strength = torch.tensor([strength], dtype=torch.float64)
            expected = apply_operation(name, expected, strength, policy.fill)
        assert torch.equal(ours, expected[0]), steps


@each_policy
def test_rows_and_masks_give_the_same_pixels(policy, monkeypatch):
    images = pictures(60)
    params = policy.draw(images, key=DrawKey(1, 0, torch.arange(60)))
    rows = policy.apply(images, params)
    monkeypatch.setattr(chosen, "eager_on_cpu", lambda images: False)
    assert torch.equal(policy.apply(images, params), rows)


def test_what_is_visible_is_the_product_of_what_each_operation_shows():
    policy = SoftPolicy("rand", 3, 25)
    params = drawn(policy, 300, 24, 32)
    for steps, shown in zip(policy.describe(params), params.visible.tolist(), strict=True):
        each = [measure_in_frame(n, torch.tensor([s]).double(), 24, 32).item() for n, s in steps]
        assert shown == pytest.approx(math.prod(each))


def test_retained_is_the_product_of_each_operations_curve():
    params = params_of(
        [("translate-x", 0.5), ("posterize", 0.5)],
        [("identity", 0.0), ("equalize", 0.0)],
        [("solarize", 1.0), ("rotate", 0.1)],
        [("brightness", -0.2), ("brightness", 0.2)],
    )
    label = SoftPolicy("rand").report(torch.arange(4), params)
    assert label.retained.tolist() == pytest.approx([0.75 * 0.75, 1.0, 0.0, 0.96 * 0.96])


def test_curves_may_differ_by_class():
    curves = {**NAIVE, "posterize": Curve("strength", 0.8, (1.0, 2.0))}
    policy = SoftPolicy(curves=curves)
    params = params_of([("posterize", 0.5)], [("posterize", 0.5)], [("color", 0.5)])
    label = policy.report(torch.tensor([0, 1, 1]), params)
    assert label.retained.tolist() == pytest.approx([0.6, 0.8, 0.75])
    one = PolicyParams(*(values[1:2] for values in params))
    assert policy.report(1, one).retained == pytest.approx(0.8)


def test_describe_names_the_operations():
    params = params_of([("rotate", -0.5), ("identity", 0.0)])
    assert SoftPolicy("rand").describe(params) == [[("rotate", -0.5), ("identity", 0.0)]]


def test_gradients_reach_the_images():
    images = torch.rand(40, 3, 8, 8, requires_grad=True)
    SoftPolicy("rand")(images, torch.zeros(40).long())[0].sum().backward()
    assert images.grad.abs().sum() > 0


@pytest.mark.parametrize("policy", ["trivial", "rand"])
def test_every_magnitude_is_multiplied_by_the_strength(policy):
    images, key = torch.ones(200, 3, 24, 24), DrawKey(0, 0, torch.arange(200))
    weak, full = (SoftPolicy(policy, strength=s).draw(images, key=key) for s in (0.3, 1.0))
    assert torch.equal(weak.operation, full.operation)
    torch.testing.assert_close(weak.strength, 0.3 * full.strength)


BAD = [
    ({"policy": "random"}, "SoftPolicy: policy must be one of 'trivial', 'rand', got 'random'"),
    (
        {"num_ops": 2},
        'SoftPolicy: policy "trivial" has no num_ops, got 2; leave it out, or use policy="rand"',
    ),
    ({"magnitude": 9}, 'policy "trivial" has no magnitude, got 9'),
    ({"policy": "rand", "num_ops": 0}, "num_ops must be a whole number >= 1, got int 0"),
    ({"policy": "rand", "magnitude": -1}, "magnitude must be a whole number >= 0, got int -1"),
    ({"policy": "rand", "magnitude": 31}, "SoftPolicy: magnitude must be at most 30, got 31"),
    ({"policy": "rand", "magnitude": 9.5}, "magnitude must be a whole number >= 0, got float 9.5"),
    ({"curves": "naiv"}, "SoftPolicy: curves must be one of 'naive'"),
    (
        {"curves": {n: c for n, c in NAIVE.items() if n not in ("rotate", "color")}},
        "curves must cover every graded operation, got none of ['rotate', 'color']; start from",
    ),
    ({"fill": "man"}, 'SoftPolicy: fill must be a number, one per channel, or "mean", got str man'),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared)
        SoftPolicy(**settings)
    assert message in str(caught.value)


def test_images_of_four_channels_are_refused():
    with pytest.raises(ValueError, match="SoftPolicy: images must be"):
        SoftPolicy()(torch.zeros(2, 4, 8, 8), torch.zeros(2).long())


def test_normalised_images_are_refused():
    images = (torch.linspace(0, 1, 2 * 3 * 64).view(2, 3, 8, 8) - 0.5) / 0.25
    rule = "SoftPolicy: float images must be in 0..1, got -2 to 2; put it before normalising"
    with pytest.raises(ValueError, match=rule):
        SoftPolicy()(images, torch.zeros(2).long())
