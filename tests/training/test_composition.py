"""Any transform with any mixing and any loss trains, or is refused with the reason."""

import itertools
from dataclasses import replace

import pytest
from one_step import take_step

from softaug.recipes import (
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
    "noise": Augment(NormalOffsets(0.3), noise=Noise()),
    "cutout": Augment(UniformOffsets(4), cutout=Cutout(8)),
    "randaugment": Augment(NormalOffsets(0.3), policy="randaugment"),
    "soft policy": Augment(NormalOffsets(0.3), policy="soft-trivialaugment", curves="naive"),
}
MIXINGS = {
    "not mixed": None,
    "mixup": Mix("mixup"),
    "cutmix": Mix("cutmix"),
    "manifold mixup": Mix("manifold-mixup"),
}
LOSSES = {
    "hard": LossSpec(),
    "target": LossSpec("target"),
    "weight": LossSpec("weight", "normalised"),
    "both": LossSpec("both"),
    "label smoothing": LossSpec("both", label_smoothing=0.1),
    "online smoothing": LossSpec("both", online_smoothing=0.5),
    "focal": LossSpec("both", focal_gamma=2.0),
}
TRIPLES = list(itertools.product(TRANSFORMS, MIXINGS, LOSSES))


def recipe(transform, mixing, loss):
    parts = {"augment": TRANSFORMS[transform], "mix": MIXINGS[mixing], "loss": LOSSES[loss]}
    return Recipe("x", "resnet8", **parts)


@pytest.mark.parametrize("names", TRIPLES, ids=" + ".join)
def test_it_trains(names):
    found, moved = take_step(recipe(*names))
    assert found.isfinite().all()
    if names[2] != "focal":  # the others are divergences
        assert float(found[:, 0].min()) >= -1e-6
    assert moved.isfinite().all()
    assert float(moved.abs().max()) > 0


def test_two_smoothings_are_refused():
    with pytest.raises(ValueError, match="one of label_smoothing and online_smoothing must be 0"):
        LossSpec(label_smoothing=0.1, online_smoothing=0.5)


def test_manifold_mixup_is_refused_under_compile():
    mixed = recipe("soft crop", "manifold mixup", "both")
    with pytest.raises(ValueError, match="the layer that is mixed changes from step to step"):
        replace(mixed, compute=replace(mixed.compute, compile=True))


@pytest.mark.parametrize(("policy", "curves"), [("none", "naive"), ("randaugment", "cifar100")])
def test_curves_without_a_soft_policy_are_refused(policy, curves):
    with pytest.raises(ValueError, match="curves are for a soft policy"):
        Augment(policy=policy, curves=curves)


def test_a_soft_policy_needs_curves():
    with pytest.raises(ValueError, match="curves must be given for policy soft-randaugment"):
        Augment(policy="soft-randaugment")
