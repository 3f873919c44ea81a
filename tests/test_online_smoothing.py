import math

import pytest
import torch
import torch.nn.functional as F

from softaug import OnlineSmoothing, SoftLabel, SoftLoss
from softaug.label import mix_labels

CLASSES = 4
LABELS = torch.tensor([0, 0, 1, 2, 3, 0])
OTHERS = torch.tensor([1, 0, 2, 2, 0, 3])
SOFT = SoftLabel(LABELS, torch.tensor([1.0, 0.0, 0.25, 0.5, 0.9, 0.01]))


def make_logits(seed=0):
    """Logits of which classes 0, 1 and 2 have samples classified right, and 3 has none."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(6, CLASSES, generator=generator)
    logits[torch.arange(4), LABELS[:4]] += 5
    logits[4:, 1] += 9
    return logits


def filled(epochs=1):
    smoothing = OnlineSmoothing(CLASSES)
    for epoch in range(epochs):
        smoothing.gather(make_logits(epoch), LABELS)
        smoothing.next_epoch()
    return smoothing


def test_the_first_epoch_smooths_evenly():
    target = OnlineSmoothing(CLASSES, share=0.4).target(LABELS)
    expected = 0.6 * F.one_hot(LABELS, CLASSES) + 0.4 / CLASSES
    torch.testing.assert_close(target, expected)


def test_rows_are_mean_predictions_of_samples_classified_right():
    smoothing, wanted = OnlineSmoothing(CLASSES), {c: [] for c in range(CLASSES)}
    for seed in range(3):
        logits = make_logits(seed)
        smoothing.gather(logits, LABELS)
        for row, label in zip(logits.softmax(1), LABELS.tolist(), strict=True):
            if row.argmax() == label:
                wanted[label].append(row)
    smoothing.next_epoch()
    assert [len(rows) for rows in wanted.values()] == [6, 3, 3, 0]
    for c in range(3):
        torch.testing.assert_close(smoothing.rows[c], torch.stack(wanted[c]).mean(0))
    assert smoothing.rows[3].tolist() == [0.25] * 4


def test_rows_are_of_the_last_epoch_alone_and_change_only_between_epochs():
    smoothing, logits = filled(epochs=2), make_logits(2).requires_grad_()
    before = smoothing.target(LABELS)
    SoftLoss(base=smoothing)(logits, LABELS)
    assert not smoothing.counts.any()
    smoothing.gather(logits, LABELS)
    assert torch.equal(smoothing.target(LABELS), before)
    smoothing.next_epoch()
    alone = OnlineSmoothing(CLASSES)
    alone.gather(make_logits(2), LABELS)
    alone.next_epoch()
    assert torch.equal(smoothing.rows, alone.rows)
    assert not smoothing.rows.requires_grad
    smoothing.next_epoch()  # without batches rows are even again
    assert torch.equal(smoothing.rows, torch.full((CLASSES, CLASSES), 0.25))


def test_a_diverged_sample_leaves_no_trace():
    smoothing, logits = OnlineSmoothing(CLASSES), make_logits()
    logits[0] = math.nan
    smoothing.gather(logits, LABELS)
    assert smoothing.counts.tolist() == [1, 1, 1, 0]
    assert bool(smoothing.sums.isfinite().all())


def test_soft_and_mixed_labels_count_for_their_class():
    plain, soft, mixed = (OnlineSmoothing(CLASSES) for _ in range(3))
    plain.gather(make_logits(), LABELS)
    soft.gather(make_logits(), SOFT)
    mixed.gather(make_logits(), mix_labels(OTHERS, SOFT, 0.3))  # LABELS have the larger share
    assert torch.equal(soft.sums, plain.sums)
    assert torch.equal(mixed.sums, plain.sums)


def test_the_papers_loss_is_half_hard_and_half_soft_cross_entropy():
    smoothing, logits = filled(), make_logits(5).requires_grad_()
    hard = F.cross_entropy(logits, LABELS)
    soft = F.cross_entropy(logits, smoothing.rows[LABELS])
    (expected,) = torch.autograd.grad(0.5 * hard + 0.5 * soft, logits)
    (found,) = torch.autograd.grad(SoftLoss(base=smoothing)(logits, LABELS), logits)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("soften", ["none", "target", "weight", "both"])
def test_softening_starts_from_the_base_also_of_mixed_labels(soften):
    smoothing, logits = filled(), make_logits(5)
    kept = SOFT.retained if soften in ("target", "both") else torch.ones(6)
    base = smoothing.target(LABELS)
    target = kept[:, None] * base + (1 - kept[:, None]) / CLASSES
    weight = SOFT.confidence(CLASSES) if soften in ("weight", "both") else torch.ones(6)
    loss, log_q = SoftLoss(soften, reduction="none", base=smoothing), logits.log_softmax(1)
    expected = F.kl_div(log_q, target, reduction="none").sum(1)
    torch.testing.assert_close(loss(logits, SOFT), weight * expected)
    mixed = mix_labels(SOFT, OTHERS, 0.3)
    target = 0.3 * target + 0.7 * smoothing.target(OTHERS)
    expected = F.kl_div(log_q, target, reduction="none").sum(1)
    torch.testing.assert_close(loss(logits, mixed), (0.3 * weight + 0.7) * expected)


def test_a_checkpoint_holds_the_running_epoch_and_state_follows_the_loss():
    smoothing = filled()
    smoothing.gather(make_logits(7), LABELS)
    loss = SoftLoss(base=OnlineSmoothing(CLASSES, share=0.25))
    loss.load_state_dict(SoftLoss(base=smoothing).state_dict())
    for name in ("rows", "sums", "counts"):
        assert torch.equal(getattr(loss.base, name), getattr(smoothing, name))
    assert "OnlineSmoothing(num_classes=4, share=0.25)" in repr(loss)
    assert loss.to("meta").base.rows.device.type == "meta"


def test_nothing_is_read_off_the_cpu():
    loss, logits, labels = (part.to("meta") for part in (SoftLoss(), make_logits(), LABELS))
    loss.base = OnlineSmoothing(CLASSES).to("meta")
    assert loss(logits, labels).shape == ()
    loss.base.gather(logits, mix_labels(labels, labels, 0.5))
    loss.base.next_epoch()


LOGITS = make_logits()
BAD = [
    (lambda: OnlineSmoothing(1), "OnlineSmoothing: num_classes must be a whole number >= 2"),
    (lambda: OnlineSmoothing(4, 1.5), "OnlineSmoothing: share must be a number in 0..1"),
    (lambda: OnlineSmoothing(3).gather(LOGITS, LABELS), "logits must be [B, C] of 3 classes"),
    (lambda: filled().gather(LOGITS, LABELS[:2]), "one for each of the 6 logits"),
    (lambda: filled().gather(LOGITS, LABELS.float()), "labels must be integers"),
    (lambda: filled().gather(LOGITS, LABELS + 1), "labels must be in 0..3, got 4"),
    (lambda: SoftLoss(base=0.5), "SoftLoss: base must be an OnlineSmoothing or None, got float"),
    (lambda: SoftLoss(label_smoothing=0.1, base=filled()), "label_smoothing or base, not both"),
    (lambda: SoftLoss(base=OnlineSmoothing(3))(LOGITS, LABELS), "base must be for the model's 4"),
    (lambda: SoftLoss(base=filled())(LOGITS.to("meta"), LABELS.to("meta")), "cpu; move the loss"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match="got") as error:
        call()
    assert message in str(error.value)
