import json
import math

import pytest
import torch

from softaug import MixedLabel, Pacer, SoftCrop, SoftErase, SoftLabel, UniformCrop
from softaug.pacing import AccuracyHold, ConfidenceMatch
from tests.pacing.own_rule import LABELS, PLAIN, Line, answers


def paced(epochs=4, rule=None, **settings):
    return Pacer(SoftCrop("auto"), epochs, rule or Line(), **{**PLAIN, **settings})


def after(pacer, right):
    pacer.watch(answers(right), LABELS)
    pacer.next_epoch()
    return pacer.strength


def test_the_strength_rises_ahead_and_falls_behind_by_a_rule_of_ones_own():
    pacer = paced()  # the line is at 0.3125, 0.525, 0.7375, 0.95
    strengths = [after(pacer, right) for right in (4, 5, 8, 9)]
    assert strengths == pytest.approx([0.1 * 1.15, 0.1, 0.1 * 1.15, 0.1])
    assert pacer.lead == pytest.approx(-0.05)
    still = paced(rule=AccuracyHold(1))  # a lead of nothing changes nothing
    assert [after(still, right) for right in (2, 9, 4)] == [0.1] * 3


def test_the_strength_stays_within_its_limits():
    high, low = (paced(30, first=0.1, least=0.08, most=0.15) for _ in range(2))
    assert max(after(high, 10) for _ in range(9)) == high.strength == 0.15
    assert min(after(low, 0) for _ in range(9)) == low.strength == 0.08
    assert [paced(first=None, least=least).strength for least in (0.025, 0.2)] == [0.05, 0.2]
    assert paced(first=None, least=0.01, most=0.02).strength == 0.02


def test_by_itself_accuracy_is_held_from_half_way_and_the_last_tenth_settles():
    pacer, strengths = Pacer(SoftCrop("auto"), 20), []
    for epoch in range(20):
        strengths.append(pacer.strength)
        after(pacer, min(epoch, 10))  # right: 9 half way, 10 from then on
    rising = [min(0.05 * 1.3**steps, 0.3) for steps in range(8)]
    assert strengths == pytest.approx([0.05] * 10 + rising + [rising[-1] / 2] * 2)


def test_by_itself_a_long_training_is_held_from_its_20th_epoch_and_settles_for_four():
    pacer, strengths = Pacer(SoftCrop("auto"), 100, most=1e9), []
    for epoch in range(100):
        strengths.append(pacer.strength)
        after(pacer, 2 + (epoch >= 20))
    rising = [0.05 * 1.3**steps for steps in range(1, 76)]
    assert strengths == pytest.approx([0.05] * 21 + rising + [rising[-1] / 2] * 4)


@pytest.mark.parametrize(
    ("epochs", "settle", "near"),
    [(1, 0.1, 0), (2, 0.1, 1), (10, 0.1, 1), (11, 0.1, 2), (40, 0.1, 4), (10, 0.95, 9), (4, 0, 0)],
)
def test_the_epochs_that_settle_are_a_share_rounded_up_but_not_the_first(epochs, settle, near):
    pacer, strengths = paced(epochs, Line(0), first=0.3, least=0.1, settle=settle), []
    for _ in range(epochs):
        strengths.append(pacer.strength)
        after(pacer, 10)
    assert strengths == [0.3] * (epochs - near) + [0.15] * near
    assert pacer.strength == strengths[-1]
    low = paced(first=0.1, least=0.08, settle=0.5)  # half of it would be below the least
    assert [after(low, 0) for _ in range(4)] == pytest.approx([0.1 / 1.15, 0.08, 0.08, 0.08])


def test_softer_targets_ask_for_less():
    hard, soft = (paced(2, ConfidenceMatch(goal=1.0)) for _ in range(2))
    for pacer, kept in ((hard, 1.0), (soft, 0.3)):
        pacer.watch(answers(4), SoftLabel(LABELS, torch.full((10,), kept)))
        pacer.next_epoch()
    # given: 0.3 above chance; half way asked for: 0.45 of whole images, 0.135 of these
    assert hard.lead == pytest.approx(-0.15)
    assert soft.lead == pytest.approx(0.165)


def watch_curve(pacer, k, now):
    """Answers right as often as `k` says at three levels, of labels softened by `now`."""
    for lost, num_right in ((0.05, 100), (0.55, 100 * (1 - 0.55**k)), (0.85, 100 * (1 - 0.85**k))):
        labels = torch.zeros(100).long()
        right = torch.arange(100) < round(num_right)
        logits = torch.where(right[:, None], torch.tensor([9.0, 0]), torch.tensor([0, 9.0]))
        padded = torch.cat([logits, torch.full((100, 98), -9.0)], dim=1)
        pacer.watch(padded, SoftLabel(labels, torch.full((100,), 1 - lost**now)))


def test_k_follows_the_accuracy_at_what_is_visible_by_small_steps():
    crop = SoftCrop("auto", k="auto")
    pacer, found = Pacer(crop, 9, ConfidenceMatch(), **PLAIN), []
    for _ in range(9):
        watch_curve(pacer, k=4.0, now=pacer.k)
        pacer.next_epoch()
        found.append(pacer.k)
    assert found[:2] == pytest.approx([2 * 1.15, 2 * 1.15**2])
    assert found[-1] == pytest.approx(4.0, rel=0.05)  # wherever k was, so is the curve


def test_the_transform_softens_by_the_paced_k():
    crop = SoftCrop("auto", k="auto")
    Pacer(crop, 2, ConfidenceMatch(), first_k=3.0)
    torch.manual_seed(0)
    _, label = crop(torch.ones(8, 3, 16, 16), torch.zeros(8).long())
    torch.manual_seed(0)
    _, expected = SoftCrop(0.05, k=3.0)(torch.ones(8, 3, 16, 16), torch.zeros(8).long())
    torch.testing.assert_close(label, expected)


@pytest.mark.parametrize("rule", [ConfidenceMatch(), AccuracyHold(0.5)], ids=repr)
def test_a_state_taken_within_an_epoch_goes_on_to_the_same_strengths(rule):
    unbroken, begun = paced(rule=rule), paced(rule=rule)
    for pacer in (unbroken, begun):
        after(pacer, 6)
        pacer.watch(answers(3), LABELS)
    resumed = paced(rule=rule, first=0.3)
    state = json.loads(json.dumps(begun.state_dict()))
    state["sums"].append([5] * 5)  # older states have a row of images that were held out
    resumed.load_state_dict(state)
    for right in (9, 2):
        assert after(resumed, right) == after(unbroken, right)
    assert resumed.state_dict() == unbroken.state_dict()


@pytest.mark.parametrize(
    "other",
    [
        paced(epochs=5),
        paced(rule=Line(0.9)),
        paced(most=0.5),
        paced(settle=0.5),
        Pacer(SoftCrop("auto", k="auto"), 4, ConfidenceMatch()),
        Pacer(SoftErase(strength="auto"), 4),
    ],
)
def test_the_state_of_another_pacer_is_refused(other):
    with pytest.raises(ValueError, match=r"Pacer: the state must be that of Pacer\(epochs=4"):
        paced().load_state_dict(other.state_dict())


def test_epochs_that_were_not_watched_or_announced_are_refused():
    pacer = paced(epochs=2)
    after(pacer, 5)
    with pytest.raises(ValueError, match="must be watched, got nothing in epoch 2; call watch"):
        pacer.next_epoch()
    after(pacer, 5)
    with pytest.raises(ValueError, match="there are 2 epochs, got one more"):
        after(pacer, 5)


AUTO = SoftCrop("auto")


@pytest.mark.parametrize(
    ("transform", "settings", "message"),
    [
        (SoftCrop(0.3), {}, 'sigma of SoftCrop must be "auto", got 0.3'),
        (UniformCrop(4), {}, "the transform must be a soft one with a strength .* got UniformCrop"),
        (SoftErase(), {}, 'strength of SoftErase must be "auto", got 1.0'),
        (torch.nn.Identity(), {}, "the transform must be a soft one .* got Identity; such as"),
        (SoftCrop("auto", k="auto"), {}, 'k "auto" must have a rule that finds one, got Line'),
        (SoftErase(strength="auto"), {"most": 2}, "most must be at most 1 for strength of SoftEr"),
        (AUTO, {"epochs": 0}, "epochs must be a whole number >= 1"),
        (AUTO, {"first": 0.5}, r"first must be in 0\.05\.\.0\.3, got 0\.5"),
        (AUTO, {"least": 0.3, "most": 0.2}, r"least must be at most 0\.2, which most is, got 0\.3"),
        (AUTO, {"least": 0.5}, r"least must be at most 0\.3, .* SoftCrop has 0\.05 and 0\.3"),
        (AUTO, {"least": "0.2"}, "least must be a number > 0, got str 0.2"),
        (AUTO, {"most": True}, "most must be a number > 0, got bool True"),
        (AUTO, {"factor": 1.0}, "factor must be above 1, got 1"),
        (AUTO, {"factor": math.nan}, "factor must be > 0"),
        (AUTO, {"first_k": 0}, "first_k must be > 0"),
        (AUTO, {"settle": 1.5}, r"settle must be a number in 0\.\.1, got float 1\.5"),
        (AUTO, {"rule": "accuracy-hold"}, r"rule must be a rule of softaug\.pacing, got str"),
        (AUTO, {"rule": AccuracyHold}, r"rule must be a rule of softaug\.pacing, got type"),
    ],
)
def test_what_cannot_be_paced_is_refused(transform, settings, message):
    with pytest.raises(ValueError, match=f"^Pacer: {message}"):
        Pacer(transform, **{"epochs": 4, "rule": Line(), **settings})


def test_mixed_labels_find_no_k():
    pacer = Pacer(SoftCrop("auto", k="auto"), 4, ConfidenceMatch())
    mixed = MixedLabel(torch.zeros(10, 2).long(), torch.ones(10, 2), torch.full((10, 2), 0.5))
    with pytest.raises(ValueError, match='k "auto" is for labels of one image, got mixed labels'):
        pacer.watch(answers(3), mixed)


@pytest.mark.parametrize(("name", "crop"), [("sigma", SoftCrop("auto")), ("k", SoftCrop(k="auto"))])
def test_an_automatic_setting_without_a_pacer_is_refused_at_first_use(name, crop):
    message = f'SoftCrop: {name} "auto" must have a pacer, got none; softaug.Pacer'
    with pytest.raises(ValueError, match=message):
        crop(torch.ones(2, 3, 8, 8), torch.zeros(2).long())
