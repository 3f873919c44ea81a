import itertools

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from softaug import SoftLabel, SoftLoss

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


def make_logits(rows=6, classes=CLASSES, *, seed=0, scale=3.0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(rows, classes, generator=generator, dtype=dtype)


def gradient(loss_of, logits):
    leaf = logits.detach().clone().requires_grad_()
    loss_of(leaf).sum().backward()
    return leaf.grad


def dense_target(kept, prior, alpha):
    """Eqs. 3 and 4 written out: r * smoothed one-hot + (1 - r) * prior."""
    base = torch.full((len(LABELS), CLASSES), alpha / (CLASSES - 1), dtype=torch.float64)
    base[torch.arange(len(LABELS)), LABELS] = 1 - alpha
    chance = torch.full((CLASSES,), 1 / CLASSES, dtype=torch.float64)
    table = chance if isinstance(prior, str) else prior
    rows = table[LABELS] if table.ndim == 2 else table
    return kept[:, None] * base + (1 - kept[:, None]) * rows


def dense_loss(logits, soften, weighting, prior, reduction, alpha):
    """The loss from its equations, with every target probability in memory."""
    kept = RETAINED if soften in ("target", "both") else torch.ones_like(RETAINED)
    target = dense_target(kept, prior, alpha)
    surprise = torch.where(target > 0, target.log(), 0) - logits.log_softmax(1)
    loss = (target * surprise).sum(1)
    weight = torch.ones_like(loss)
    if soften in ("weight", "both"):
        weight = 1 / CLASSES + (1 - 1 / CLASSES) * RETAINED  # Eq. 7
    if weighting == "batch_mean":
        weight = weight.mean() * torch.ones_like(loss)
    elif weighting == "normalized":
        weight = weight / weight.mean()
    loss = weight * loss
    return {"mean": loss.mean(), "sum": loss.sum(), "none": loss}[reduction]


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("soften", SOFTEN)
def test_loss_and_gradient_equal_the_dense_formula(soften, weighting, prior, reduction, alpha):
    settings = (soften, weighting, PRIORS[prior], reduction)
    loss = SoftLoss(*settings, label_smoothing=alpha)
    logits, label = make_logits(), SoftLabel(LABELS, RETAINED)
    expected = dense_loss(logits, *settings, alpha)
    torch.testing.assert_close(loss(logits, label), expected, rtol=1e-10, atol=1e-12)
    found = gradient(lambda x: loss(x, label), logits)
    expected = gradient(lambda x: dense_loss(x, *settings, alpha), logits)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("soften", SOFTEN)
def test_gradient_is_the_slope_of_the_loss(soften, prior, alpha):
    loss = SoftLoss(soften, prior=PRIORS[prior], reduction="none", label_smoothing=alpha)
    logits = make_logits().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x, SoftLabel(LABELS, RETAINED)), logits)


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


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [("sample", [0.25, 1.0]), ("batch_mean", [0.625, 0.625]), ("normalized", [0.4, 1.6])],
)
def test_weights_equal_values_worked_by_hand(weighting, expected):
    label = SoftLabel(torch.tensor([0, 1]), torch.tensor([0.0, 1.0]))
    loss = SoftLoss("weight", weighting, reduction="none")(torch.zeros(2, 4), label)
    torch.testing.assert_close(loss / torch.tensor(4.0).log(), torch.tensor(expected))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("soften", SOFTEN)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_plain_labels_give_cross_entropy(soften, reduction, dtype):
    logits, loss = make_logits(dtype=dtype), SoftLoss(soften, reduction=reduction)
    expected = F.cross_entropy(logits, LABELS, reduction=reduction)
    torch.testing.assert_close(loss(logits, LABELS), expected)
    found = gradient(lambda x: loss(x, LABELS), logits)
    expected = gradient(lambda x: F.cross_entropy(x, LABELS, reduction=reduction), logits)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(("weighting", "prior"), list(itertools.product(WEIGHTINGS, PRIORS)))
def test_whole_images_give_cross_entropy(weighting, prior):
    logits, whole = make_logits(), SoftLabel(LABELS, torch.ones(len(LABELS)))
    loss = SoftLoss("both", weighting, PRIORS[prior])
    torch.testing.assert_close(loss(logits, whole), F.cross_entropy(logits, LABELS))
    found = gradient(lambda x: loss(x, whole), logits)
    torch.testing.assert_close(found, gradient(lambda x: F.cross_entropy(x, LABELS), logits))


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5])
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


def test_smoothing_touches_the_target_and_never_the_weight():
    logits, label = torch.zeros(len(LABELS), CLASSES).double(), SoftLabel(LABELS, RETAINED)
    both = SoftLoss("both", reduction="none", label_smoothing=0.2)(logits, label)
    target = SoftLoss("target", reduction="none", label_smoothing=0.2)(logits, label)
    confidence = label.confidence(CLASSES)
    torch.testing.assert_close(both, confidence * target)


def test_undistributed_soft_target_has_the_gradient_of_the_soft_weight():
    label, logits = SoftLabel(LABELS, RETAINED), make_logits()
    p = label.confidence(CLASSES)

    def soft_target(x):  # Eq. 16: p log(p / q), nothing for the other classes
        log_q = x.log_softmax(1)[torch.arange(len(LABELS)), LABELS]
        return p * (p.log() - log_q)

    def soft_weight(x):  # Eq. 17
        return SoftLoss("weight", reduction="sum")(x, label)

    torch.testing.assert_close(gradient(soft_target, logits), gradient(soft_weight, logits))
    assert not torch.isclose(soft_target(logits).sum(), soft_weight(logits))


def test_batch_mean_is_what_broadcasting_the_releases_weight_gives():
    logits, label = make_logits(), SoftLabel(LABELS, RETAINED)
    divergence = SoftLoss("target", reduction="none")(logits, label)
    broadcast = (label.confidence(CLASSES)[:, None] * divergence).mean()  # [B, 1] * [B]
    torch.testing.assert_close(SoftLoss(weighting="batch_mean")(logits, label), broadcast)


def test_soft_target_loss_equals_kl_div_of_the_dense_label():
    logits, label = make_logits(), SoftLabel(LABELS, RETAINED)
    expected = F.kl_div(logits.log_softmax(1), label.dense(CLASSES), reduction="batchmean")
    torch.testing.assert_close(SoftLoss("target")(logits, label), expected)


def test_loss_is_zero_where_the_prediction_is_the_target():
    kept = RETAINED.clamp(0.01, 0.99)
    logits = SoftLabel(LABELS, kept).dense(CLASSES).log()
    loss = SoftLoss(reduction="none")(logits, SoftLabel(LABELS, kept))
    torch.testing.assert_close(loss, torch.zeros_like(loss))


@pytest.mark.parametrize("prior", PRIORS)
def test_loss_leaves_its_inputs_as_they_were(prior):
    logits, label = make_logits(), SoftLabel(LABELS.clone(), RETAINED.clone())
    SoftLoss(prior=PRIORS[prior])(logits, label)
    assert torch.equal(logits, make_logits())
    assert torch.equal(label.label, LABELS)
    assert torch.equal(label.retained, RETAINED)


EXTREMES = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0], [1e4, 1e4, 1e4], [-1e4, -1e4, 1e4]])


@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("soften", SOFTEN)
@pytest.mark.parametrize("prior", ["uniform", [0.0, 0.25, 0.75]])
def test_loss_and_gradient_are_finite_at_extreme_logits(soften, dtype, kept, prior):
    logits = EXTREMES.to(dtype, copy=True).requires_grad_()
    label = SoftLabel(torch.tensor([1, 1, 2, 0]), torch.full((4,), kept))
    loss = SoftLoss(soften, prior=prior)(logits, label)
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()
    assert logits.grad.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_computed_in_float32(dtype):
    logits, label = make_logits().to(dtype), SoftLabel(LABELS, RETAINED)
    loss = SoftLoss()(logits, label)
    assert loss.dtype == torch.float32
    assert loss == SoftLoss()(logits.float(), label)


def test_autocast_changes_nothing_but_the_logits():
    layer, inputs = torch.nn.Linear(8, CLASSES), torch.ones(len(LABELS), 8)
    with torch.autocast("cpu", torch.bfloat16):
        logits = layer(inputs)
        loss = SoftLoss()(logits, SoftLabel(LABELS, RETAINED))
    loss.backward()
    assert logits.dtype == torch.bfloat16
    assert loss == SoftLoss()(logits.float(), SoftLabel(LABELS, RETAINED))
    assert layer.weight.grad.isfinite().all()


def test_soften_none_ignores_what_is_retained():
    logits = make_logits()
    loss = SoftLoss("none")(logits, SoftLabel(LABELS, RETAINED))
    torch.testing.assert_close(loss, F.cross_entropy(logits, LABELS))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_labels_of_any_whole_type_are_the_same(dtype):
    logits = make_logits()
    loss = SoftLoss()(logits, SoftLabel(LABELS.to(dtype), RETAINED))
    assert loss == SoftLoss()(logits, SoftLabel(LABELS, RETAINED))


def test_priors_and_settings_follow_the_module():
    loss = SoftLoss("target", prior=ROW, label_smoothing=0.1)
    assert loss.state_dict() == {}
    assert loss.to("meta").prior.device.type == "meta"
    shown = "soften='target', weighting='sample', prior='tensor of shape [5]', reduction='mean'"
    assert repr(loss) == f"SoftLoss({shown}, validate=None, label_smoothing=0.1)"


def test_a_prior_given_as_lists_equals_one_given_as_a_tensor():
    logits, label = make_logits(), SoftLabel(LABELS, RETAINED)
    as_tensor = SoftLoss(prior=PRIORS["[C, C]"])(logits, label)
    assert SoftLoss(prior=PRIORS["[C, C]"].tolist())(logits, label) == as_tensor


def test_uniform_prior_equals_a_uniform_vector():
    logits, label = make_logits(), SoftLabel(LABELS, RETAINED)
    vector = SoftLoss(prior=torch.full((CLASSES,), 1 / CLASSES))(logits, label)
    torch.testing.assert_close(SoftLoss()(logits, label), vector, rtol=1e-6, atol=1e-6)


@st.composite
def cases(draw):
    """Random logits and labels, and the settings of a loss."""
    rows, classes = draw(st.integers(1, 6)), draw(st.integers(2, 40))
    dtype = draw(st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]))
    scale = draw(st.sampled_from([0.0, 1e-3, 1.0, 30.0, 1e3]))
    logits = make_logits(rows, classes, seed=draw(st.integers(0, 99)), scale=scale).to(dtype)
    labels = torch.tensor(draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows)))
    kept = torch.tensor(draw(st.lists(st.floats(0, 1), min_size=rows, max_size=rows)))
    smoothing = draw(st.sampled_from([0.0, 0.1, 0.9]))
    loss = SoftLoss(
        draw(st.sampled_from(SOFTEN)),
        draw(st.sampled_from(WEIGHTINGS)),
        reduction="none",
        label_smoothing=smoothing,
    )
    return logits, SoftLabel(labels, kept), loss


@given(cases())
def test_loss_is_finite_and_not_negative(case):
    logits, label, loss = case
    found = loss(logits.requires_grad_(), label)
    found.sum().backward()
    assert found.shape == label.label.shape
    assert bool((found >= -1e-5 * (1 + logits.detach().abs().max())).all())
    assert bool(logits.grad.isfinite().all())


@given(cases(), st.randoms(use_true_random=False))
def test_loss_follows_a_reordering_of_the_samples(case, random):
    logits, label, loss = case
    order = torch.tensor(random.sample(range(len(logits)), len(logits)))
    found = loss(logits[order], SoftLabel(label.label[order], label.retained[order]))
    torch.testing.assert_close(found, loss(logits, label)[order])


@given(cases(), st.randoms(use_true_random=False))
def test_loss_is_blind_to_a_renaming_of_the_classes(case, random):
    logits, label, loss = case
    order = torch.tensor(random.sample(range(logits.shape[1]), logits.shape[1]))
    renamed = SoftLabel(order.argsort()[label.label], label.retained)
    found, expected = loss(logits[:, order], renamed), loss(logits, label)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@given(cases())
def test_gradient_of_each_sample_sums_to_zero(case):
    logits, label, loss = case
    logits = logits.double().requires_grad_()  # softmax ignores a constant added to a row
    loss(logits, label).sum().backward()
    torch.testing.assert_close(logits.grad.sum(1), torch.zeros(len(logits)).double())


@pytest.mark.parametrize("label", [torch.arange(3), SoftLabel(torch.arange(3), torch.rand(3))])
def test_a_prior_for_other_classes_is_refused_even_where_it_is_not_used(label):
    with pytest.raises(ValueError, match="prior must be for the model's 5 classes, got one for 2"):
        SoftLoss(soften="none", prior=[0.5, 0.5])(torch.zeros(3, 5), label)


def test_a_prior_on_another_device_says_how_to_move_the_loss():
    loss, logits = SoftLoss(prior=[0.5, 0.5]), torch.zeros(3, 2, device="meta")
    with pytest.raises(ValueError, match=r"got cpu; move the loss: loss\.to\(device\)"):
        loss(logits, torch.zeros(3, dtype=torch.int64, device="meta"))


def test_no_gradient_flows_into_retained():
    kept = torch.ones(2, requires_grad=True)
    logits = torch.zeros(2, 3, requires_grad=True)
    SoftLoss()(logits, SoftLabel(torch.tensor([0, 1]), kept)).backward()
    assert kept.grad is None


def test_unsigned_labels_are_labels():
    labels = torch.tensor([0, 2], dtype=torch.uint16)
    torch.testing.assert_close(SoftLoss()(torch.zeros(2, 3), labels), torch.tensor(3.0).log())


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
    assert torch.equal(loss(logits, SoftLabel(LABELS, RETAINED)), expected)
