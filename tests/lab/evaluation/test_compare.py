"""Comparing evaluated runs of several seeds."""

import hashlib

import factories
import pytest
import safetensors.torch
import torch

from softaug.lab import schema
from softaug.lab.evaluation.compare import compare_runs, read_evaluation, read_predictions
from softaug.lab.evaluation.corruptions import Corruption
from softaug.lab.evaluation.metrics import (
    image_intervals,
    image_values,
    list_metrics,
    measure_classes,
    measure_set,
    scale,
    with_intervals,
)
from softaug.lab.evaluation.stats import bootstrap_difference

NUM = 40
LABELS = torch.arange(NUM) % 4
ON_TEST = ["error", "top5_error", "nll", "brier", "ece_10", "ece_15", "ece_15_mass"]
ON_TEST += ["nll_scaled", "ece_15_scaled"]
PER_IMAGE = {"error", "top5_error", "nll", "brier", "nll_scaled", "occlusion/0.4"}  # no ECE


def logits_with(wrong):
    """The first `wrong` images are taken for the next class, the others are recognised."""
    logits = torch.zeros(NUM, 4)
    answers = LABELS.clone()
    answers[:wrong] = (LABELS[:wrong] + 1) % 4
    logits[torch.arange(NUM), answers] = 2.0
    return logits


def right_of(wrong, num):
    """Of two draws: both right on whole images; of harmed ones the even images once less."""
    right = torch.full((num, 2), 2, dtype=torch.uint8)
    right[:wrong] = 0
    right[wrong::2, 1] = 1
    return right


def keep(root, name, seed, wrong, labels=LABELS, others=(), **changes):
    """An evaluated run; `others` are names of extra test sets."""
    logits, right = logits_with(wrong)[: len(labels)], right_of(wrong, len(labels))
    predictions, names = {"occlusion_right": right}, ("test", *others)
    for part in names:
        predictions |= {f"{part}_logits": logits.clone(), f"{part}_labels": labels.clone()}
        predictions[f"{part}_temperature"] = torch.tensor([2.0, 1.0])
    found = measure_set(logits, labels, scale(logits, [2.0, 1.0]))
    sets = dict.fromkeys(names, found)
    corruption = Corruption("occlusion", (0.0, 0.4), lambda images, level, generator: images)
    corruptions = {"occlusion": corruption.summarize(right, 2)}
    intervals = image_intervals(names, "test", corruptions, predictions)
    content = {
        "recipe": {"name": name, "seed": seed, "epochs": 2},
        "class_names": ["a", "b", "c", "d"],
        "test_sets": sets,
        "per_class": measure_classes(logits, labels),
        "corruptions": corruptions,
        "calibration": [],
        "metrics": with_intervals(list_metrics("test", sets, corruptions, None, {}), intervals),
    }
    evaluation = factories.make_evaluation(name, seed, **{**content, **changes})
    return save(root / f"{name}-seed{seed}", evaluation, predictions)


def save(folder, evaluation, predictions):
    content = safetensors.torch.save(predictions)
    sealed = {"predictions_sha256": hashlib.sha256(content).hexdigest()}
    factories.save(evaluation.model_copy(update=sealed), folder / "evaluation.json")
    (folder / "predictions.safetensors").write_bytes(content)
    return folder


@pytest.fixture
def folders(tmp_path):
    """Seeds 0, 1 and 2 of the one arm, 1, 0 and 3 of the other, in turns."""
    hard = [keep(tmp_path, "hard", seed, wrong) for seed, wrong in ((0, 10), (1, 12), (2, 14))]
    soft = [keep(tmp_path, "soft", seed, wrong) for seed, wrong in ((1, 9), (0, 6), (3, 10))]
    return [folder for pair in zip(hard, soft, strict=True) for folder in pair]


def test_runs_of_one_name_are_an_arm_in_the_order_given(folders, tmp_path):
    found = compare_runs(folders, tmp_path)
    assert [(arm.name, arm.seeds) for arm in found.arms] == [
        ("hard", [0, 1, 2]),
        ("soft", [1, 0, 3]),
    ]
    hard, soft = found.arms
    assert hard.values["error"] == pytest.approx([10 / 40, 12 / 40, 14 / 40])
    assert soft.values["error"] == pytest.approx([9 / 40, 6 / 40, 10 / 40])
    # 10, 12, 14 of 40: sd 2 / 40
    assert vars(hard.estimates["error"]) == pytest.approx(
        {"mean": 0.3, "se": 0.05 / 3**0.5, "n": 3}
    )
    assert [len(arm.evaluations) for arm in found.arms] == [3, 3]


def test_seeds_are_paired_by_their_number(folders, tmp_path):
    (pair,) = compare_runs(folders, tmp_path).pairs
    assert (pair.arm, pair.against, sorted(pair.seeds)) == ("soft", "hard", [0, 1])
    # 6 - 10 and 9 - 12 of 40: mean -3.5 / 40, sd 0.5 ** 0.5 / 40
    expected = {"mean": -3.5 / 40, "se": 0.5 / 40, "n": 2}
    assert vars(pair.by_seed["error"]) == pytest.approx(expected)
    assert str(pair.verdicts["error"]) == "no difference shown (n = 2 seeds)"


def test_images_of_one_pair_of_the_same_seed_are_compared(folders, tmp_path):
    (pair,) = compare_runs(folders, tmp_path).pairs
    seed = pair.seeds[0]
    value = {0: 6 - 10, 1: 9 - 12}[seed] / 40
    assert pair.by_image.keys() == PER_IMAGE
    interval = pair.by_image["error"]
    assert interval.value == pytest.approx(value)
    assert interval.low <= value <= interval.high
    assert interval.n == NUM


def test_every_measure_has_a_verdict(folders, tmp_path):
    found = compare_runs(folders, tmp_path)
    keys = [measure.key for measure in found.metrics]
    assert keys == [*ON_TEST, "occlusion/0.4"]
    (pair,) = found.pairs
    assert list(pair.verdicts) == list(pair.by_seed) == keys
    for arm in found.arms:
        assert list(arm.values) == list(arm.estimates) == keys


def test_less_error_and_more_accuracy_are_better(tmp_path):
    runs = [keep(tmp_path, "hard", seed, 20) for seed in (0, 1, 2)]
    runs += [keep(tmp_path, "soft", seed, wrong) for seed, wrong in enumerate((8, 9, 8))]
    (pair,) = compare_runs(runs, tmp_path).pairs
    for key in ("error", "nll", "brier", "occlusion/0.4"):
        assert pair.verdicts[key].word == "better", key
    (back,) = compare_runs([*runs[3:], *runs[:3]], tmp_path).pairs
    assert str(back.verdicts["error"]) == "worse (n = 3 seeds)"
    assert back.verdicts["occlusion/0.4"].word == "worse"


def test_one_seed_is_judged_over_images_where_that_can_be(tmp_path):
    runs = [keep(tmp_path, "hard", 0, 25), keep(tmp_path, "soft", 0, 5)]
    (pair,) = compare_runs(runs, tmp_path).pairs
    for key in ("error", "nll", "nll_scaled", "brier", "occlusion/0.4"):
        told = str(pair.verdicts[key])
        assert told == "better (n = 40 images, one pair of runs)", key
    assert pair.verdicts["top5_error"].word == "no difference shown", "four classes"
    assert str(pair.verdicts["ece_15"]) == "not tested (n = 1 seed)"
    assert pair.by_seed["error"].se is None


def test_corrupted_images_are_resampled_in_pairs(tmp_path):
    runs = [keep(tmp_path, "hard", 0, 25), keep(tmp_path, "soft", 0, 5)]
    (pair,) = compare_runs(runs, tmp_path).pairs
    shares = [right_of(wrong, NUM)[:, 1].double() / 2 for wrong in (5, 25)]
    expected = bootstrap_difference(*shares)
    assert vars(pair.by_image["occlusion/0.4"]) == pytest.approx(vars(expected))


def test_extra_sets_are_judged_over_their_own_images(tmp_path):
    runs = [keep(tmp_path, name, 0, wrong, others=["v2"]) for name, wrong in (("a", 25), ("b", 5))]
    (pair,) = compare_runs(runs, tmp_path).pairs
    assert str(pair.verdicts["v2/error"]) == "better (n = 40 images, one pair of runs)"
    assert pair.verdicts["v2/ece_15"].word == "not tested"


def test_every_value_over_images_is_the_measure_on_average(tmp_path):
    folder = keep(tmp_path, "hard", 0, 7, others=["v2"])
    evaluation = read_evaluation(folder)
    predictions = read_predictions(folder, evaluation)
    found = image_values(["test", "v2"], "test", evaluation.corruptions, predictions)
    columns = {key: column for part in found.values() for key, column in part.items()}
    assert columns.keys() == PER_IMAGE | {f"v2/{key}" for key in PER_IMAGE if "/" not in key}
    for key, column in columns.items():
        assert float(column.mean()) == pytest.approx(evaluation.values[key], rel=1e-6), key


def test_without_a_common_seed_images_are_compared(tmp_path):
    runs = [keep(tmp_path, "hard", 0, 25), keep(tmp_path, "soft", 1, 5)]
    (pair,) = compare_runs(runs, tmp_path).pairs
    assert (pair.seeds, pair.by_seed) == ([], {})
    assert pair.verdicts["error"].word == "better"
    assert str(pair.verdicts["ece_10"]) == "not tested (n = 0 seeds)"


def test_every_arm_is_compared_with_the_first(tmp_path):
    found = compare_runs([keep(tmp_path, name, 0, 10) for name in ("c", "a", "b")], tmp_path)
    pairs = [(pair.arm, pair.against) for pair in found.pairs]
    assert pairs == [("a", "c"), ("b", "c")]
    alone = compare_runs([tmp_path / "c-seed0"], tmp_path)
    assert [arm.name for arm in alone.arms] == ["c"]
    assert alone.pairs == []


def test_extra_sets_that_all_have_are_compared(tmp_path):
    runs = [
        keep(tmp_path, "hard", 0, 4, others=["v2", "mine"]),
        keep(tmp_path, "soft", 0, 4, others=["v2"]),
    ]
    found = compare_runs(runs, tmp_path)
    keys = [measure.key for measure in found.metrics if "/" in measure.key]
    assert keys == ["occlusion/0.4", *(f"v2/{key}" for key in ON_TEST)]
    labels = [m.label for m in found.metrics if m.key == "v2/ece_15_scaled"]
    assert labels == ["v2: ECE (15 bins), scaled, %"]


def test_the_file_holds_what_is_returned(folders, tmp_path):
    found = compare_runs(folders, tmp_path / "new")
    assert schema.read(tmp_path / "new" / "comparison.json", schema.Comparison) == found


def test_the_command_names_every_run_and_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [keep(tmp_path, name, 0, 4) for name in ("b", "a")]
    found = compare_runs(runs, tmp_path / "out")
    assert found.command == "softaug compare b-seed0 a-seed0 --out out"


def test_trained_runs_are_compared(runs, measured, held_measured, tmp_path):
    found = compare_runs([runs.test, runs.held], tmp_path)
    assert [arm.values["error"] for arm in found.arms] == [
        [measured.test_sets["test"].error],
        [held_measured.test_sets["test"].error],
    ]
    (pair,) = found.pairs
    assert (pair.arm, pair.against, pair.seeds) == ("on-held", "on-test", [0])
    assert len(pair.verdicts) == len(ON_TEST) + 2
    tested = [key for key, found in pair.verdicts.items() if found.word != "not tested"]
    assert len(tested) == 5, "all but four calibration errors and training images"


def test_a_seed_given_twice_is_refused_with_a_remedy(tmp_path):
    runs = [keep(tmp_path / part, "hard", 0, 10) for part in ("one", "two")]
    rule = r"runs of hard must have different seeds, got \[0, 0\]; give .* a --name of its own"
    with pytest.raises(ValueError, match=rule):
        compare_runs(runs, tmp_path)


def test_an_arm_of_different_recipes_is_refused(tmp_path):
    longer = {"name": "hard", "seed": 1, "epochs": 3}
    runs = [keep(tmp_path, "hard", 0, 10), keep(tmp_path, "hard", 1, 10, recipe=longer)]
    with pytest.raises(ValueError, match=r"epochs: 2 -> 3"):
        compare_runs(runs, tmp_path)


OTHER = {
    "other classes": {"class_names": ["a", "b", "c", "e"]},
    "fewer images": {"labels": LABELS[:39]},
    "other labels": {"labels": LABELS.flip(0)},
}


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_runs_measured_on_other_images_are_refused(tmp_path, change):
    runs = [keep(tmp_path, "hard", 0, 10), keep(tmp_path, "soft", 0, 10, **change)]
    with pytest.raises(ValueError, match="compare: runs must be measured on the same images"):
        compare_runs(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_test_and_a_validation_set_are_not_compared(tmp_path):
    runs = [keep(tmp_path, name, 0, 10) for name in ("hard", "soft")]
    found = read_evaluation(runs[1])
    changes = {"split": "validation", "test_sets": {"validation": found.main_set}}
    factories.save(found.model_copy(update=changes), runs[1] / "evaluation.json")
    rule = "same images, got soft .40 validation images of 4 classes. and hard .40 test images"
    with pytest.raises(ValueError, match=rule):
        compare_runs(runs, tmp_path)


def test_another_extra_set_of_the_same_name_is_refused(tmp_path):
    runs = [keep(tmp_path, "hard", 0, 10, others=["v2"]), keep(tmp_path, "soft", 0, 10)]
    evaluation = read_evaluation(runs[0])
    kept = read_predictions(runs[0], evaluation)
    kept["v2_labels"] = kept["v2_labels"].flip(0)
    save(runs[1], evaluation.model_copy(update={"name": "soft"}), kept)
    with pytest.raises(ValueError, match=r"must be measured on the same images .v2., got others"):
        compare_runs(runs, tmp_path)


@pytest.mark.parametrize("place", [0, 1])
def test_predictions_of_another_evaluation_are_refused_with_the_remedy(tmp_path, place):
    runs = [keep(tmp_path, "hard", seed, 10) for seed in (0, 1)]  # of one arm: none is read
    path = runs[place] / "predictions.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    rule = r"must have the sha256 .* evaluation.json names, got .*; run `softaug evaluate .*again"
    with pytest.raises(ValueError, match=rule):
        compare_runs(runs, tmp_path)


BROKEN = {
    "no predictions": (lambda run: (run / "predictions.safetensors").unlink(), "must be readable"),
    "no JSON": (lambda run: (run / "evaluation.json").write_text("{"), "must be JSON, got EOF"),
    "old": (
        lambda run: (run / "evaluation.json").write_text('{"schema": 1}'),
        "must have schema_version 3, got 1: it was",
    ),
}


@pytest.mark.parametrize(("damage", "rule"), BROKEN.values(), ids=BROKEN)
def test_damaged_results_are_refused_with_the_remedy(tmp_path, damage, rule):
    run = keep(tmp_path, "hard", 0, 10)
    damage(run)
    with pytest.raises(ValueError, match=f".*{rule}.*; run `softaug evaluate .*again"):
        compare_runs([run], tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nowhere must be evaluated, got no such folder"):
        compare_runs([tmp_path / "nowhere"], tmp_path)


def test_a_run_that_is_not_evaluated_is_refused_with_the_command(tmp_path):
    (tmp_path / "run").mkdir()
    rule = r"compare: .*run must be evaluated, got no evaluation.json; run `softaug evaluate"
    with pytest.raises(ValueError, match=rule):
        compare_runs([keep(tmp_path, "hard", 0, 10), tmp_path / "run"], tmp_path)


def test_no_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one evaluated run must be given, got none"):
        compare_runs([], tmp_path)
