"""The list of measures and their intervals over images."""

import pytest
import torch

from softaug.lab.evaluation.corruptions import ordeals, summary
from softaug.lab.evaluation.measures import (
    CALIBRATION,
    image_intervals,
    image_values,
    list_measures,
    measures,
    scale,
)
from softaug.lab.evaluation.stats import bootstrap_interval
from softaug.metrics import calibration_summary, image_gap, sum_gaps

NUM, DRAWS = 120, 3


def kept_predictions():
    """What an evaluation keeps of 120 images of 7 classes."""
    generator = torch.Generator().manual_seed(0)
    kept = {}
    for name in ("test", "v2"):
        labels = torch.randint(7, (NUM,), generator=generator)
        logits = torch.randn(NUM, 7, generator=generator)
        logits[torch.arange(NUM), labels] += 1
        kept |= {f"{name}_logits": logits, f"{name}_labels": labels}
        kept[f"{name}_temperature"] = torch.tensor([1.5, 2.0])
    for ordeal in ordeals((0, 0, 0)):
        right = torch.randint(DRAWS + 1, (NUM, 5), generator=generator, dtype=torch.uint8)
        kept[f"{ordeal.name}_right"] = right
    return kept


@pytest.fixture(scope="module")
def kept():
    return kept_predictions()


@pytest.fixture(scope="module")
def evaluation(kept):
    sets = {}
    for name in ("test", "v2"):
        logits, labels = kept[f"{name}_logits"], kept[f"{name}_labels"]
        sets[name] = measures(logits, labels, scale(logits, [1.5, 2.0]))
    found = {o.name: summary(o, kept[f"{o.name}_right"], DRAWS) for o in ordeals((0, 0, 0))}
    return {"split": "test", "sets": sets, "robustness": found}


@pytest.fixture(scope="module")
def listed(evaluation, kept):
    return {m["key"]: m for m in list_measures(evaluation, image_intervals(evaluation, kept))}


def test_the_test_set_then_harms_then_second_sets(listed):
    keys = list(listed)
    assert keys[:3] == ["error", "top5_error", "nll"]
    assert keys[9:13] == ["occlusion/0.2", "occlusion/0.4", "occlusion/0.6", "occlusion/0.8"]
    assert keys[13::4][:2] == ["shift/0.8", "noise/0.02"]
    assert keys[21:] == [f"v2/{key}" for key in keys[:9]]


def test_labels_say_what_and_in_which_unit(listed):
    labels = {key: measure["label"] for key, measure in listed.items()}
    assert labels["ece_15_scaled"] == "ECE (15 bins), scaled, %"
    assert labels["occlusion/0.4"] == "Accuracy, 40% hidden, %"
    assert labels["shift/0.2"] == "Accuracy, 20% left in frame, %"
    assert labels["v2/nll_scaled"] == "v2: NLL, scaled"
    for key, measure in listed.items():
        assert measure["percent"] == measure["label"].endswith("%"), key
        assert measure["higher_is_better"] == measure["label"].startswith("Accuracy"), key


def test_values_are_those_of_the_evaluation(listed, evaluation):
    assert listed["error"]["value"] == evaluation["sets"]["test"]["error"]
    assert listed["v2/nll_scaled"]["value"] == evaluation["sets"]["v2"]["after"]["nll"]
    assert listed["noise/0.2"]["value"] == evaluation["robustness"]["noise"]["accuracy"][4]


def test_all_but_some_calibration_errors_have_an_interval_around_their_value(listed):
    without = {key for key, measure in listed.items() if measure["interval"] is None}
    wanted = ("ece_10", "ece_15_mass", "ece_15_scaled")
    assert without == {f"{name}{key}" for name in ("", "v2/") for key in wanted}
    for key in listed.keys() - without:
        low, high = listed[key]["interval"]
        assert low < listed[key]["value"] < high, key


def test_intervals_are_those_of_the_bootstrap(listed, evaluation, kept):
    harmed = kept["shift_right"][:, 2] / DRAWS  # 60 % left
    alone = bootstrap_interval(harmed)
    assert listed["shift/0.6"]["interval"] == pytest.approx([alone.low, alone.high])
    gaps = image_gap(kept["v2_logits"].softmax(1), kept["v2_labels"])
    ece = bootstrap_interval(gaps, sum_gaps)
    assert listed["v2/ece_15"]["interval"] == pytest.approx([ece.low, ece.high])


def test_the_interval_of_an_ece_ends_at_zero(evaluation, kept):
    labels = torch.arange(NUM) % 2
    calm = torch.tensor([[0.0, 0.0, *[-99.0] * 5]]).expand(NUM, 7).clone()  # half are right
    changed = {"test_logits": calm, "test_labels": labels}
    low, high = image_intervals(evaluation, kept | changed)["ece_15"]
    unbounded = bootstrap_interval(image_gap(calm.softmax(1), labels), sum_gaps)
    assert unbounded.low < 0 == low < high == unbounded.high


def test_values_of_images_are_the_measures_on_average(listed, evaluation, kept):
    for columns in image_values(evaluation, kept).values():
        for key, column in columns.items():
            assert float(column.mean()) == pytest.approx(listed[key]["value"], rel=1e-6), key


def test_the_list_has_every_figure_of_calibration(kept):
    found = calibration_summary(kept["test_logits"], kept["test_labels"])
    assert {shown.key for shown in CALIBRATION} == found.keys() - {"temperature"}


BAD = {
    "empty": ({"v2_logits": torch.zeros(0, 7)}, "must be a non-empty tensor"),
    "NaN": ({"v2_logits": torch.full((NUM, 7), torch.nan)}, "must be finite, .* diverged"),
    "outside": ({"v2_labels": torch.full((NUM,), 7)}, r"labels must be in 0\.\.6, got 7"),
    "unequal": ({"v2_labels": torch.zeros(3).long()}, "one label for each of the 120 samples"),
}


@pytest.mark.parametrize(("change", "rule"), BAD.values(), ids=BAD)
def test_bad_predictions_are_refused(evaluation, kept, change, rule):
    with pytest.raises(ValueError, match=rule):
        image_intervals(evaluation, {**kept, **change})
