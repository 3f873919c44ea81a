import itertools
import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from softaug import SoftBCELoss, SoftLabel, SoftLoss
from softaug.label import mix_labels
from softaug.softening import all_reduce_mean, batch_weights

CLASSES = 5
ROW = torch.tensor([1.0, 2.0, 5.0, 0.0, 8.0], dtype=torch.float64) / 16  # exact in float32
PRIORS = {
    "uniform": "uniform",
    "[C]": ROW,
    "[C, C]": torch.stack([ROW.roll(shift) for shift in range(CLASSES)]),
}
SOFTEN = ["none", "target", "weight", "both"]
WEIGHTINGS = ["sample", "batch_mean", "normalized"]
REDUCTIONS = ["mean", "sum", "none"]
LABELS = torch.tensor([3, 0, 4, 1, 1, 2])
RETAINED = torch.tensor([1.0, 0.0, 0.25, 0.5, 0.9, 0.01], dtype=torch.float64)
SOFT = SoftLabel(LABELS, RETAINED)
OTHER = SoftLabel(torch.tensor([3, 1, 0, 2, 1, 4]), RETAINED.flip(0))
SHARE = torch.tensor([1.0, 0.5, 0.125, 0.75, 0.0, 0.3], dtype=torch.float64)
PROBS = 0.3 * F.one_hot(LABELS, CLASSES).double() + 0.7 / CLASSES
KINDS = {
    "indices": SOFT,
    "mixed": mix_labels(SOFT, OTHER, SHARE),
    "probabilities": SoftLabel(PROBS, RETAINED),
}
EACH_KIND = pytest.mark.parametrize("kind", KINDS)
EACH_SOFTEN = pytest.mark.parametrize("soften", SOFTEN)


def make_logits(rows=6, classes=CLASSES, *, seed=0, scale=3.0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(rows, classes, generator=generator, dtype=dtype)


def gradient(loss_of, logits):
    leaf = logits.detach().clone().requires_grad_()
    loss_of(leaf).sum().backward()
    return leaf.grad


def dense_target(probs, kept, prior, alpha):
    """Eqs. 3 and 4 written out: r * smoothed label + (1 - r) * prior."""
    smoothed = torch.full((CLASSES, CLASSES), alpha / (CLASSES - 1), dtype=torch.float64)
    smoothed.fill_diagonal_(1 - alpha)
    chance = torch.full((CLASSES,), 1 / CLASSES, dtype=torch.float64)
    table = chance if isinstance(prior, str) else prior
    rows = probs @ table if table.ndim == 2 else table
    return kept[:, None] * (probs @ smoothed) + (1 - kept[:, None]) * rows


def dense_loss(kind, soften, weighting, prior, reduction, alpha, gamma, logits):
    """The loss from its equations, with every target probability in memory."""
    target, weight = 0, 0
    probs = PROBS if kind == "probabilities" else F.one_hot(LABELS, CLASSES).double()
    parts = [(probs, RETAINED, SHARE if kind == "mixed" else torch.ones_like(SHARE))]
    if kind == "mixed":
        parts.append((F.one_hot(OTHER.label, CLASSES).double(), OTHER.retained, 1 - SHARE))
    for probs, kept, share in parts:
        used = kept if soften in ("target", "both") else torch.ones_like(kept)
        target = target + share[:, None] * dense_target(probs, used, prior, alpha)
        used = kept if soften in ("weight", "both") else torch.ones_like(kept)
        weight = weight + share * (1 / CLASSES + (1 - 1 / CLASSES) * used)  # Eq. 7
    log_p = logits.log_softmax(1)
    focal = (1 - log_p.exp()) ** gamma if gamma else 1
    loss = (torch.xlogy(target, target) - target * focal * log_p).sum(1)
    mean = weight.mean().expand_as(weight)
    factor = {"sample": weight, "batch_mean": mean, "normalized": weight / mean}[weighting]
    return {"mean": torch.mean, "sum": torch.sum, "none": lambda x: x}[reduction](factor * loss)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@EACH_KIND
@EACH_SOFTEN
def test_loss_and_gradient_equal_the_dense_formula(soften, kind, gamma):
    logits = make_logits()
    for weighting, prior, alpha in itertools.product(WEIGHTINGS, PRIORS.values(), (0.0, 0.1)):
        for reduction in REDUCTIONS if weighting == "sample" else REDUCTIONS[:1]:
            settings = (soften, weighting, prior, reduction)
            loss = SoftLoss(*settings, label_smoothing=alpha, focal_gamma=gamma)
            ours = partial(loss, label=KINDS[kind])
            theirs = partial(dense_loss, kind, *settings, alpha, gamma)
            for found, expected in (
                (ours(logits), theirs(logits)),
                (gradient(ours, logits), gradient(theirs, logits)),
            ):
                torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


@EACH_KIND
@EACH_SOFTEN
def test_max_suppression_adds_the_top_logit_less_the_mean_before_weights(soften, kind):
    def slow(logits):
        plain = {
            name: SoftLoss(name, reduction="none")(logits.detach(), KINDS[kind])
            for name in ("none", "weight")
        }
        weight = plain["weight"] / plain["none"] if soften in ("weight", "both") else 1.0
        penalty = torch.stack([row.max() - row.sum() / CLASSES for row in logits])
        return SoftLoss(soften, reduction="none")(logits, KINDS[kind]) + 0.3 * weight * penalty

    ours = SoftLoss(soften, reduction="none", max_suppression=0.3)
    logits = make_logits()
    torch.testing.assert_close(ours(logits, KINDS[kind]), slow(logits))
    found = gradient(partial(ours, label=KINDS[kind]), logits)
    torch.testing.assert_close(found, gradient(slow, logits))


def test_max_suppression_is_torchs_label_smoothing_where_the_answer_is_right():
    logits = make_logits()
    labels = logits.argmax(1)
    expected = F.cross_entropy(logits, labels, label_smoothing=0.1)
    torch.testing.assert_close(SoftLoss(max_suppression=0.1)(logits, labels), expected)


@EACH_KIND
@pytest.mark.parametrize(("gamma", "prior"), [(0, "uniform"), (0, "[C, C]"), (0.5, "[C]")])
def test_gradient_is_the_slope_of_the_loss(kind, gamma, prior):
    loss = SoftLoss(prior=PRIORS[prior], reduction="none", label_smoothing=0.1, focal_gamma=gamma)
    assert torch.autograd.gradcheck(lambda x: loss(x, KINDS[kind]), make_logits().requires_grad_())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_every_way_to_differentiate_gives_the_same(smoothing):
    """Once, twice, through a graph that is kept, by torch.func, forward, of bfloat16."""
    loss = SoftLoss(label_smoothing=smoothing)
    logits, dense = make_logits().requires_grad_(), torch.full((CLASSES,), 1 / CLASSES)
    slow = SoftLoss(prior=dense, label_smoothing=smoothing)
    expected = gradient(lambda x: slow(x, SOFT), logits)
    value = loss(logits, SOFT)
    for _ in range(2):
        (slope,) = torch.autograd.grad(value, logits, retain_graph=True)
        torch.testing.assert_close(slope, expected)
    torch.testing.assert_close(torch.func.grad(lambda x: loss(x, SOFT))(logits), expected)
    _, along = torch.func.jvp(lambda x: loss(x, SOFT), (logits.detach(),), (expected,))
    torch.testing.assert_close(along, (expected**2).sum())
    assert torch.autograd.gradgradcheck(lambda x: loss(x, SOFT), logits)
    half = gradient(lambda x: loss(x, SOFT), logits.bfloat16())
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.double(), expected, atol=5e-3, rtol=5e-2)


@pytest.mark.parametrize(
    ("soften", "first", "second"),
    [
        ("none", 0.126928, 0.693147),  # log(1 + e^-2), log 2
        ("target", 0.126928, 0.130812),  # 1/4 log 1/2 + 3/4 log 3/2
        ("weight", 0.126928, 0.519860),  # confidence 3/4 times log 2
        ("both", 0.126928, 0.098109),
    ],
)
def test_loss_equals_values_worked_by_hand(soften, first, second):
    logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    label = SoftLabel(torch.tensor([0, 1]), torch.tensor([1.0, 0.5]))
    loss = SoftLoss(soften, reduction="none")(logits, label)
    torch.testing.assert_close(loss, torch.tensor([first, second]), atol=1e-6, rtol=0)


def test_mixed_and_focal_losses_equal_values_worked_by_hand():
    mixed = mix_labels(torch.tensor([0]), torch.tensor([1]), 0.75)
    loss = SoftLoss()(torch.zeros(1, 2), mixed)  # 1/4 log 1/2 + 3/4 log 3/2, weight 1
    assert loss.item() == pytest.approx(0.130812, abs=1e-6)
    soft = mix_labels(SoftLabel(torch.tensor([0]), torch.tensor([0.5])), torch.tensor([0]), 0.5)
    loss = SoftLoss("weight")(torch.zeros(1, 2), soft)  # weight (3/4 + 1) / 2 times log 2
    assert loss.item() == pytest.approx(0.875 * 0.693147, abs=1e-6)
    loss = SoftLoss(focal_gamma=2)(torch.zeros(1, 4), torch.tensor([1]))  # (3/4)^2 log 4
    assert loss.item() == pytest.approx(0.5625 * math.log(4))


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [("sample", [0.25, 1.0]), ("batch_mean", [0.625, 0.625]), ("normalized", [0.4, 1.6])],
)
def test_weights_equal_values_worked_by_hand(weighting, expected):
    label = SoftLabel(torch.tensor([0, 1]), torch.tensor([0.0, 1.0]))
    loss = SoftLoss("weight", weighting, reduction="none")(torch.zeros(2, 4), label)
    torch.testing.assert_close(loss / torch.tensor(4.0).log(), torch.tensor(expected))
    assert batch_weights(torch.zeros(4), weighting).tolist() == [0, 0, 0, 0]
    mean = all_reduce_mean(torch.tensor([1.0, 2.0]))
    assert (mean.item(), mean.dtype, mean.shape) == (1.5, torch.float32, ())


@EACH_SOFTEN
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_plain_labels_and_whole_images_give_cross_entropy(soften, dtype):
    logits = make_logits(dtype=dtype)
    for prior, reduction in itertools.product(PRIORS.values(), REDUCTIONS):
        expected = F.cross_entropy(logits, LABELS, reduction=reduction)
        for label in (LABELS, SoftLabel(LABELS, torch.ones(6)), LABELS.to(torch.uint16)):
            found = SoftLoss(soften, prior=prior, reduction=reduction)(logits, label)
            torch.testing.assert_close(found, expected)
    hard = SoftLoss("none")(logits, SOFT)
    torch.testing.assert_close(hard, F.cross_entropy(logits, LABELS))


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_smoothing_has_the_gradient_of_torchs_and_differs_by_the_entropy(alpha):
    logits, ours = make_logits(), SoftLoss(label_smoothing=alpha)
    eps = alpha * CLASSES / (CLASSES - 1)  # torch spreads over all classes, the paper over others
    found = gradient(lambda x: ours(x, LABELS), logits)
    expected = gradient(lambda x: F.cross_entropy(x, LABELS, label_smoothing=eps), logits)
    torch.testing.assert_close(found, expected)
    target = torch.tensor([1 - alpha] + [alpha / (CLASSES - 1)] * (CLASSES - 1)).double()
    entropy = -(target * target.log()).sum()
    theirs = F.cross_entropy(logits, LABELS, label_smoothing=eps)
    torch.testing.assert_close(ours(logits, LABELS), theirs - entropy)


def test_undistributed_soft_target_has_the_gradient_of_the_soft_weight():
    logits, p = make_logits(), SOFT.confidence(CLASSES)

    def soft_target(x):  # Eq. 16: p log(p / q), nothing for the other classes
        log_q = x.log_softmax(1)[torch.arange(len(LABELS)), LABELS]
        return p * (p.log() - log_q)

    def soft_weight(x):  # Eq. 17
        return SoftLoss("weight", reduction="sum")(x, SOFT)

    torch.testing.assert_close(gradient(soft_target, logits), gradient(soft_weight, logits))
    assert not torch.isclose(soft_target(logits).sum(), soft_weight(logits))


EXTREMES = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0], [1e4, 1e4, 1e4], [30.0, 0.0, 0.0]])


@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_loss_and_gradient_are_finite_at_extreme_logits(dtype, kept):
    label = SoftLabel(torch.tensor([1, 1, 2, 0]), torch.full((4,), kept))
    mixed = mix_labels(label, torch.tensor([0, 2, 2, 1]), 0.3)
    choices = SOFTEN, ["uniform", [0.0, 0.25, 0.75]], [0.0, 0.01, 2.0, 100.0], [label, mixed]
    for soften, prior, gamma, given_label in itertools.product(*choices):
        logits = EXTREMES.to(dtype, copy=True).requires_grad_()
        loss = SoftLoss(soften, prior=prior, focal_gamma=gamma)(logits, given_label)
        loss.backward()
        assert loss.isfinite()
        assert logits.grad.isfinite().all()
        assert logits.grad.dtype == dtype


def test_near_one_the_focal_factor_is_exact_in_float32():
    logits = torch.tensor([[20.0, 0.0]])  # 1 - p = 2.06e-9, below float32's step at 1
    found = SoftLoss(focal_gamma=1.0)(logits, torch.tensor([0]))
    unsure = math.exp(-20) / (1 + math.exp(-20))
    assert found.item() == pytest.approx(unsure * -math.log1p(-unsure), rel=1e-4)


def test_half_precision_and_autocast_are_computed_in_float32():
    layer, inputs = torch.nn.Linear(8, CLASSES), torch.ones(len(LABELS), 8)
    with torch.autocast("cpu", torch.bfloat16):
        logits = layer(inputs)
        loss = SoftLoss()(logits, SOFT)
    loss.backward()
    assert (logits.dtype, loss.dtype) == (torch.bfloat16, torch.float32)
    assert loss == SoftLoss()(logits.float(), SOFT)
    assert layer.weight.grad.isfinite().all()


def test_no_gradient_flows_into_the_label_and_inputs_stay_as_they_were():
    parts = [RETAINED.clone().requires_grad_() for _ in range(2)]
    share = torch.full((6,), 0.5, requires_grad=True)
    pair = [SoftLabel(LABELS.clone(), part) for part in parts]
    logits = make_logits().requires_grad_()
    SoftLoss(prior=ROW)(logits, mix_labels(*pair, share)).backward()
    assert [part.grad for part in (*parts, share)] == [None] * 3
    assert torch.equal(logits, make_logits())
    assert torch.equal(pair[0].label, LABELS)


def test_priors_and_settings_follow_the_module():
    loss = SoftLoss("target", prior=ROW, label_smoothing=0.1, focal_gamma=2)
    assert loss.state_dict() == {}
    assert loss.to("meta").prior.device.type == "meta"
    shown = "soften='target', weighting='sample', prior='tensor of shape [5]', reduction='mean'"
    assert repr(loss) == f"SoftLoss({shown}, validate=None, label_smoothing=0.1, focal_gamma=2.0)"
    as_lists = SoftLoss(prior=PRIORS["[C, C]"].tolist())(make_logits(), SOFT)
    assert as_lists == SoftLoss(prior=PRIORS["[C, C]"])(make_logits(), SOFT)


@st.composite
def cases(draw):
    """Random logits and labels, and the settings of a loss."""
    rows, classes = draw(st.integers(1, 6)), draw(st.integers(2, 40))
    dtype = draw(st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]))
    scale = draw(st.sampled_from([0.0, 1e-3, 1.0, 30.0, 1e3]))
    logits = make_logits(rows, classes, seed=draw(st.integers(0, 99)), scale=scale).to(dtype)
    labels = torch.tensor(draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows)))
    kept = torch.tensor(draw(st.lists(st.floats(0, 1), min_size=rows, max_size=rows)))
    soften, weighting = draw(st.sampled_from(SOFTEN)), draw(st.sampled_from(WEIGHTINGS))
    smoothing = draw(st.sampled_from([0.0, 0.1, 0.9]))
    loss = SoftLoss(soften, weighting, reduction="none", label_smoothing=smoothing)
    return logits, SoftLabel(labels, kept), loss


@settings(max_examples=25)
@given(cases())
def test_loss_is_not_negative_and_the_gradient_of_a_sample_sums_to_zero(case):
    logits, label, loss = case
    logits = logits.requires_grad_()
    found = loss(logits, label)
    found.sum().backward()
    assert bool((found >= -1e-5 * (1 + logits.detach().abs().max())).all())
    wide = gradient(lambda x: loss(x, label), logits.double())  # softmax ignores a constant
    torch.testing.assert_close(wide.sum(1), torch.zeros(len(logits)).double())


@settings(max_examples=25)
@given(cases(), st.randoms(use_true_random=False))
def test_loss_follows_reordered_samples_and_renamed_classes(case, random):
    logits, label, loss = case
    order = torch.tensor(random.sample(range(len(logits)), len(logits)))
    found = loss(logits[order], SoftLabel(label.label[order], label.retained[order]))
    torch.testing.assert_close(found, loss(logits, label)[order])
    order = torch.tensor(random.sample(range(logits.shape[1]), logits.shape[1]))
    renamed = SoftLabel(order.argsort()[label.label], label.retained)
    found, expected = loss(logits[:, order], renamed), loss(logits, label)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_uniform_prior_keeps_its_bits(alpha):
    """These steps in this order since the first release: results stay comparable."""
    logits, kept = make_logits(dtype=torch.float32), RETAINED.float()
    q = logits.log_softmax(1)
    other = kept * (alpha / (CLASSES - 1)) + (1 - kept) / CLASSES
    extra = kept * (1 - alpha * CLASSES / (CLASSES - 1))
    true = other + extra
    constant = torch.xlogy(true, true) + (CLASSES - 1) * torch.xlogy(other, other)
    everything, pick = q.sum(1), q.gather(1, LABELS[:, None]).squeeze(1)
    expected = constant - (extra * pick + other * everything)
    expected = expected * (1 / CLASSES + (1 - 1 / CLASSES) * kept)
    loss = SoftLoss(reduction="none", label_smoothing=alpha)
    assert torch.equal(loss(logits, SOFT), expected)


def test_multi_label_targets_move_to_the_prior_of_each_class():
    logits, truth = make_logits(dtype=torch.float32), PROBS.float().round()
    prior = torch.tensor([0.1, 0.2, 0.5, 0.9, 0.3])
    target = RETAINED.float()[:, None] * truth + (1 - RETAINED.float()[:, None]) * prior
    entropy = F.binary_cross_entropy(target, target, reduction="none")
    surprise = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    loss = SoftBCELoss("target", prior=prior, reduction="none")
    found = loss(logits, SoftLabel(truth, RETAINED))
    torch.testing.assert_close(found, (surprise - entropy).mean(1))
    plain = F.binary_cross_entropy_with_logits(logits, truth)  # of whole images
    torch.testing.assert_close(SoftBCELoss()(logits, truth), plain)


@pytest.mark.parametrize("prior", ["uniform", [1 / 7] * 7])
def test_a_smoothing_of_one_leaves_nothing_to_the_true_class(prior):
    loss = SoftLoss(label_smoothing=1.0, prior=prior)(torch.zeros(1, 7), torch.tensor([2]))
    assert loss.item() == pytest.approx(math.log(7 / 6), abs=1e-6)  # KL of 1/6 each to 1/7 each
