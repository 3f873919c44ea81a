"""Any transform with any mixing and any loss trains, or is refused with the reason."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from one_step import CLASSES, take_step

from softaug.lab.data.prior import confusion_prior, describe_prior
from softaug.lab.io import write_json
from softaug.lab.recipes import (
    Augment,
    Cutout,
    LossSpec,
    Mix,
    Noise,
    NormalOffsets,
    Recipe,
    UniformOffsets,
)

TRANSFORMS = {
    "hard crop": Augment(UniformOffsets(4)),
    "soft crop": Augment(NormalOffsets(0.3)),
    "whole labels": Augment(NormalOffsets(0.3, k=None)),
    "noise": Augment(NormalOffsets(0.3), noise=Noise(0.1)),
    "cutout": Augment(UniformOffsets(4), cutout=Cutout(8)),
    "randaugment": Augment(NormalOffsets(0.3), policy="randaugment"),
    "soft policy": Augment(NormalOffsets(0.3), policy="trivialaugment", curves="naive"),
}
MIXINGS = {
    "not mixed": Mix(),
    "mixup": Mix("mixup"),
    "cutmix": Mix("cutmix"),
    "manifold mixup": Mix("manifold-mixup"),
    "puzzle mix": Mix("puzzle-mix"),
    "co-mixup": Mix("co-mixup"),
}
LOSSES = {
    "hard": LossSpec(),
    "target": LossSpec("target"),
    "weight": LossSpec("weight", "normalized"),
    "both": LossSpec("both"),
    "batch mean": LossSpec("both", "batch_mean"),
    "prior": LossSpec("both", prior="prior.json"),
    "label smoothing": LossSpec("both", label_smoothing=0.1),
    "online smoothing": LossSpec("both", online_smoothing=0.5),
    "focal": LossSpec("both", focal_gamma=2.0),
}


@pytest.fixture(scope="module", autouse=True)
def prior(tmp_path_factory):
    """A prior for the ten classes, where the recipe looks for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("prior"))
        write_json(
            describe_prior(confusion_prior(torch.rand(10, 10)), CLASSES, {}), Path("prior.json")
        )
        yield


def recipe(transform, mixing, loss):
    parts = {"augment": TRANSFORMS[transform], "mix": MIXINGS[mixing], "loss": LOSSES[loss]}
    return Recipe("x", "resnet8", **parts)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_it_trains_with_every_loss_and_mixing(transform):
    shift = list(TRANSFORMS).index(transform)  # all pairs of mixing and loss, over all transforms
    for place, loss in enumerate(LOSSES):
        mixing = list(MIXINGS)[(place + shift) % len(MIXINGS)]
        found, moved = take_step(recipe(transform, mixing, loss))
        assert found.isfinite().all(), (mixing, loss)
        if loss != "focal":  # the others are divergences
            assert float(found[:, 0].min()) >= -1e-6, (mixing, loss)
        assert moved.isfinite().all(), (mixing, loss)
        assert float(moved.abs().max()) > 0, (mixing, loss)


def test_two_smoothings_are_refused():
    with pytest.raises(ValueError, match="one of label_smoothing and online_smoothing must be 0"):
        LossSpec(label_smoothing=0.1, online_smoothing=0.5)


def test_manifold_mixup_is_refused_under_compile():
    mixed = recipe("soft crop", "manifold mixup", "both")
    with pytest.raises(ValueError, match="the layer that is mixed changes from step to step"):
        replace(mixed, compute=replace(mixed.compute, compile=True))


@pytest.mark.parametrize("policy", ["none", "autoaugment"])
def test_curves_without_a_policy_that_has_them_are_refused(policy):
    with pytest.raises(ValueError, match="curves are for policy randaugment or trivialaugment"):
        Augment(policy=policy, curves="naive")


@pytest.mark.parametrize("soften", ["none", "weight"])
def test_a_prior_without_a_soft_target_is_refused(soften):
    with pytest.raises(ValueError, match="prior is for softened targets"):
        LossSpec(soften, prior="coarse")
