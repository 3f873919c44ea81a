"""RandAugment and TrivialAugment: torchvision's laws, the pixels, what is retained; PerSample."""

import math

import pytest
import torch
from scipy import stats
from torchvision.transforms import v2

from softaug import DrawKey, SoftPolicy
from softaug.transforms import PerSample, PolicyParams, operations
from softaug.transforms.curves import NAIVE, Curve
from softaug.transforms.operations import OPERATIONS, apply_operation, measure_in_frame
from tests.transforms.pictures import drawn, key_of, pictures

NAMES = list(OPERATIONS)
GRADED = [name for name, operation in OPERATIONS.items() if operation.graded]
each_policy = pytest.mark.parametrize(
    "policy", [SoftPolicy(), SoftPolicy("rand", 3, 20, fill="mean")], ids=repr
)
THEIRS = {  # torchvision's names, in its order
    "trivial": v2.TrivialAugmentWide._AUGMENTATION_SPACE,
    "rand": v2.RandAugment._AUGMENTATION_SPACE,
}


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
    return strength * {"translate-x": width, "translate-y": height, "rotate": 135}.get(name, 0.99)


def test_operations_have_torchvisions_order_and_signs():
    for space in THEIRS.values():
        flat = [name.lower().replace("-", "") for name in NAMES]
        assert [name.lower() for name in space] == flat
        assert [signed for _, signed in space.values()] == [o.signed for o in OPERATIONS.values()]
        graded = [numbers(31, 32, 32) is not None for numbers, _ in space.values()]
        assert graded == [o.graded for o in OPERATIONS.values()]


@pytest.mark.parametrize("height", [32, 96])
def test_trivial_draws_every_magnitude_of_torchvisions(height):
    params = drawn(SoftPolicy(), 20_000, height, 64)
    for name in GRADED:
        mine = params.strength[params.operation == NAMES.index(name)].abs().unique().tolist()
        numbers, _ = list(THEIRS["trivial"].values())[NAMES.index(name)]
        found = sorted(magnitude(name, strength, height, 64) for strength in mine)
        assert found == pytest.approx(sorted(numbers(31, height, 64).tolist()), abs=1e-5), name


@pytest.mark.parametrize("level", [0, 1, 9, 30])
def test_rand_draws_its_one_magnitude_of_torchvisions(level):
    params = drawn(SoftPolicy("rand", 1, level), 2000, 40, 64)
    for name in GRADED:
        (mine,) = params.strength[params.operation == NAMES.index(name)].abs().unique().tolist()
        numbers, _ = list(THEIRS["rand"].values())[NAMES.index(name)]
        expected = numbers(31, 40, 64)[level].item()
        assert magnitude(name, mine, 40, 64) == pytest.approx(expected, abs=1e-5), name


def test_operations_magnitudes_and_signs_are_even_and_independent():
    params = drawn(SoftPolicy("rand", 2, 30), 20_000)
    pairs = torch.bincount(params.operation[:, 0] * 14 + params.operation[:, 1], minlength=196)
    assert stats.chisquare(pairs.numpy()).pvalue > 1e-3
    trivial = drawn(SoftPolicy(), 100_000)
    assert stats.chisquare(torch.bincount(trivial.operation[:, 0]).numpy()).pvalue > 1e-3
    strength = trivial.strength[trivial.operation == NAMES.index("rotate")].abs()
    bins = torch.bincount((strength * 30).round().long(), minlength=31)
    assert stats.chisquare(bins.numpy()).pvalue > 1e-3
    for index, operation in enumerate(OPERATIONS.values()):
        for found in (params, trivial):
            strength = found.strength[found.operation == index]
            below = (strength[strength != 0] < 0).double().mean().item()
            assert math.isnan(below) or below == pytest.approx(0.5 * operation.signed, abs=0.06)


def test_small_images_are_shifted_out_by_at_most_an_edge():
    params = drawn(SoftPolicy(), 20_000, 8, 8)
    shift = params.operation == NAMES.index("translate-x")
    assert params.strength[shift].abs().max() == 1
    assert params.visible[shift[:, 0]].min() == 0


@each_policy
def test_each_image_gets_its_operations_one_after_the_other(policy, monkeypatch):
    images = pictures(100, 3, 24, 32)
    params = policy.draw(images, key=key_of(100))
    out, visible = policy.apply(images, params), []
    for image, ours, steps in zip(images, out, policy.describe(params), strict=True):
        expected = image[None]
        for name, strength in steps:
            strength = torch.tensor([strength], dtype=torch.float64)
            expected = apply_operation(name, expected, strength, policy.fill)
        assert torch.equal(ours, expected[0]), steps
        each = [measure_in_frame(n, torch.tensor([s]).double(), 24, 32).item() for n, s in steps]
        visible.append(math.prod(each))
    assert params.visible.tolist() == pytest.approx(visible)
    monkeypatch.setattr(operations, "eager_on_cpu", lambda images: False)
    assert torch.equal(policy.apply(images, params), out)  # as on a GPU: all are computed


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


def test_gradients_reach_the_images():
    images = torch.rand(40, 3, 8, 8, requires_grad=True)
    SoftPolicy("rand")(images, torch.zeros(40).long())[0].sum().backward()
    assert images.grad.abs().sum() > 0


@pytest.mark.parametrize("policy", ["trivial", "rand"])
def test_every_magnitude_is_multiplied_by_the_strength(policy):
    weak, full = (drawn(SoftPolicy(policy, strength=s), 200) for s in (0.3, 1.0))
    assert torch.equal(weak.operation, full.operation)
    torch.testing.assert_close(weak.strength, 0.3 * full.strength)


def add_noise(image):
    return (image.float() + torch.rand(()) * 100).clamp(0, 255).byte()


def test_each_image_is_transformed_under_a_seed_of_its_own():
    each, images = PerSample(add_noise), pictures(1).expand(12, 3, 8, 10)
    params = each.draw(images, key=key_of(12))
    out = each.apply(images, params)
    assert len(out.unique(dim=0)) > 8
    torch.manual_seed(int(params.seed[4]))
    assert torch.equal(out[4], add_noise(images[4]))


def test_torchs_generator_is_left_as_it_was_even_after_an_error():
    def fail(image):
        raise KeyError(torch.rand(1))

    torch.manual_seed(1)
    before = torch.get_rng_state()
    PerSample(add_noise)(pictures(), torch.arange(12), key=key_of(12))
    with pytest.raises(KeyError):
        PerSample(fail)(pictures(), torch.arange(12), key=key_of(12))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_transform_that_changes_the_shape_is_refused():
    with pytest.raises(ValueError, match="PerSample: transform must keep shape and type, uint8"):
        PerSample(v2.Resize(4))(pictures(), torch.arange(12), key=DrawKey(0, 0, torch.arange(12)))
