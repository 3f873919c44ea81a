"""Runs whose strength follows how they go."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from test_resume import crashed
from tiny_runs import STEPS, rows, run, tiny, weights

from softaug.lab.recipes import Augment, Mix, NormalOffsets, Pace, UniformOffsets
from softaug.lab.training.augmentation import Strength, build_pacer, pacer_metrics, strength_of
from softaug.lab.training.batches import Batches
from softaug.lab.training.checkpoint import load, steps
from softaug.lab.training.setup import load_data

PACES = {
    "accuracy-hold": Pace("accuracy-hold", since=0.25),
    "confidence-match": Pace("confidence-match", find_k=True),
    "by class": Pace("accuracy-hold", since=0.25, by="class"),
    "by sample": Pace("confidence-match", by="sample"),
}


def paced(rule="confidence-match", **changes):
    recipe = tiny(epochs=4, **changes)
    crop = replace(recipe.augment.crop, sigma=0.2)
    return replace(recipe, augment=replace(recipe.augment, crop=crop, pace=PACES[rule]))


@pytest.fixture(scope="module", params=PACES)
def unbroken(request, tmp_path_factory):
    """A paced run that was never stopped: its recipe and folder."""
    folder = tmp_path_factory.mktemp(request.param)
    recipe = paced(request.param)
    run(recipe, folder)
    return recipe, folder


def test_each_epoch_tells_its_strength_and_follows_its_lead(unbroken):
    _, folder = unbroken
    table = rows(folder)
    assert table[0]["sigma"] == 0.2
    for now, then in pairwise(table[:-1]):
        step = 1.3 if now["lead"] > 0 else 1 / 1.3 if now["lead"] < 0 else 1
        assert then["sigma"] == pytest.approx(min(max(now["sigma"] * step, 0.05), 0.3))
    assert table[-1]["sigma"] == max(table[-2]["sigma"] / 2, 0.05), "the last epoch settles"


def test_a_crash_leaves_no_trace_wherever_it_comes(unbroken, tmp_path, monkeypatch):
    recipe, folder = unbroken
    for step in (STEPS + 1, 2 * STEPS, 3 * STEPS - 1):
        crashed(tmp_path, monkeypatch, step, recipe, checkpoint_steps=1)
    run(recipe, tmp_path, checkpoint_steps=1)
    assert weights(tmp_path) == weights(folder)
    assert rows(tmp_path) == rows(folder)


def test_workers_make_the_very_batches(unbroken, tmp_path, monkeypatch):
    recipe, folder = unbroken
    crashed(tmp_path, monkeypatch, 2 * STEPS + 1, recipe, workers=2, checkpoint_steps=1)
    run(recipe, tmp_path, workers=2, checkpoint_steps=1)
    assert weights(tmp_path) == weights(folder)
    assert rows(tmp_path) == rows(folder)


def test_accuracy_is_held_where_it_was_at_first(tmp_path):
    run(paced("accuracy-hold"), tmp_path)
    first, *others = rows(tmp_path)
    assert first["lead"] == 0
    for row in others:
        assert row["lead"] == pytest.approx(first["train_error"] - row["train_error"])


def test_the_same_strength_at_every_epoch_is_an_unpaced_run(tmp_path):
    still = paced()
    pace = Pace("accuracy-hold", least=0.2, most=0.2)
    run(replace(still, augment=replace(still.augment, pace=pace)), tmp_path / "paced")
    run(replace(still, augment=replace(still.augment, pace=Pace())), tmp_path / "plain")
    assert weights(tmp_path / "paced") == weights(tmp_path / "plain")


def batches(recipe):
    data = load_data(recipe, None)
    return Batches(recipe, data.train, data.mean)


def test_batches_are_made_at_the_strength_in_hand():
    made, fixed = batches(paced()), paced(augment_pace=Pace())
    made.strength = Strength(epoch=1, sigma=0.29, k=3.0)
    crop = replace(fixed.augment.crop, sigma=0.29, k=3.0)
    expected = batches(replace(fixed, augment=replace(fixed.augment, crop=crop)))
    torch.testing.assert_close(made[STEPS], expected[STEPS])
    with pytest.raises(AssertionError, match="a strength holds for one epoch"):
        made[0]


def test_each_sample_of_a_batch_is_made_at_its_own_strength():
    made, fixed = batches(paced("by sample")), paced(augment_pace=Pace())
    own = torch.linspace(0.05, 0.3, 50, dtype=torch.float64)
    made.strength = Strength(epoch=1, sigma=0.2, k=2.0, per_sample_sigma=own)
    found = made[STEPS]
    for row, sample in enumerate(found.sample[:5].tolist()):
        crop = replace(fixed.augment.crop, sigma=float(own[sample]), k=2.0)
        alone = batches(replace(fixed, augment=replace(fixed.augment, crop=crop)))[STEPS]
        assert torch.equal(found.images[row], alone.images[row])
        torch.testing.assert_close(found.label.retained[row], alone.label.retained[row])


def test_samples_have_the_strength_of_their_class():
    pacer = build_pacer(paced("by class").augment, 4, 10, 50)
    labels = torch.arange(50) % 10
    pacer.watch(20 * torch.eye(10)[labels.clamp(max=4)], labels)
    pacer.next_epoch()
    own = strength_of(pacer, labels).per_sample_sigma
    assert torch.equal(own, pacer.strengths[labels])
    assert own[3] > own[7]


def test_no_step_of_the_next_epoch_is_made_before_this_one_ends():
    assert batches(paced()).known_from(STEPS + 1) == range(STEPS + 1, 2 * STEPS)
    assert batches(tiny()).known_from(1) == range(1, 2 * STEPS)


def test_a_run_finished_before_recipes_had_a_pace_and_runs_an_identity_is_known(tmp_path):
    run(tiny(), tmp_path)
    (tmp_path / "run.json").unlink()
    recipe = json.loads((tmp_path / "recipe.json").read_text())
    result = json.loads((tmp_path / "result.json").read_text())
    for values in (recipe, result["recipe"]):
        del values["augment"]["pace"]
    for name in ("run_id", "recipe_sha256", "sha256"):
        del result[name]
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    (tmp_path / "result.json").write_text(json.dumps(result))
    again, said = run(tiny(), tmp_path)
    assert "is finished" in said
    assert again["error"] == result["error"]


def test_the_checkpoint_holds_the_pacer(unbroken):
    recipe, folder = unbroken
    state = load(steps(folder / "checkpoints")[-1]).state["task"]["pacer"]
    assert state["pacer"] == repr(build_pacer(recipe.augment, 4, 10, 50))
    assert state["epoch"] == 4


def test_tables_are_kept_as_tensors(tmp_path):
    run(paced("by sample"), tmp_path)
    kept = load(steps(tmp_path / "checkpoints")[-1])
    tables = kept.state["task"]["pacer"]["tables"]
    assert {name: list(table.shape) for name, table in tables.items()} == {
        "sums": [50, 4],
        "history": [50, 4],
        "levels": [50],
    }
    assert tables["levels"].unique().numel() > 2


@pytest.mark.parametrize("rule", ["by class", "by sample"])
def test_the_spread_of_strengths_is_told(rule, tmp_path):
    run(paced(rule), tmp_path)
    table = rows(tmp_path)
    assert table[0]["sigma_low"] == table[0]["sigma_high"] == 0.2
    assert any(row["sigma_low"] < row["sigma_high"] for row in table)


def test_a_tenth_is_below_and_a_tenth_above_what_is_told():
    pacer = build_pacer(paced("by sample").augment, 4, 10, 50)
    state = pacer.state_dict()
    state["tables"]["levels"] = 10 * torch.arange(50) - 250  # thousandths of a doubling
    pacer.load_state_dict(state)
    found = pacer_metrics(pacer)
    assert found == pytest.approx(
        {"sigma": 0.2, "sigma_low": 0.2 * 2**-0.2, "sigma_high": 0.2 * 2**0.19}
    )


def test_a_recipe_without_a_pace_has_no_pacer():
    assert build_pacer(Augment(), 3, 10, 50) is None


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        ({"crop": UniformOffsets(4)}, "the crop must have a sigma, got UniformOffsets; begin from"),
        ({"crop": NormalOffsets(0.5)}, r"sigma must be in 0\.05\.\.0\.3 at first, got 0\.5"),
        ({"schedules": (("crop.sigma", 0.1, 0.5),)}, "must have no schedule, got crop.sigma"),
        ({"schedules": (("crop.k", 0.1, 0.5),)}, "must have no schedule, got crop.k"),
        ({"crop": NormalOffsets(k=None)}, "the crop must have a k to begin with for find_k"),
    ],
)
def test_what_cannot_be_paced_is_refused(augment, message):
    settings = {"crop": NormalOffsets(), "pace": PACES["confidence-match"], **augment}
    with pytest.raises(ValueError, match=f"^augment.pace: .*{message}"):
        Augment(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "line"}, "rule must be one of 'none'.* got 'line'"),
        ({"rule": "accuracy-hold", "goal": 0.9}, "goal is for confidence-match, got 0.9 with acc"),
        ({"rule": "accuracy-hold", "by": "image"}, "by must be one of 'all', .* got 'image'"),
        ({"by": "class"}, "by is for accuracy-hold, confidence-match, got class with none"),
        ({"rule": "accuracy-hold", "find_k": True}, "find_k is for confidence-"),
        ({"rule": "confidence-match", "since": 0.5}, "since is for accuracy-hold, got 0.5 with"),
        ({"since": -1.0}, r"since must be a number in 0\.\.1"),
        ({"settle": 2.0}, r"settle must be a number in 0\.\.1"),
        ({"goal": 0.9}, "goal is for confidence-match, got 0.9 with none"),
        ({"goal": 2.0}, r"goal must be a number in 0\.\.1"),
        ({"least": 0.4, "most": 0.1}, r"\(least, most\) must be 0 < low <= high"),
        ({"factor": 0.9}, "factor must be above 1"),
    ],
)
def test_a_bad_pace_is_refused(settings, message):
    with pytest.raises(ValueError, match=f"^augment.pace: {message}"):
        Pace(**settings)


@pytest.mark.parametrize("rule", ["confidence-match", "by sample"])
def test_what_must_know_one_image_is_not_mixed(rule):
    with pytest.raises(ValueError, match=r"^recipe: augment\.pace\..* is for labels of one image"):
        paced(rule, mix=Mix("mixup"))


def test_a_run_goes_on_only_by_those_that_it_began_with(tmp_path, monkeypatch):
    crashed(tmp_path, monkeypatch, STEPS + 1, paced("by class"))
    recipe = paced("by class")
    other = replace(recipe.augment, pace=replace(recipe.augment.pace, by="sample"))
    with pytest.raises(ValueError, match=r'augment\.pace\.by: "class" -> "sample"'):
        run(replace(recipe, augment=other), tmp_path)
