"""`SoftLoss` on `MixedLabel`s."""

import pytest
import torch

from softaug import MixedLabel, SoftLabel, SoftLoss
from softaug.label import mix_labels

CLASSES = 5
ROW = torch.tensor([1.0, 2.0, 5.0, 0.0, 8.0], dtype=torch.float64) / 16  # exact in float32
PRIORS = {
    "uniform": "uniform",
    "[C]": ROW,
    "[C, C]": torch.stack([ROW.roll(shift) for shift in range(CLASSES)]),
}
SOFTEN = ["none", "target", "weight", "both"]
WEIGHTINGS = ["sample", "batch_mean", "normalized"]
LABELS = torch.tensor([[3, 1], [0, 0], [4, 2], [1, 3]])  # the second is one class twice
KEPT = torch.tensor([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5], [0.0, 1.0]], dtype=torch.float64)
SHARE = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.125, 0.875], [0.75, 0.25]], dtype=torch.float64)
MIXED = MixedLabel(LABELS, KEPT, SHARE)
FIRST, SECOND = (SoftLabel(LABELS[:, i], KEPT[:, i]) for i in range(2))


def make_logits(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(len(LABELS), CLASSES, generator=generator, dtype=dtype)


def one_loss(logits, row, soften, prior, alpha):
    """Loss and weight of one sample, from the equations, number by number."""
    target, weight = torch.zeros(CLASSES, dtype=torch.float64), 0.0
    for label, kept, share in zip(LABELS[row], KEPT[row], SHARE[row], strict=True):
        r = kept if soften in ("target", "both") else 1.0
        for c in range(CLASSES):
            base = 1 - alpha if c == label else alpha / (CLASSES - 1)
            table = prior if isinstance(prior, str) or prior.ndim == 1 else prior[label]
            rest = 1 / CLASSES if isinstance(table, str) else table[c]
            target[c] += share * (r * base + (1 - r) * rest)
        softened = kept if soften in ("weight", "both") else 1.0
        weight += share * (1 / CLASSES + (1 - 1 / CLASSES) * softened)
    found = [t * (t.log() - q) for t, q in zip(target, logits.log_softmax(0), strict=True) if t > 0]
    return sum(found), weight


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("soften", SOFTEN)
def test_loss_of_mixed_labels_equals_the_equations(soften, weighting, prior, alpha):
    logits = make_logits()
    pairs = [one_loss(logits[i], i, soften, PRIORS[prior], alpha) for i in range(len(LABELS))]
    loss, weight = torch.tensor(pairs, dtype=torch.float64).T
    mean = weight.mean()
    factor = {"sample": weight, "batch_mean": mean, "normalized": weight / mean}[weighting]
    ours = SoftLoss(soften, weighting, PRIORS[prior], "none", label_smoothing=alpha)
    torch.testing.assert_close(ours(logits, MIXED), factor * loss, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("soften", SOFTEN)
def test_gradient_is_the_slope_of_the_loss(soften, prior):
    loss = SoftLoss(soften, prior=PRIORS[prior], reduction="none")
    assert torch.autograd.gradcheck(lambda x: loss(x, MIXED), make_logits().requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("soften", SOFTEN)
def test_a_share_of_all_gives_the_loss_of_that_image(soften, prior, dtype):
    loss, logits = SoftLoss(soften, prior=PRIORS[prior], reduction="none"), make_logits(dtype)
    whole = mix_labels(FIRST, SECOND, 1.0)
    torch.testing.assert_close(loss(logits, whole), loss(logits, FIRST))
    none = mix_labels(FIRST, SECOND, 0.0)
    torch.testing.assert_close(loss(logits, none), loss(logits, SECOND))


@pytest.mark.parametrize("soften", SOFTEN)
def test_the_two_images_may_be_swapped(soften):
    loss, logits = SoftLoss(soften, reduction="none", label_smoothing=0.1), make_logits()
    swapped = MixedLabel(*(part.flip(1) for part in MIXED))
    torch.testing.assert_close(loss(logits, swapped), loss(logits, MIXED))


def test_mixing_an_image_with_itself_changes_nothing():
    logits = make_logits()
    twice = mix_labels(FIRST, FIRST, 0.3)
    torch.testing.assert_close(SoftLoss()(logits, twice), SoftLoss()(logits, FIRST))


def test_whole_images_give_torchs_cross_entropy_less_the_targets_entropy():
    logits, whole = make_logits(), mix_labels(LABELS[:, 0], LABELS[:, 1], SHARE[:, 0])
    target = whole.dense(CLASSES).double()
    theirs = torch.nn.functional.cross_entropy(logits, target, reduction="none")
    entropy = -torch.xlogy(target, target).sum(1)
    found = SoftLoss(reduction="none")(logits, whole)
    torch.testing.assert_close(found, theirs - entropy, rtol=1e-6, atol=1e-6)


def test_mixed_loss_equals_a_value_worked_by_hand():
    mixed = mix_labels(torch.tensor([0]), torch.tensor([1]), 0.75)
    loss = SoftLoss()(torch.zeros(1, 2), mixed)  # 1/4 log 1/2 + 3/4 log 3/2, weight 1
    assert loss.item() == pytest.approx(0.130812, abs=1e-6)
    soft = mix_labels(SoftLabel(torch.tensor([0]), torch.tensor([0.5])), torch.tensor([0]), 0.5)
    loss = SoftLoss("weight")(torch.zeros(1, 2), soft)  # weight (3/4 + 1) / 2 times log 2
    assert loss.item() == pytest.approx(0.875 * 0.693147, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_loss_and_gradient_are_finite_at_extreme_logits(dtype):
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]], dtype=dtype, requires_grad=True)
    loss = SoftLoss()(logits, mix_labels(torch.tensor([0, 0]), torch.tensor([1, 0]), 0.3))
    loss.backward()
    assert loss.isfinite()
    assert bool(logits.grad.isfinite().all())


def test_no_gradient_flows_into_the_shares():
    share = torch.full((len(LABELS),), 0.5, requires_grad=True)
    SoftLoss()(make_logits().requires_grad_(), mix_labels(FIRST, SECOND, share)).backward()
    assert share.grad is None


def test_the_loss_of_mixed_labels_reads_no_value_off_the_cpu():
    assert SoftLoss()(make_logits().to("meta"), MIXED.to("meta")).shape == ()


@pytest.mark.parametrize("validate", [None, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS[:, 0]}, r"labels must be a tensor \[B, 2\] with two values for each"),
        ({"labels": LABELS.double()}, "labels must be integers"),
        ({"labels": LABELS + 3}, "label 7 is outside the model's 5 classes"),
        ({"retained": KEPT[:2]}, r"retained must be a tensor \[B, 2\]"),
        ({"retained": KEPT + 0.5}, r"retained must be in \[0, 1\], got 1.5 \(sample 0\)"),
        ({"share": LABELS}, "share must be floating point"),
        ({"share": SHARE - 0.5}, r"share must be in \[0, 1\], got -0.5 \(sample 0\)"),
        ({"share": SHARE * torch.tensor([1, 0.5])}, r"sum to 1, got \[0.5, 0.25\] \(sample 1\)"),
        ({"share": SHARE.to("meta")}, r"share must be on the logits' device cpu, got meta; use"),
    ],
)
def test_bad_mixed_labels_are_refused(change, message, validate):
    with pytest.raises(ValueError, match=message):
        SoftLoss(validate=validate)(make_logits(), MIXED._replace(**change))
