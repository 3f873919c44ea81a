"""What holds for any predictions."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softaug.metrics import (
    calibration_error,
    calibration_summary,
    confidence_gap,
    confusion_matrix,
    error,
    fit_temperature,
    max_calibration_error,
    nll,
    reliability,
)

binnings = st.sampled_from(["width", "mass"])
some_bins = st.integers(1, 30)


@st.composite
def predictions(draw):
    """Logits and labels; coarse logits have ties, large ones confidences of exactly 0 and 1."""
    num, classes = draw(st.integers(1, 40)), draw(st.integers(2, 6))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    logits = torch.randn(num, classes, generator=generator, dtype=torch.float64)
    logits = logits * draw(st.sampled_from([0.0, 0.3, 2.0, 2000.0]))
    if draw(st.booleans()):
        logits = logits.round()
    labels = torch.randint(classes, (num,), generator=generator)
    return logits.to(draw(st.sampled_from([torch.float32, torch.float64]))), labels


@settings(max_examples=25)
@given(predictions(), some_bins, binnings)
def test_every_sample_is_in_exactly_one_bin(data, bins, binning) -> None:
    logits, labels = data
    probs = logits.softmax(1)
    found = reliability(probs, labels, bins, binning)
    assert int(found.count.sum()) == len(labels)
    accuracy = (found.accuracy * found.count).sum() / len(labels)
    assert float(accuracy) == pytest.approx(1 - float(error(probs, labels)))
    sure = (found.confidence * found.count).sum() / len(labels)
    assert float(sure) == pytest.approx(float(probs.amax(1).double().mean()))
    assert bool((found.edges.diff() >= 0).all())


@settings(max_examples=25)
@given(predictions(), some_bins, binnings)
def test_gap_is_at_most_the_calibration_error_and_that_the_maximum(data, bins, binning) -> None:
    logits, labels = data
    probs = logits.softmax(1)
    gap = abs(float(confidence_gap(probs, labels)))
    mean = float(calibration_error(probs, labels, bins, binning))
    most = float(max_calibration_error(probs, labels, bins, binning))
    assert gap - 1e-9 <= mean <= most + 1e-9 <= 1 + 2e-9


@settings(max_examples=25)
@given(predictions(), st.randoms(use_true_random=False))
def test_order_of_the_samples_does_not_matter(data, random) -> None:
    logits, labels = data
    order = random.sample(range(len(labels)), len(labels))
    before = calibration_summary(logits, labels)
    after = calibration_summary(logits[order], labels[order])
    # The root makes rounding of a debiased square near 0 visible.
    assert after == pytest.approx(before, rel=1e-9, abs=1e-7)
    assert torch.equal(
        confusion_matrix(logits, labels), confusion_matrix(logits[order], labels[order])
    )


@settings(max_examples=25)
@given(predictions())
def test_repeating_every_sample_changes_no_plain_figure(data) -> None:
    logits, labels = data
    before = calibration_summary(logits, labels)
    after = calibration_summary(logits.repeat(3, 1), labels.repeat(3))
    for key in set(before) - {"l2_15_mass_debiased"}:
        assert after[key] == pytest.approx(before[key], abs=1e-9)


@settings(max_examples=25)
@given(predictions())
def test_a_fitted_temperature_is_never_worse_than_none(data) -> None:
    logits, labels = data
    temperature = fit_temperature(logits, labels)
    assert 0.01 <= temperature <= 100
    scaled = logits.double() / temperature
    assert float(nll(scaled, labels)) <= float(nll(logits, labels)) + 1e-9
