"""The metrics of a set of images, their list, and their intervals over images."""

import math

import pytest
import torch

from softaug.lab.evaluation.metrics import (
    CALIBRATION,
    confidence_histogram,
    halves_temperatures,
    image_intervals,
    image_values,
    list_metrics,
    make_corruptions,
    measure_classes,
    measure_set,
    ood_values,
    scale,
)
from softaug.lab.evaluation.stats import bootstrap_interval, bootstrap_intervals
from softaug.metrics import (
    auroc,
    calibration_summary,
    error,
    fit_temperature,
    image_gap,
    max_probability,
    sum_gaps,
)

NUM, DRAWS, SETS = 120, 3, ("test", "v2")


def random_logits(num=41, classes=4, seed=0):
    """Logits that know a little of their labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (num,), generator=generator)
    logits = torch.randn(num, classes, generator=generator)
    logits[torch.arange(num), labels] += 1
    return logits, labels


def test_each_half_is_scaled_by_the_temperature_of_the_other():
    logits, labels = random_logits()
    temperatures = halves_temperatures(logits, labels)
    scaled = scale(logits, temperatures)
    even, odd = (fit_temperature(logits[half::2], labels[half::2]) for half in (0, 1))
    assert temperatures == [odd, even]
    assert even != odd
    assert scaled[0::2].equal(logits[0::2] / odd)
    assert scaled[1::2].equal(logits[1::2] / even)
    assert logits.equal(random_logits()[0]), "what is given is left as it is"
    assert scale(logits, [2.5]).equal(logits / 2.5)


def test_a_histogram_worked_out_by_hand():
    probs = torch.tensor([[0.99, 0.01], [0.38, 0.62], [0.38, 0.62], [1.0, 0.0]])
    found = confidence_histogram(probs.clamp_min(1e-30).log(), torch.tensor([0, 0, 1, 0]), bins=10)
    assert found.right == [0] * 6 + [1, 0, 0, 2]
    assert found.wrong == [0] * 6 + [1, 0, 0, 0]


def test_classes_worked_out_by_hand():
    logits = torch.eye(3)[[0, 1, 1, 0]]
    found = measure_classes(logits, torch.tensor([0, 0, 1, 1]))
    assert found.count == [2, 2, 0]
    assert found.error == [0.5, 0.5, None]
    # softmax of (1, 0, 0): e / (e + 2), and 1 / (e + 2) for each other class
    right, wrong = math.e / (math.e + 2), 1 / (math.e + 2)
    surprise = -(math.log(right) + math.log(wrong)) / 2
    assert found.nll == [pytest.approx(surprise, abs=1e-6)] * 2 + [None]
    squares = ((1 - right) ** 2 + 2 * wrong**2, (1 - wrong) ** 2 + right**2 + wrong**2)
    assert found.brier == [pytest.approx(sum(squares) / 2, abs=1e-6)] * 2 + [None]
    assert found.confusion == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]


def test_the_parts_of_a_set_agree_with_each_other():
    logits, labels = random_logits(300)
    found = measure_set(logits, labels, scale(logits, halves_temperatures(logits, labels)))
    assert (found.n, found.error) == (300, float(error(logits, labels)))
    assert found.top5_error == 0, "there are but four classes"
    assert found.before["brier"] != found.after["brier"]
    bins, histogram = found.reliability.before, found.histogram
    assert sum(bins.count) == sum(histogram.right) + sum(histogram.wrong) == 300
    assert sum(histogram.wrong) == round(300 * found.error)
    sure = sum(n * c for n, c in zip(bins.count, bins.confidence, strict=True) if n) / 300
    assert found.before["gap"] == pytest.approx(sure - (1 - found.error), abs=1e-5)


@pytest.fixture(scope="module")
def predictions():
    """What an evaluation keeps of 120 images of 7 classes."""
    kept = {}
    for seed, name in enumerate(SETS):
        logits, labels = random_logits(NUM, 7, seed)
        kept |= {f"{name}_logits": logits, f"{name}_labels": labels}
        kept[f"{name}_temperature"] = torch.tensor([1.5, 2.0])
    generator = torch.Generator().manual_seed(2)
    for corruption in make_corruptions((0, 0, 0)):
        right = torch.randint(DRAWS + 1, (NUM, 5), generator=generator, dtype=torch.uint8)
        kept[f"{corruption.name}_right"] = right
    return kept


@pytest.fixture(scope="module")
def corruptions(predictions):
    return {
        one.name: one.summarize(predictions[f"{one.name}_right"], DRAWS)
        for one in make_corruptions((0, 0, 0))
    }


@pytest.fixture(scope="module")
def sets(predictions):
    parts = [[predictions[f"{name}_{part}"] for part in ("logits", "labels")] for name in SETS]
    found = [measure_set(*part, scale(part[0], [1.5, 2.0])) for part in parts]
    return dict(zip(SETS, found, strict=True))


@pytest.fixture(scope="module")
def listed(sets, corruptions, predictions):
    training = {"train_error_clean": 0.25, "train_confidence_clean": 0.75}
    intervals = image_intervals(SETS, "test", corruptions, predictions)
    metrics = list_metrics("test", sets, corruptions, None, training, intervals)
    return {one.key: one for one in metrics}


def test_the_list_has_order_labels_units_and_the_values_of_the_sets(listed, sets, corruptions):
    keys = list(listed)
    assert keys[:3] == ["error", "top5_error", "nll"]
    assert keys[10:12] == ["train_error_clean", "train_confidence_clean"]
    assert keys[12:16] == ["occlusion/0.2", "occlusion/0.4", "occlusion/0.6", "occlusion/0.8"]
    assert keys[16::4][:2] == ["shift/0.8", "noise/0.02"]
    assert keys[24:] == [f"v2/{key}" for key in keys[:10]]
    labels = {key: metric.label for key, metric in listed.items()}
    assert labels["ece_15_scaled"] == "ECE (15 bins), scaled, %"
    assert labels["occlusion/0.4"] == "Accuracy, 40% hidden, %"
    assert labels["shift/0.2"] == "Accuracy, 20% left in frame, %"
    assert labels["v2/nll_scaled"] == "v2: NLL, scaled"
    for key, metric in listed.items():
        assert metric.percent == metric.label.endswith("%"), key
        better = None if key.startswith("train") else metric.label.startswith("Accuracy")
        assert metric.higher_is_better is better, key
    assert listed["error"].value == sets["test"].error
    assert listed["v2/nll_scaled"].value == sets["v2"].after["nll"]
    assert listed["noise/0.2"].value == corruptions["noise"].accuracy[4]
    assert listed["train_error_clean"].value == 0.25


def test_intervals_of_means_over_images_are_those_of_the_bootstrap(listed, predictions):
    without = {key for key, metric in listed.items() if metric.interval is None}
    wanted = ("ece_10", "ece_15_mass", "ece_15_scaled")
    training = {"train_error_clean", "train_confidence_clean"}
    assert without == {f"{name}{key}" for name in ("", "v2/") for key in wanted} | training
    for key in listed.keys() - without:
        low, high = listed[key].interval
        assert low < listed[key].value < high, key
    alone = bootstrap_intervals({"it": predictions["shift_right"][:, 2] / DRAWS})["it"]
    assert listed["shift/0.6"].interval == pytest.approx((alone.low, alone.high))
    gaps = image_gap(predictions["v2_logits"].softmax(1), predictions["v2_labels"])
    ece = bootstrap_interval(gaps, sum_gaps)
    assert listed["v2/ece_15"].interval == pytest.approx((ece.low, ece.high))


def test_the_interval_of_an_ece_ends_at_zero(corruptions, predictions):
    labels = torch.arange(NUM) % 2
    calm = torch.tensor([[0.0, 0.0, *[-99.0] * 5]]).expand(NUM, 7).clone()  # half are right
    changed = predictions | {"test_logits": calm, "test_labels": labels}
    low, high = image_intervals(["test"], "test", corruptions, changed)["ece_15"]
    unbounded = bootstrap_interval(image_gap(calm.softmax(1), labels), sum_gaps)
    assert unbounded.low < 0 == low < high == unbounded.high


def test_values_of_images_are_the_metrics_on_average_and_all_are_declared(
    listed, corruptions, predictions
):
    for columns in image_values(SETS, "test", corruptions, predictions).values():
        for key, column in columns.items():
            assert float(column.mean()) == pytest.approx(listed[key].value, rel=1e-6), key
    summary = calibration_summary(predictions["test_logits"], predictions["test_labels"])
    assert {spec.key for spec in CALIBRATION} == summary.keys() - {"temperature"}


def test_common_corruptions_are_listed_by_their_mean_and_each(sets, predictions):
    right = torch.randint(2, (NUM, 6), generator=torch.Generator().manual_seed(3))
    common = make_corruptions((0, 0, 0), ["common"])
    corruptions = {one.name: one.summarize(right, 1) for one in common}
    made = predictions | {f"{name}_right": right for name in corruptions}
    intervals = image_intervals(["test"], "test", corruptions, made)
    metrics = list_metrics("test", sets, corruptions, None, {}, intervals)
    listed = {metric.key: metric for metric in metrics if metric.key.startswith("common/")}
    assert list(listed)[:2] == ["common/mean", "common/gaussian-noise"]
    assert len(listed) == 16
    assert listed["common/mean"].label == "Accuracy, mean of 15 common corruptions, %"
    expected = float(right[:, 1:].double().mean())
    for metric in listed.values():
        assert metric.value == pytest.approx(expected)
        assert metric.interval[0] < expected < metric.interval[1]


@pytest.mark.parametrize("num_others", [60, 240])
def test_values_of_an_auroc_have_its_mean_and_standard_error(num_others):
    """The error is that of DeLong et al.: both sets' spread counts."""
    ours, others = random_logits(NUM, 4)[0], 0.6 * random_logits(num_others, 4, seed=5)[0]
    values = ood_values(ours, {"ood/mine_logits": others})
    assert list(values) == ["ood/mine-max-probability", "ood/mine-energy"]
    inside, outside = max_probability(ours), max_probability(others)
    won = (inside[:, None] > outside).double()
    variance = won.mean(1).var() / NUM + won.mean(0).var() / num_others
    column = values["ood/mine-max-probability"]
    assert float(column.mean()) == pytest.approx(float(auroc(inside, outside)), abs=0.02)
    assert float(column.std() / NUM**0.5) == pytest.approx(float(variance.sqrt()), rel=0.2)
    assert list(ood_values(ours.log_softmax(1), {"ood/mine_logits": others})) == list(values)[:1]
