"""Comparing evaluated runs of several seeds."""

import hashlib

import factories
import pytest
import safetensors.torch
import torch

from softaug.lab import schema
from softaug.lab.evaluation.compare import compare_runs, read_evaluation, read_predictions
from softaug.lab.evaluation.metrics import (
    Corruption,
    image_intervals,
    list_metrics,
    measure_classes,
    measure_set,
    scale,
)
from softaug.lab.evaluation.stats import bootstrap_intervals

NUM = 40
LABELS = torch.arange(NUM) % 4
ON_TEST = ["error", "top5_error", "nll", "brier", "ece_10", "ece_15", "ece_15_mass"]
ON_TEST += ["smooth_ece", "nll_scaled", "ece_15_scaled"]
PER_IMAGE = {"error", "top5_error", "nll", "brier", "nll_scaled", "occlusion/0.4"}  # no ECE


def logits_with(wrong):
    """The first `wrong` images are taken for the next class, the others are recognized."""
    logits = torch.zeros(NUM, 4)
    answers = LABELS.clone()
    answers[:wrong] = (LABELS[:wrong] + 1) % 4
    logits[torch.arange(NUM), answers] = 2.0
    return logits


def right_of(wrong, num):
    """Of two draws: both right on whole images; of corrupted ones the even images once less."""
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
    sets = dict.fromkeys(names, measure_set(logits, labels, scale(logits, [2.0, 1.0])))
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
        "metrics": list_metrics("test", sets, corruptions, None, {}, intervals),
    }
    evaluation = factories.make_evaluation(name, seed, **{**content, **changes})
    return save(root / f"{name}-seed{seed}", evaluation, predictions)


def save(folder, evaluation, predictions):
    content = safetensors.torch.save(predictions)
    sealed = {"predictions_sha256": hashlib.sha256(content).hexdigest()}
    factories.save(evaluation.model_copy(update=sealed), folder / "evaluation.json")
    (folder / "predictions.safetensors").write_bytes(content)
    return folder


def test_runs_of_one_name_are_an_arm_and_seeds_are_paired_by_their_number(tmp_path):
    hard = [keep(tmp_path, "hard", seed, wrong) for seed, wrong in ((0, 10), (1, 12), (2, 14))]
    soft = [keep(tmp_path, "soft", seed, wrong) for seed, wrong in ((1, 9), (0, 6), (3, 10))]
    folders = [folder for pair in zip(hard, soft, strict=True) for folder in pair]
    found = compare_runs(folders, tmp_path / "out")
    seeds = [(arm.name, arm.seeds, len(arm.evaluations)) for arm in found.arms]
    assert seeds == [("hard", [0, 1, 2], 3), ("soft", [1, 0, 3], 3)]
    assert found.arms[1].values["error"] == pytest.approx([9 / 40, 6 / 40, 10 / 40])
    # 10, 12, 14 of 40: sd 2 / 40
    expected = {"mean": 0.3, "se": 0.05 / 3**0.5, "n": 3}
    assert vars(found.arms[0].estimates["error"]) == pytest.approx(expected)
    (pair,) = found.pairs
    assert (pair.arm, pair.against, sorted(pair.seeds)) == ("soft", "hard", [0, 1])
    # 6 - 10 and 9 - 12 of 40: mean -3.5 / 40, sd 0.5 ** 0.5 / 40
    expected = {"mean": -3.5 / 40, "se": 0.5 / 40, "n": 2}
    assert vars(pair.by_seed["error"]) == pytest.approx(expected)
    assert str(pair.verdicts["error"]) == "no difference shown (n = 2 seeds)"
    # images of one pair of the same seed
    assert pair.by_image.keys() == PER_IMAGE
    interval = pair.by_image["error"]
    assert interval.value == pytest.approx({0: 6 - 10, 1: 9 - 12}[pair.seeds[0]] / 40)
    assert interval.low <= interval.value <= interval.high
    keys = [metric.key for metric in found.metrics]
    assert list(pair.verdicts) == list(pair.by_seed) == keys == [*ON_TEST, "occlusion/0.4"]
    assert schema.read(tmp_path / "out" / "comparison.json", schema.Comparison) == found


def test_less_error_and_more_accuracy_are_better(tmp_path):
    runs = [keep(tmp_path, "hard", seed, 20) for seed in (0, 1, 2)]
    runs += [keep(tmp_path, "soft", seed, wrong) for seed, wrong in enumerate((8, 9, 8))]
    (pair,) = compare_runs(runs, tmp_path).pairs
    for key in ("error", "nll", "brier", "occlusion/0.4"):
        assert pair.verdicts[key].word == "better", key
    (back,) = compare_runs([*runs[3:], *runs[:3]], tmp_path).pairs
    assert str(back.verdicts["error"]) == "worse (n = 3 seeds)"
    assert back.verdicts["occlusion/0.4"].word == "worse"


def test_one_seed_is_judged_over_images_of_each_set_where_that_can_be(tmp_path):
    two = [keep(tmp_path, *arm, others=["v2"]) for arm in (("hard", 0, 25), ("soft", 0, 5))]
    (pair,) = compare_runs(two, tmp_path).pairs
    for key in ("error", "nll", "nll_scaled", "brier", "occlusion/0.4", "v2/error"):
        assert str(pair.verdicts[key]) == "better (n = 40 images, one pair of runs)", key
    assert pair.verdicts["top5_error"].word == "no difference shown", "four classes"
    assert str(pair.verdicts["ece_15"]) == "not tested (n = 1 seed)"
    assert pair.verdicts["v2/ece_15"].word == "not tested"
    assert pair.by_seed["error"].se is None
    ours, theirs = (right_of(wrong, NUM)[:, 1].double() / 2 for wrong in (5, 25))
    expected = bootstrap_intervals({"it": ours - theirs})["it"]
    assert vars(pair.by_image["occlusion/0.4"]) == pytest.approx(vars(expected)), "in pairs"
    apart = [tmp_path / "hard-seed0", keep(tmp_path, "soft", 1, 5)]
    (pair,) = compare_runs(apart, tmp_path).pairs
    assert (pair.seeds, pair.by_seed, pair.verdicts["error"].word) == ([], {}, "better")
    assert str(pair.verdicts["ece_10"]) == "not tested (n = 0 seeds)"


def test_every_arm_is_compared_with_the_first_by_what_all_have(tmp_path, monkeypatch):
    others = {"c": ["v2", "mine"], "a": ["v2"], "b": ["mine", "v2"]}
    runs = [keep(tmp_path, name, 0, 4, others=sets) for name, sets in others.items()]
    monkeypatch.chdir(tmp_path)
    found = compare_runs(runs, tmp_path / "out", {"a": "another"})
    assert [(pair.arm, pair.against) for pair in found.pairs] == [("another", "c"), ("b", "c")]
    keys = [metric.key for metric in found.metrics if "/" in metric.key]
    assert keys == ["occlusion/0.4", *(f"v2/{key}" for key in ON_TEST)]
    assert found.command == "softaug compare c-seed0 a-seed0 b-seed0 --out out"
    assert compare_runs(runs[:1], tmp_path).pairs == []


def test_trained_runs_are_compared(runs, measured, held_measured, tmp_path):
    found = compare_runs([runs.test, runs.held], tmp_path)
    errors = [[one.test_sets["test"].error] for one in (measured, held_measured)]
    assert [arm.values["error"] for arm in found.arms] == errors
    (pair,) = found.pairs
    tested = [key for key, found in pair.verdicts.items() if found.word != "not tested"]
    assert len(pair.verdicts) == len(ON_TEST) + 2
    assert len(tested) == 5, "all but five calibration errors and training images"


def damage_predictions(run):
    path = run / "predictions.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def measure_another_set(run):
    evaluation = read_evaluation(run)
    kept = read_predictions(run, evaluation)
    kept["v2_labels"] = kept["v2_labels"].flip(0)
    save(run, evaluation, kept)


def measure_validation(run):
    found = read_evaluation(run)
    changes = {"split": "validation", "test_sets": {"validation": found.main_set}}
    factories.save(found.model_copy(update=changes), run / "evaluation.json")


SAME = "compare: runs must be measured on the same images"
AGAIN = "; run `softaug evaluate .*"
DAMAGE = {
    "validation": (measure_validation, f"{SAME}, got soft .40 validation images of 4 classes. and"),
    "other set": (measure_another_set, rf"{SAME} .v2., got others"),
    "other predictions": (damage_predictions, f"must have the sha256 .* names, got .*{AGAIN}again"),
    "no predictions": (
        lambda run: (run / "predictions.safetensors").unlink(),
        f"must be readable.*{AGAIN}again",
    ),
    "not evaluated": (
        lambda run: (run / "evaluation.json").unlink(),
        f"soft-seed0 must be evaluated, got no evaluation.json{AGAIN}",
    ),
    "no JSON": (lambda run: (run / "evaluation.json").write_text("{"), f"must be JSON .*{AGAIN}"),
    "old": (
        lambda run: (run / "evaluation.json").write_text('{"schema": 1}'),
        f"must have schema_version 3, got .* earlier version{AGAIN}",
    ),
}


@pytest.mark.parametrize(("damage", "rule"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_or_other_results_are_refused_with_the_remedy(tmp_path, damage, rule):
    runs = [keep(tmp_path, name, 0, 10, others=["v2"]) for name in ("hard", "soft")]
    damage(runs[1])
    with pytest.raises(ValueError, match=rule):
        compare_runs(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "seed", "change", "rule"),
    [
        ("soft", 0, {"class_names": ["a", "b", "c", "e"]}, SAME),
        ("soft", 0, {"labels": LABELS[:39]}, SAME),
        ("soft", 0, {"labels": LABELS.flip(0)}, SAME),
        ("hard", 1, {"recipe": {"name": "hard", "seed": 1, "epochs": 3}}, "epochs: 2 -> 3"),
        ("hard", 0, {}, r"runs of hard must have different seeds, got \[0, 0\]; give .* --name"),
    ],
)
def test_runs_of_other_images_recipes_or_the_same_seed_are_refused(
    tmp_path, name, seed, change, rule
):
    runs = [keep(tmp_path, "hard", 0, 10), keep(tmp_path / "two", name, seed, 10, **change)]
    with pytest.raises(ValueError, match=rule):
        compare_runs(runs, tmp_path)


def test_no_run_and_a_folder_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one evaluated run must be given, got none"):
        compare_runs([], tmp_path)
    with pytest.raises(ValueError, match="nowhere must be evaluated, got no such folder"):
        compare_runs([tmp_path / "nowhere"], tmp_path)
