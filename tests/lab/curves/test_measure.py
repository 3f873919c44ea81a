"""Which runs are asked about which images, and what these are taken for after each operation."""

import io
import json

import pytest
import torch
from rich.console import Console

from softaug import SoftPolicy
from softaug.lab.curves.measure import (
    MEASURABLE,
    OPERATION_FILL,
    ImageOptions,
    MeasureOptions,
    corrupt,
    count_draws,
    describe_subject,
    find_subject,
    mean_guesses,
    measure,
)
from softaug.lab.data.images import load
from softaug.lab.training.setup import derive_seed
from softaug.metrics import shift_images
from softaug.transforms.operations import OPERATIONS, apply_operation

IMAGES = torch.randint(0, 256, (7, 3, 16, 16), dtype=torch.uint8)
FILL = (1, 2, 3)


def measured(folders, **options):
    chosen = MeasureOptions(**{"device": "cpu", "images": 40, "levels": 2, **options})
    subject = find_subject(folders, chosen)
    return measure(subject, chosen, Console(file=io.StringIO())), subject


def test_every_graded_operation_and_the_crop_are_measured():
    graded = {name for name, operation in OPERATIONS.items() if operation.graded}
    assert set(MEASURABLE) == graded | {"crop"}
    assert MeasureOptions().operations == MEASURABLE
    assert SoftPolicy().fill == OPERATION_FILL


def test_the_table_is_a_loop_over_levels_and_images(runs):
    names = ("rotate", "solarize", "crop")
    found, subject = measured([runs.held, runs.held], operations=names, draws=2)
    assert (found.x.tolist(), found.chance) == ([0.5, 1.0], 0.1)
    run, images = subject.runs[0], subject.source.images
    assert torch.equal(found.whole[:, 0, 0], run.predict(images).argmax(1).int())
    for name in names:
        for column, x in enumerate((0.5, 1.0)):
            for draw in range(count_draws(name, 2)):
                corrupted = corrupt(name, images, x, draw, 0, subject.fill)
                expected = run.predict(corrupted).argmax(1).int()
                for answers in found.corrupted[name][:, column, 2 * draw : 2 * draw + 2].T:
                    assert torch.equal(answers, expected)


def test_images_take_turns_in_the_two_directions():
    corrupted = corrupt("rotate", IMAGES, 0.4, draw=0, first=3, crop_fill=FILL)
    signs = torch.tensor([-1.0, 1, -1, 1, -1, 1, -1])
    assert torch.equal(corrupted, apply_operation("rotate", IMAGES, 0.4 * signs, fill=0))
    other = corrupt("rotate", IMAGES, 0.4, draw=1, first=3, crop_fill=FILL)
    assert torch.equal(other, apply_operation("rotate", IMAGES, -0.4 * signs, fill=0))


def test_a_crop_leaves_its_share_and_fills_the_rest():
    white = torch.full((50, 3, 32, 32), 255, dtype=torch.uint8)
    corrupted = corrupt("crop", white, 0.75, draw=0, first=0, crop_fill=FILL)
    left = (corrupted == 255).all(1).float().mean((1, 2))
    assert float((left - 0.25).abs().max()) < 0.02
    assert torch.equal(
        corrupt("crop", white, 1.0, 0, 0, FILL)[0, :, 5, 5], torch.tensor(FILL).byte()
    )


def guesses(folders, visible, images=None):
    subject = find_subject(folders, ImageOptions(images=images, device="cpu"))
    return mean_guesses(subject, visible, Console(file=io.StringIO())), subject


def test_guesses_are_mean_probabilities_of_each_true_class(runs):
    found, subject = guesses([runs.held, runs.held], 0.4)
    places = torch.Generator().manual_seed(derive_seed(0))
    cropped = shift_images(subject.source.images, 0.4, generator=places, fill=subject.fill)
    probabilities = subject.runs[0].predict(cropped).double().softmax(1)
    for label in range(10):
        expected = probabilities[subject.source.labels == label].mean(0)
        torch.testing.assert_close(found[label], expected)


def test_a_class_without_images_has_an_empty_row(runs):
    found, subject = guesses([runs.held], 0.3, images=5)
    absent = sorted(set(range(10)) - set(subject.source.labels.tolist()))
    assert absent, "five images cannot show ten classes"
    assert found[absent].sum() == 0


def test_the_file_says_which_networks_and_images(runs):
    options = ImageOptions(images=50, device="cpu")
    subject = find_subject([runs.held], options)
    about = describe_subject(subject, options)
    assert subject.class_names == tuple("0123456789")
    assert subject.fill == tuple(round(mean) for mean in subject.runs[0].data.mean)
    (run,), counts = about["runs"], torch.bincount(subject.source.labels, minlength=10)
    assert (int(counts.sum()), int(counts.min()) >= 4, int(counts.max()) <= 6) == (50, True, True)
    assert run["recipe"] == json.loads((runs.held / "recipe.json").read_text())
    assert (about["data"], about["split"], about["images"]) == ("digits", "held-out", 50)


def test_a_run_without_held_out_images_is_refused_but_for_test_images(runs):
    subject = find_subject([runs.test], ImageOptions(split="test", device="cpu"))
    assert torch.equal(subject.source.labels, load("digits").test.labels)
    rule = r"must have held out images, got none; train with --data.validation .* --split test"
    with pytest.raises(ValueError, match=rule):
        find_subject([runs.test], ImageOptions(device="cpu"))


def test_runs_that_held_out_other_images_are_refused(runs):
    with pytest.raises(ValueError, match="all runs must be measured on the images of"):
        find_subject([runs.held, runs.test], ImageOptions(device="cpu"))


def test_a_number_of_images_that_is_none_is_refused(runs):
    for images, rule in ((0, ">= 1"), (201, "at most the 200")):
        with pytest.raises(ValueError, match=f"images must be .*{rule}"):
            find_subject([runs.held], ImageOptions(images=images, device="cpu"))
