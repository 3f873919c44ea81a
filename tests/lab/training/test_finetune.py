"""Weights to begin from, what is frozen, and learning rates by depth."""

import hashlib
import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_runs import run, tiny, tiny_pairs
from torch import nn

from softaug.lab.models import create
from softaug.lab.recipes import Finetune, as_dict, from_dict
from softaug.lab.training import checkpoint
from softaug.lab.training.finetune import load_weights, lr_scales, read_weights


def finetune(weights, **changes):
    return tiny(finetune=Finetune(str(weights)), epochs=1, **changes)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """The folder of a run on the ten digits."""
    out = tmp_path_factory.mktemp("pretrained")
    run(tiny(epochs=1), out)
    return out


def state_of(out):
    return checkpoint.load(checkpoint.steps(out / "checkpoints")[-1]).state


@pytest.mark.parametrize("prefix", ["", "net.", "module.net.", "backbone.model."])
def test_weights_fit_whatever_their_keys_begin_with_and_a_head_of_other_classes_is_new(prefix):
    old, new = create("resnet8", 7), create("resnet8", 10)
    head = new.linear.weight.clone()
    found = {prefix + name: value for name, value in old.state_dict().items()}
    report = load_weights(new, {**found, "queue": torch.ones(3)})
    assert report.new == ["linear.weight", "linear.bias"]
    assert report.left_out == [f"{prefix}linear.weight", f"{prefix}linear.bias", "queue"]
    assert new.blocks[0].conv1.weight.equal(old.blocks[0].conv1.weight)
    assert new.linear.weight.equal(head)


def test_weights_of_another_network_are_refused_with_keys_of_both():
    rule = r"at least 50% .* got 0%: it needs conv.weight, .* more; they have conv1.weight, .* more"
    with pytest.raises(ValueError, match=rule):
        load_weights(create("resnet8", 10), create("imagenet-resnet50", 10).state_dict())
    with pytest.raises(ValueError, match=r"they have linear\.weight; choose the model that they"):
        load_weights(create("resnet8", 10), {"linear.weight": torch.ones(10, 64)})


@pytest.mark.parametrize(
    "damage", [b"", b"PK\x03\x04", b"\x80\x02}q\x00(X", b"\x80\x02.", b"0" * 99]
)
def test_a_damaged_pickle_is_refused_whatever_it_raises(tmp_path, damage):
    (tmp_path / "a.pth").write_bytes(damage)
    with pytest.raises(ValueError, match=r"a.pth must hold a state dict of tensors alone"):
        read_weights(str(tmp_path / "a.pth"))


def test_files_folders_and_wrapped_state_dicts_are_read_and_pickles_are_not(pretrained, tmp_path):
    weights = read_weights(str(pretrained))
    assert weights.keys() == state_of(pretrained)["model"].keys()
    torch.save({"epoch": 3, "state_dict": weights}, tmp_path / "a.pth")
    save_file(weights, tmp_path / "a.safetensors")
    for name in ("a.pth", "a.safetensors"):
        found = read_weights(str(tmp_path / name))
        assert all(found[key].equal(value) for key, value in weights.items())
    torch.save(nn.Linear(2, 2), tmp_path / "net.pth")
    (tmp_path / "bad.safetensors").write_bytes(b"x" * 20)
    for name in ("net.pth", "bad.safetensors"):
        with pytest.raises(ValueError, match=f"{name} must hold .* nothing pickled is executed"):
            read_weights(str(tmp_path / name))
    for name in ("missing.pth", str(tmp_path)):
        with pytest.raises(ValueError, match="must be a file, a run's folder, timm:TAG or torchv"):
            read_weights(name)


@pytest.mark.parametrize("tag", ["timm:no_such_network", "torchvision:ResNet18_Weights.NO"])
def test_a_tag_that_cannot_be_loaded_is_refused_with_a_remedy(tag):
    with pytest.raises(ValueError, match=f"weights {tag} must be .*; where the hub cannot be rea"):
        read_weights(tag)


def test_a_torchvision_tag_brings_its_weights_and_how_images_were_normalized(monkeypatch):
    from torchvision.models import ResNet18_Weights

    state = {"fc.bias": torch.ones(1000)}
    monkeypatch.setattr(ResNet18_Weights, "get_state_dict", lambda self, **asked: dict(state))
    found = read_weights("torchvision:ResNet18_Weights.IMAGENET1K_V1")
    assert found["fc.bias"].equal(state["fc.bias"])
    assert found["normalize.sd"].flatten().tolist() == pytest.approx([58.395, 57.12, 57.375])


def test_a_run_begins_from_weights_says_so_and_ends_elsewhere_than_a_new_one(pretrained, tmp_path):
    begun, said = run(finetune(pretrained, optim_lr=1e-9), tmp_path / "begun")
    assert f"weights {pretrained}: 56 of 56 tensors loaded; new: none; left out: none" in said
    assert "images normalized as they were trained" in said
    before, after = state_of(pretrained)["model"], state_of(tmp_path / "begun")["model"]
    torch.testing.assert_close(after["net.conv.weight"], before["net.conv.weight"])
    assert after["normalize.mean"].equal(before["normalize.mean"])
    file = checkpoint.steps(pretrained / "checkpoints")[-1] / "model.safetensors"
    assert begun["files_sha256"] == {
        "finetune.weights": hashlib.sha256(file.read_bytes()).hexdigest()
    }


def test_a_backbone_learned_without_labels_gets_a_new_classifier(tmp_path):
    run(tiny_pairs(epochs=1), tmp_path / "pairs")
    said = run(finetune(tmp_path / "pairs"), tmp_path / "begun")[1]
    assert "new: linear.weight, linear.bias; left out: " in said


def test_a_resume_with_another_file_is_refused(pretrained, tmp_path, monkeypatch):
    file = tmp_path / "w.safetensors"
    save_file(read_weights(str(pretrained)), file)
    recipe = replace(finetune(file), epochs=2)
    run(recipe, tmp_path / "run", checkpoint_steps=1)
    (tmp_path / "run" / "result.json").unlink()
    save_file({key: value + 1 for key, value in load_file(file).items()}, file)
    with pytest.raises(ValueError, match=r"files of the recipe must be those .*finetune\.weights"):
        run(recipe, tmp_path / "run")


def test_a_frozen_backbone_keeps_weights_and_statistics_and_the_classifier_learns(
    pretrained, tmp_path
):
    recipe = tiny(epochs=1, finetune=Finetune(str(pretrained), freeze="backbone"))
    run(recipe, tmp_path)
    before, after = state_of(pretrained), state_of(tmp_path)
    changed = {
        name for name, value in before["model"].items() if not value.equal(after["model"][name])
    }
    assert changed == {"net.linear.weight", "net.linear.bias"}
    assert len(after["optimizer"]["state"]) == 2


@pytest.mark.parametrize(
    ("name", "decays"),
    [
        (
            "resnet8",
            {"conv.weight": 4, "norm.bias": 4, "blocks.0.conv1.weight": 3, "linear.bias": 0},
        ),
        ("wrn28-10", {"conv.weight": 13, "blocks.11.conv1.weight": 1, "norm.weight": 0}),
        ("imagenet-resnet50", {"bn1.bias": 17, "layer1.0.conv1.weight": 16, "fc.weight": 0}),
        ("efficientnet-b0", {"features.0.0.weight": 9, "classifier.1.bias": 0}),
        (
            "vit-tiny-32",
            {
                "class_token": 7,
                "encoder.pos_embedding": 7,
                "encoder.layers.encoder_layer_5.ln_1.bias": 1,
                "encoder.ln.weight": 0,
                "heads.head.weight": 0,
            },
        ),
        (
            "timm:vit_tiny_patch16_224",
            {"pos_embed": 13, "blocks.11.norm1.weight": 1, "norm.bias": 0, "head.bias": 0},
        ),
        ("timm:convnext_atto", {"stages.3.blocks.0.mlp.fc1.bias": 1, "head.norm.weight": 0}),
    ],
)
def test_learning_rates_fall_from_layer_to_layer(name, decays):
    with torch.device("meta"):
        scales = lr_scales(create(name, 10), 0.5)
    assert {key: scales[key] for key in decays} == {key: 0.5**num for key, num in decays.items()}


def test_a_layers_learning_rate_is_what_its_weights_move_by(pretrained, tmp_path):
    recipe = tiny(epochs=1, batch=50, optim_weight_decay=0.0, optim_momentum=0.0)
    moved = {}
    for decay in (None, 0.5):
        spec = Finetune(str(pretrained), layer_decay=decay)
        run(replace(recipe, finetune=spec), tmp_path / str(decay))
        before, after = state_of(pretrained)["model"], state_of(tmp_path / str(decay))["model"]
        moved[decay] = {name: after[name] - before[name] for name in before}
    for name, scale in (("net.linear.weight", 1), ("net.blocks.2.conv1.weight", 0.5)):
        torch.testing.assert_close(
            moved[0.5][name], scale * moved[None][name], rtol=1e-3, atol=1e-6
        )


def test_recipes_from_before_fine_tuning_are_read_and_bad_settings_refused():
    old = as_dict(tiny())
    del old["finetune"], old["data"]["test_share"]
    assert from_dict(json.loads(json.dumps(old))) == tiny()
    with pytest.raises(ValueError, match="freeze is for weights that are loaded"):
        Finetune(freeze="backbone")
    with pytest.raises(ValueError, match="layer_decay must be above 0"):
        Finetune(layer_decay=0.0)
    with pytest.raises(ValueError, match="layer_decay is for layers that are trained"):
        Finetune("a.pth", "backbone", 0.5)


def test_run_names_a_run_beside_this_one_and_says_how_to_make_it(pretrained, tmp_path):
    name = "run:digits-resnet8-soft-seed0"
    rule = r"must be of a run in .*; first `softaug train digits-resnet8-soft --seed 0 --out "
    with pytest.raises(ValueError, match=rule):
        run(finetune(name), tmp_path / "begun")
    (tmp_path / "digits-resnet8-soft-seed0").symlink_to(pretrained)
    result, said = run(finetune(name), tmp_path / "begun")
    assert f"weights {name}: 56 of 56 tensors loaded" in said
    assert result["files_sha256"].keys() == {"finetune.weights"}
    with pytest.raises(ValueError, match="first `softaug train"):
        read_weights(name)  # beside which run?
