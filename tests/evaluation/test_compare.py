import json

import pytest
import safetensors.torch
import torch

from softaug.evaluation.compare import MEASURES, compare_runs
from softaug.evaluation.measures import measures
from softaug.files import write_json

NUM = 40
LABELS = torch.arange(NUM) % 4
PER_IMAGE = {"error", "nll", "brier"}  # a calibration error is no fair test over images


def logits_with(wrong):
    """The first `wrong` images are taken for the next class, the others are recognised."""
    logits = torch.zeros(NUM, 4)
    answers = LABELS.clone()
    answers[:wrong] = (LABELS[:wrong] + 1) % 4
    logits[torch.arange(NUM), answers] = 2.0
    return logits


def keep(root, name, seed, wrong, labels=LABELS, **changes):
    """An evaluated run, as far as a comparison reads it."""
    folder = root / f"{name}-seed{seed}"
    logits = logits_with(wrong)[: len(labels)]
    accuracy = [1 - wrong / NUM, 0.5 - wrong / NUM / 2]
    found = {
        "name": name,
        "recipe": {"name": name, "seed": seed, "epochs": 2},
        "members": [{"seed": seed}],
        "class_names": ["a", "b", "c", "d"],
        "sets": {"test": measures(logits, labels, logits)},
        "robustness": {"occlusion": {"levels": [0.0, 0.4], "accuracy": accuracy}},
    }
    write_json({**found, **changes}, folder / "evaluation.json")
    kept = {"test_logits": logits, "test_labels": labels}
    safetensors.torch.save_file(kept, folder / "predictions.safetensors")
    return folder


@pytest.fixture
def folders(tmp_path):
    """Seeds 0, 1 and 2 of the one arm, 1, 0 and 3 of the other, in turns."""
    hard = [keep(tmp_path, "hard", seed, wrong) for seed, wrong in ((0, 10), (1, 12), (2, 14))]
    soft = [keep(tmp_path, "soft", seed, wrong) for seed, wrong in ((1, 9), (0, 6), (3, 10))]
    return [folder for pair in zip(hard, soft, strict=True) for folder in pair]


def test_runs_of_one_name_are_an_arm_in_the_order_given(folders, tmp_path):
    found = compare_runs(folders, tmp_path)
    assert [(arm["name"], arm["seeds"]) for arm in found["arms"]] == [
        ("hard", [0, 1, 2]),
        ("soft", [1, 0, 3]),
    ]
    hard, soft = found["arms"]
    assert hard["values"]["error"] == pytest.approx([10 / 40, 12 / 40, 14 / 40])
    assert soft["values"]["error"] == pytest.approx([9 / 40, 6 / 40, 10 / 40])
    # 10, 12, 14 of 40: sd 2 / 40
    assert hard["estimates"]["error"] == pytest.approx({"mean": 0.3, "se": 0.05 / 3**0.5, "n": 3})
    assert [len(arm["evaluations"]) for arm in found["arms"]] == [3, 3]


def test_seeds_are_paired_by_their_number(folders, tmp_path):
    (pair,) = compare_runs(folders, tmp_path)["pairs"]
    assert (pair["arm"], pair["against"], sorted(pair["seeds"])) == ("soft", "hard", [0, 1])
    # 6 - 10 and 9 - 12 of 40: mean -3.5 / 40, sd 0.5 ** 0.5 / 40
    expected = {"mean": -3.5 / 40, "se": 0.5 / 40, "n": 2}
    assert pair["by_seed"]["error"] == pytest.approx(expected)
    assert pair["verdicts"]["error"]["text"] == "no difference shown (n = 2 seeds)"


def test_images_of_one_pair_of_the_same_seed_are_compared(folders, tmp_path):
    (pair,) = compare_runs(folders, tmp_path)["pairs"]
    seed = pair["seeds"][0]
    value = {0: 6 - 10, 1: 9 - 12}[seed] / 40
    assert pair["by_image"].keys() == PER_IMAGE
    interval = pair["by_image"]["error"]
    assert interval["value"] == pytest.approx(value)
    assert interval["low"] <= value <= interval["high"]
    assert interval["n"] == NUM


def test_every_measure_has_a_verdict(folders, tmp_path):
    found = compare_runs(folders, tmp_path)
    keys = [measure["key"] for measure in found["measures"]]
    assert keys == [*(measure.key for measure in MEASURES), "occlusion/0.4"]
    (pair,) = found["pairs"]
    assert list(pair["verdicts"]) == list(pair["by_seed"]) == keys
    assert pair["verdicts"]["error"].keys() == {"word", "n", "over", "text"}
    for arm in found["arms"]:
        assert list(arm["values"]) == list(arm["estimates"]) == keys
    assert "path" not in found["measures"][0]


def test_less_error_and_more_accuracy_are_better(tmp_path):
    runs = [keep(tmp_path, "hard", seed, 20) for seed in (0, 1, 2)]
    runs += [keep(tmp_path, "soft", seed, wrong) for seed, wrong in enumerate((8, 9, 8))]
    (pair,) = compare_runs(runs, tmp_path)["pairs"]
    for key in ("error", "nll", "brier", "occlusion/0.4"):
        assert pair["verdicts"][key]["word"] == "better", key
    (back,) = compare_runs([*runs[3:], *runs[:3]], tmp_path)["pairs"]
    assert back["verdicts"]["error"]["text"] == "worse (n = 3 seeds)"
    assert back["verdicts"]["occlusion/0.4"]["word"] == "worse"


def test_one_seed_is_judged_over_images_where_that_can_be(tmp_path):
    runs = [keep(tmp_path, "hard", 0, 25), keep(tmp_path, "soft", 0, 5)]
    (pair,) = compare_runs(runs, tmp_path)["pairs"]
    assert pair["verdicts"]["error"]["text"] == "better (n = 40 images, one pair of runs)"
    assert pair["verdicts"]["top5_error"]["text"] == "not tested (n = 1 seed)"
    assert pair["by_seed"]["error"]["se"] is None


def test_without_a_common_seed_images_are_compared(tmp_path):
    runs = [keep(tmp_path, "hard", 0, 25), keep(tmp_path, "soft", 1, 5)]
    (pair,) = compare_runs(runs, tmp_path)["pairs"]
    assert (pair["seeds"], pair["by_seed"]) == ([], {})
    assert pair["verdicts"]["error"]["word"] == "better"
    assert pair["verdicts"]["top5_error"]["text"] == "not tested (n = 0 seeds)"


def test_one_arm_alone_has_no_pairs(tmp_path):
    found = compare_runs([keep(tmp_path, "hard", seed, 10) for seed in (0, 1)], tmp_path)
    assert [arm["name"] for arm in found["arms"]] == ["hard"]
    assert found["pairs"] == []


def test_every_arm_is_compared_with_the_first(tmp_path):
    found = compare_runs([keep(tmp_path, name, 0, 10) for name in ("c", "a", "b")], tmp_path)
    pairs = [(pair["arm"], pair["against"]) for pair in found["pairs"]]
    assert pairs == [("a", "c"), ("b", "c")]


def test_second_sets_that_all_have_are_compared(tmp_path):
    logits = logits_with(4)
    test = measures(logits, LABELS, logits)
    both = {"test": test, "v2": measures(logits_with(8), LABELS, logits_with(8))}
    runs = [
        keep(tmp_path, "hard", 0, 4, sets={**both, "mine": test}),
        keep(tmp_path, "soft", 0, 4, sets=both),
    ]
    found = compare_runs(runs, tmp_path)
    keys = [measure["key"] for measure in found["measures"] if "/" in measure["key"]]
    assert keys == ["occlusion/0.4", "v2/error", "v2/ece_15"]
    assert found["arms"][0]["values"]["v2/error"] == pytest.approx([0.2])


def test_the_file_holds_what_is_returned(folders, tmp_path):
    found = compare_runs(folders, tmp_path / "new")
    assert json.loads((tmp_path / "new" / "comparison.json").read_text()) == found


def test_the_same_comparison_twice(folders, tmp_path):
    one, two = (compare_runs(folders, tmp_path) for _ in range(2))
    assert (one["arms"], one["pairs"]) == (two["arms"], two["pairs"])


def test_trained_runs_are_compared(runs, measured, held_measured, tmp_path):
    found = compare_runs([runs.test, runs.held], tmp_path)
    assert [arm["values"]["error"] for arm in found["arms"]] == [
        [measured["sets"]["test"]["error"]],
        [held_measured["sets"]["test"]["error"]],
    ]
    (pair,) = found["pairs"]
    assert (pair["arm"], pair["against"], pair["seeds"]) == ("on-held", "on-test", [0])
    assert len(pair["verdicts"]) == len(MEASURES) + 12


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


def test_a_run_that_is_not_evaluated_is_refused_with_the_command(tmp_path):
    (tmp_path / "run").mkdir()
    rule = r"compare: .*run must be evaluated, got no evaluation.json; softaug evaluate it"
    with pytest.raises(ValueError, match=rule):
        compare_runs([keep(tmp_path, "hard", 0, 10), tmp_path / "run"], tmp_path)


def test_no_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one evaluated run must be given, got none"):
        compare_runs([], tmp_path)
