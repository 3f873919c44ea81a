import math

import pytest
import torch

from softaug.pacing import (
    AccuracyHold,
    AccuracyLine,
    ConfidenceMatch,
    EpochStats,
    GroupMeans,
    GroupRule,
    HeldOutGap,
)

SEEN = EpochStats(
    progress=0.5,
    chance=0.1,
    accuracy=0.6,
    confidence=0.4,
    target_confidence=0.8,
    held_out_accuracy=0.7,
)


@pytest.mark.parametrize(
    ("progress", "accuracy", "lead"),
    [(0, 0.1, 0.0), (0.5, 0.525, 0.0), (1, 0.95, 0.0), (0.2, 0.37, 0.1), (0.8, 0.68, -0.1)],
)
def test_the_accuracy_line_goes_from_chance_to_its_goal(progress, accuracy, lead):
    seen = SEEN._replace(progress=progress, accuracy=accuracy)
    assert AccuracyLine().lead(seen) == pytest.approx(lead)


def leads(rule, accuracies):
    """After each epoch."""
    seen = [
        SEEN._replace(progress=(epoch + 1) / len(accuracies), accuracy=now, past_accuracy=past)
        for epoch, now in enumerate(accuracies)
        for past in [tuple(accuracies[:epoch])]
    ]
    return pytest.approx([rule.lead(one) for one in seen])


def test_accuracy_is_held_at_what_it_was_half_way():
    assert leads(AccuracyHold(), [0.1, 0.5, 0.3, 0.8]) == [0, 0, -0.2, 0.3]
    assert leads(AccuracyHold(), [0.1, 0.5, 0.2, 0.3, 0.8]) == [0, 0, 0, 0.1, 0.6]
    assert leads(AccuracyHold(0.25), [0.1, 0.5, 0.3, 0.8]) == [0, 0.4, 0.2, 0.7]


@pytest.mark.parametrize("epochs", [29, 31, 45, 400])
def test_the_epoch_that_is_held_is_one_for_a_training(epochs):
    half = (epochs + 1) // 2
    found = leads(AccuracyHold(0.5), [0.5] * (half - 1) + [0.7] + [0.9] * (epochs - half))
    assert found == [0.0] * half + [0.2] * (epochs - half)


def test_accuracy_is_held_from_the_first_epoch_at_the_earliest_and_at_last_never():
    assert leads(AccuracyHold(0), [0.1, 0.5, 0.3]) == [0, 0.4, 0.2]
    assert leads(AccuracyHold(1), [0.1, 0.5, 0.3]) == [0, 0, 0]


def test_the_gap_is_between_augmented_and_clean_held_out_accuracy():
    assert HeldOutGap().lead(SEEN) == pytest.approx(-0.1)
    assert HeldOutGap(margin=-0.25).lead(SEEN) == pytest.approx(0.15)
    assert HeldOutGap(margin=0.05).lead(SEEN._replace(accuracy=0.9)) == pytest.approx(0.15)


def test_the_confidence_given_is_matched_to_a_growing_share_of_what_is_asked():
    # targets ask for 0.7 above chance; half way a goal of 0.8 wants 0.4 of it, 0.28; given: 0.3
    assert ConfidenceMatch(goal=0.8).lead(SEEN) == pytest.approx(0.02)
    assert ConfidenceMatch(goal=1).lead(SEEN._replace(progress=1)) == pytest.approx(-0.4)


def test_a_network_that_gives_what_is_asked_is_ahead_until_the_end_at_any_softness():
    for asked in (0.3, 0.7, 1.0):
        seen = SEEN._replace(confidence=asked, target_confidence=asked, progress=0.99)
        assert ConfidenceMatch(goal=1).lead(seen) > 0
        assert ConfidenceMatch(goal=1).lead(seen._replace(progress=1)) == pytest.approx(0)


@pytest.mark.parametrize("since", [-0.1, 1.1, math.nan, "0.9", True])
def test_a_time_that_is_no_share_of_the_epochs_is_refused(since):
    with pytest.raises(ValueError, match=r"AccuracyHold: since must be a number in 0\.\.1, got"):
        AccuracyHold(since)


@pytest.mark.parametrize("make", [AccuracyLine, ConfidenceMatch])
@pytest.mark.parametrize("goal", [-0.1, 1.1, math.nan, "0.9", True])
def test_a_goal_that_is_no_share_is_refused(make, goal):
    with pytest.raises(ValueError, match=rf"{make.__name__}: goal must be a number in 0\.\.1"):
        make(goal)


@pytest.mark.parametrize("margin", [-1.5, math.nan, math.inf, "0", False])
def test_a_margin_that_is_no_difference_of_shares_is_refused(margin):
    with pytest.raises(ValueError, match=r"HeldOutGap: margin must be a number in -1\.\.1, got"):
        HeldOutGap(margin)


def test_accuracy_is_ahead_of_that_of_all_together():
    own = GroupMeans(torch.tensor([0.2, 0.5, 0.9]), torch.zeros(3), torch.ones(3))
    overall = GroupMeans(torch.tensor(0.5), torch.tensor(0.0), torch.tensor(1.0))
    assert AccuracyLine().ahead(own, overall, 0.1).tolist() == pytest.approx([-0.3, 0, 0.4])


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_who_gives_the_common_share_of_what_is_asked_is_level_at_any_softness(share):
    asked = torch.tensor([0.2, 0.5, 1.0, 1.0], dtype=torch.float64)
    given = 0.1 + share * (asked - 0.1)
    given[3] += 0.05
    own = GroupMeans(torch.ones(4), given, asked)
    overall = GroupMeans(torch.tensor(1.0), 0.1 + share * (asked.mean() - 0.1), asked.mean())
    found = ConfidenceMatch().ahead(own, overall, 0.1)
    assert found.tolist() == pytest.approx([0, 0, 0, 0.05])


def test_a_gap_to_held_out_images_tells_no_parts_apart():
    assert not isinstance(HeldOutGap(), GroupRule)
    assert isinstance(ConfidenceMatch(), GroupRule)
