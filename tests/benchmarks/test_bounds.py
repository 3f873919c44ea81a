import math

import pytest

from benchmarks import input as from_files
from benchmarks import pairs
from benchmarks import transforms as policy
from benchmarks import transforms as two_views
from benchmarks.crop import KEYED, crop_bounds, slope
from benchmarks.crop import OURS as OURS_CROP
from benchmarks.loss import OURS, SMOOTHED, loss_bounds
from benchmarks.timing import CONVERT, Bound, Timing


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "passed"),
    [
        (1.3, 1.3, False, True),
        (1.31, 1.3, False, False),
        (10, 10, True, True),
        (9.9, 10, True, False),
        (math.nan, 10, True, False),
        (math.nan, 10, False, False),
    ],
)
def test_a_bound_passes_up_to_and_at_its_limit(value, limit, at_least, passed):
    assert Bound("rule", value, limit, at_least).passed is passed


def crop_timing(**milliseconds):
    return Timing({CONVERT: [1.0] * 3, OURS_CROP: [4.0] * 3, KEYED: [6.0] * 3, **milliseconds})


def test_crop_is_held_against_the_fastest_documented_peer():
    slow, fast, hand = "x, as documented", "y, as documented", "z, by hand"
    timing = crop_timing(**{slow: [90.0] * 3, fast: [44.0] * 3, hand: [20.0] * 3})
    documented, most = crop_bounds(timing, [slow, fast, hand])
    assert (documented.rule, documented.value) == (f"{fast} / SoftCrop", 11.0)
    assert documented.passed
    assert (most.value, most.limit, most.passed) == (6.0, 8, True)


def test_crop_without_peers_is_held_against_the_conversion_alone():
    assert [bound.limit for bound in crop_bounds(crop_timing(), [])] == [8]


def test_loss_is_held_against_label_smoothing():
    (bound,) = loss_bounds(Timing({OURS: [1.4, 1.4], SMOOTHED: [1.0, 1.0]}))
    assert (bound.value, bound.passed) == (1.4, False)


def test_windows_of_files_are_held_against_torchvision():
    timing = Timing({from_files.BASE: [14.0] * 3, from_files.OURS: [10.0] * 3})
    gain, same = from_files.input_bounds(timing, difference=1.6)
    assert (gain.value, gain.limit, gain.passed) == (1.4, 1.4, True)
    assert (same.value, same.passed) == (1.6, False)


def test_policies_are_held_against_torchvisions_per_sample():
    ours = {policy.OURS["rand"]: [2.0] * 3, policy.OURS["trivial"]: [1.0] * 3}
    theirs = {policy.THEIRS["rand"]: [10.0] * 3, policy.THEIRS["trivial"]: [4.9] * 3}
    rand, trivial = policy.policy_bounds(Timing({**ours, **theirs}))
    assert (rand.value, rand.limit, rand.passed) == (5.0, 5, True)
    assert (trivial.value, trivial.passed) == (4.9, False)


@pytest.mark.parametrize(("share", "kept"), [(0.009, True), (0.011, False)])
def test_weights_of_pairs_may_take_a_hundredth_of_a_step(share, kept):
    (bound,) = pairs.pairs_table([1.0] * 3, [share] * 3, "a step").bounds
    assert bound.value == pytest.approx(share)
    assert bound.passed is kept


def test_two_views_are_held_against_torchvisions_per_sample():
    timing = Timing({two_views.OURS_TWO_VIEWS: [2.0] * 3, two_views.THEIRS_TWO_VIEWS: [9.8] * 3})
    (bound,) = two_views.two_views_bounds(timing)
    assert (bound.value, bound.limit, bound.passed) == (4.9, 5, False)


def test_slope_is_the_power_of_the_size():
    assert slope([1, 10, 100], [5.0, 500.0, 50_000.0]) == 2.0
    assert slope([1, 10], [7.0, 7.0]) == 0.0
