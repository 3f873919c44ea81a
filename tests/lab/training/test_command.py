import errno
import json
import sys

import pytest
from tiny_runs import tiny, tiny_pairs

from softaug.lab import cli
from softaug.lab.recipes import as_dict, find
from softaug.lab.training import checkpoint
from softaug.lab.training.command import USAGE, find_recipe

SMALL = ["--epochs", "1", "--batch", "20", "--data.per-class", "5", "--data.validation", "30"]


@pytest.fixture
def softaug(tmp_path, monkeypatch, capsys):
    """`softaug(...)` in an empty folder: exit code and what was said."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["softaug", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return call


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--help"], 0), (["--epochs"], 2)])
def test_without_a_recipe_the_usage_is_shown(softaug, arguments, code):
    assert softaug("train", *arguments) == (code, USAGE + "\n")


def test_a_recipes_help_shows_every_setting_and_its_value(softaug):
    code, said = softaug("train", "digits-resnet8-soft", "--help")
    assert code == 0
    for option in ("--out", "--checkpoint-steps", "--optim.lr", "--augment.crop.sigma", "--seed"):
        assert option in said


def test_a_run_goes_where_it_is_named_and_ends_with_its_numbers(softaug, tmp_path):
    code, said = softaug("train", "digits-resnet8-soft", *SMALL, "--seed", "3")
    assert code == 0
    folder = tmp_path / "runs" / "digits-resnet8-soft-seed3"
    result = json.loads((folder / "result.json").read_text())
    expected = f"validation error {result['error']:.2%}, NLL {result['nll']:.3f}, "
    assert said.splitlines()[-1].startswith(expected)
    assert result["recipe"]["data"]["per_class"] == 5
    assert softaug("train", "digits-resnet8-soft", *SMALL, "--seed", "3")[1].startswith("runs/")


def test_a_run_without_labels_ends_with_its_neighbours_and_what_to_do_next(softaug, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(as_dict(tiny_pairs(epochs=1))))
    code, said = softaug("train", file, "--weight.k", "2")
    assert code == 0
    result = json.loads((tmp_path / "runs/pairs-seed0/result.json").read_text())
    assert result["recipe"]["weight"]["k"] == 2
    assert said.splitlines()[-1] == (
        f"validation error of nearest neighbors {result['knn_error']:.2%}, feature std "
        f"{result['train_feature_std']:.2f}; `softaug evaluate runs/pairs-seed0` trains the "
        "probe; runs/pairs-seed0/result.json"
    )


def test_the_help_of_a_recipe_without_labels_shows_its_settings(softaug):
    code, said = softaug("train", "cifar10-simsiam-resnet18-sa1", "--help")
    assert code == 0
    for option in ("--weight.mode", "--method.bottleneck", "--probe.lr", "--views.scale"):
        assert option in said
    assert "--augment" not in said


def test_views_are_not_shown_as_labelled_images_are(softaug):
    code, said = softaug("show", "transforms", "a.png", "--recipe", "cifar10-simsiam-resnet18-sa1")
    assert code == 2
    assert "the recipe must learn from labels, got cifar10-simsiam-resnet18-sa1" in said


def test_a_kept_recipe_is_a_recipe(softaug, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(as_dict(tiny(epochs=1, name="mine"))))
    assert find_recipe(str(file)) == tiny(epochs=1, name="mine")
    assert softaug("train", file, "--out", "first")[0] == 0
    assert softaug("train", "first/recipe.json", "--out", "second")[0] == 0
    results = [json.loads((tmp_path / n / "result.json").read_text()) for n in ("first", "second")]
    assert results[0]["recipe"] == results[1]["recipe"]
    assert results[0]["nll"] == results[1]["nll"]


def test_a_name_is_that_of_the_catalogue():
    assert find_recipe("cifar100-resnet18-soft") == find("cifar100-resnet18-soft").recipe


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["digits-resnet8-sofd"], "did you mean 'digits-resnet8-soft'?"),
        (["absent.json"], "absent.json must be a recipe.json, got no such file"),
        (["broken.json"], "broken.json: the file must be JSON with finite numbers, got expected"),
        (["digits-resnet8-soft", "--epochs", "many"], "--epochs"),
        (["digits-resnet8-soft", "--epochs", "0"], "epochs must be a whole number >= 1"),
        (["digits-resnet8-soft", "--epohcs", "1"], "--epochs"),
        (["digits-resnet8-soft", "--optim.lr", "-1"], "lr must be > 0"),
        (["digits-resnet8-soft", "--workers", "-1"], "workers must be a whole number >= 0"),
        (["digits-resnet8-soft", "--model", "resnet9"], "did you mean 'resnet8'?"),
        (["digits-resnet8-soft", "--device", "gpu"], "device must be one that torch has here"),
        (["digits-resnet8-soft", "--data.per-class", "1000"], "num must be at most the images of"),
        (["digits-resnet8-soft", "--data.validation", "5000"], "num must leave some of the 1100"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_ends_with_code_2_before_any_folder(softaug, tmp_path, arguments, said):
    (tmp_path / "broken.json").write_text("not JSON")
    code, shown = softaug("train", *arguments)
    assert code == 2
    assert said in shown
    assert [path.name for path in tmp_path.iterdir()] == ["broken.json"]


def test_an_unknown_key_in_a_recipe_is_refused(softaug, tmp_path):
    values = as_dict(tiny())
    values["optim"]["momentun"] = 1
    (tmp_path / "recipe.json").write_text(json.dumps(values))
    code, said = softaug("train", "recipe.json")
    assert (code, "did you mean 'optim.momentum'?" in said) == (2, True)


def test_an_override_that_changes_a_run_is_refused_with_the_difference(softaug):
    assert softaug("train", "digits-resnet8-soft", *SMALL)[0] == 0
    code, said = softaug("train", "digits-resnet8-soft", *SMALL, "--optim.lr", "0.05")
    assert code == 2
    assert said.splitlines()[-1] == "  optim.lr: 0.1 -> 0.05"


def test_a_full_disk_ends_with_one_line_and_code_2(softaug, tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "_write", full)
    code, said = softaug("train", "digits-resnet8-soft", *SMALL, "--out", "run")
    assert code == 2
    assert "the disk is full" in said.splitlines()[-1]
    assert list((tmp_path / "run" / "checkpoints").iterdir()) == []


def test_a_loss_that_is_no_number_ends_with_one_line_and_code_2(softaug):
    code, said = softaug("train", "digits-resnet8-soft", *SMALL, "--optim.lr", "1e30")
    assert code == 2
    assert said.splitlines()[-1].startswith("train: the loss of every sample must be finite")
