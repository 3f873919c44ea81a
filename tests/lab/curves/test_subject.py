import json
import shutil

import pytest
import torch

from softaug.lab.curves.measure import ImageOptions, describe_subject, find_subject
from softaug.lab.data.images import load


def test_held_out_images_are_those_of_the_run(runs):
    subject = find_subject([runs.held], ImageOptions(device="cpu"))
    assert torch.equal(subject.source.labels, subject.runs[0].data.measured.labels)
    assert len(subject.source.labels) == 200
    assert subject.class_names == tuple("0123456789")
    assert subject.fill == tuple(round(mean) for mean in subject.runs[0].data.mean)


@pytest.mark.parametrize("folder", ["held", "test"])
def test_test_images_serve_where_they_are_asked_for(runs, folder):
    options = ImageOptions(split="test", device="cpu")
    subject = find_subject([getattr(runs, folder)], options)
    assert torch.equal(subject.source.labels, load("digits").test.labels)


def test_a_part_of_the_images_holds_each_class_in_proportion(runs):
    subject = find_subject([runs.held], ImageOptions(images=50, device="cpu"))
    counts = torch.bincount(subject.source.labels, minlength=10)
    assert (int(counts.sum()), int(counts.min()) >= 4, int(counts.max()) <= 6) == (50, True, True)


def test_the_file_says_which_networks_and_images(runs):
    options = ImageOptions(images=50, device="cpu")
    about = describe_subject(find_subject([runs.held], options), options)
    (run,) = about["runs"]
    assert run["recipe"] == json.loads((runs.held / "recipe.json").read_text())
    assert (about["data"], about["split"], about["images"]) == ("digits", "held-out", 50)


def test_a_run_without_held_out_images_is_refused_with_both_remedies(runs):
    rule = r"must have held out images, got none; train with --data.validation .* --split test"
    with pytest.raises(ValueError, match=rule):
        find_subject([runs.test], ImageOptions(device="cpu"))


def test_runs_that_held_out_other_images_are_refused(runs):
    with pytest.raises(ValueError, match="all runs must be measured on the images of"):
        find_subject([runs.held, runs.test], ImageOptions(device="cpu"))


def test_a_folder_without_test_images_is_refused(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "softaug.lab.curves.measure.load_images", lambda *a, **o: load("digits")._replace(test=None)
    )
    with pytest.raises(ValueError, match="must have test images, got none; use --split held-out"):
        find_subject([runs.held], ImageOptions(split="test", device="cpu"))


def test_no_run_is_refused():
    with pytest.raises(ValueError, match="curves: at least one run must be given, got none"):
        find_subject([], ImageOptions())


@pytest.mark.parametrize(("images", "rule"), [(0, ">= 1"), (201, "at most the 200")])
def test_a_number_of_images_that_is_none_is_refused(runs, images, rule):
    with pytest.raises(ValueError, match=f"images must be .*{rule}"):
        find_subject([runs.held], ImageOptions(images=images, device="cpu"))


def test_a_folder_that_is_no_run_is_refused(runs, tmp_path):
    broken = shutil.copytree(runs.held, tmp_path / "broken")
    (broken / "recipe.json").unlink()
    with pytest.raises(ValueError, match=r"curves: .* must be a run's folder, got no recipe\.json"):
        find_subject([broken], ImageOptions(device="cpu"))
