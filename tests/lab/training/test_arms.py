import math

import pytest
import torch
from torch import nn

from softaug import SoftCrop, SoftLoss
from softaug.lab.data.digits import split_digits
from softaug.lab.data.images import Images
from softaug.lab.training.demo import Arm, Plan, build_model, train_arm

DATA = split_digits(60).train
SOFT = Arm("soft", SoftCrop(0.1), SoftLoss("target"))
HARD = Arm("hard", SoftCrop(0.1), SoftLoss("none"))


def trained(arm: Arm, epochs: int = 2, seed: int = 0) -> tuple[nn.Module, float]:
    model = build_model(DATA.images, width=8, seed=seed)
    return model, train_arm(model, DATA, arm, Plan(epochs, batch=25), seed)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([part.flatten() for part in model.state_dict().values()])


def test_the_same_seed_gives_the_same_bits() -> None:
    (first, loss), (second, again) = trained(SOFT), trained(SOFT)
    assert loss == again
    assert torch.equal(weights(first), weights(second))
    assert not torch.equal(weights(first), weights(trained(SOFT, seed=1)[0]))


def test_training_lowers_the_loss() -> None:
    assert trained(HARD, epochs=15)[1] < 0.8 * trained(HARD, epochs=1)[1]


def test_a_curve_of_infinite_k_is_hard_augmentation() -> None:
    endless = Arm("soft", SoftCrop(0.1, k=math.inf), SoftLoss("target"))
    assert trained(endless)[1] == pytest.approx(trained(HARD)[1], rel=1e-4)


class Spy(SoftCrop):
    """Notes the keys it is called with."""

    def forward(self, images, labels, *, generator=None, key=None):
        self.keys = [*getattr(self, "keys", []), key]
        return super().forward(images, labels, generator=generator, key=key)


def seen_by(loss: SoftLoss) -> list[tuple[int, int, list[int]]]:
    spy = Spy(0.3)
    trained(Arm("spy", spy, loss), epochs=2, seed=5)
    return [(key.seed, key.epoch, key.index.tolist()) for key in spy.keys]


def test_draws_are_keyed_and_each_epoch_sees_every_image_once() -> None:
    seen = seen_by(SoftLoss("none"))
    assert [(seed, epoch) for seed, epoch, _ in seen] == [(5, 0)] * 3 + [(5, 1)] * 3
    first, second = ([i for _, e, index in seen if e == epoch for i in index] for epoch in (0, 1))
    assert sorted(first) == sorted(second) == list(range(60))
    assert first != second


def test_hard_and_soft_arms_see_the_same_images_in_the_same_order() -> None:
    assert seen_by(SoftLoss("none")) == seen_by(SoftLoss("both"))


def test_the_learning_rate_falls_by_a_cosine_of_the_steps(monkeypatch) -> None:
    rates = []

    class Recorder(torch.optim.SGD):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "SGD", Recorder)
    trained(HARD, epochs=2)
    assert rates == pytest.approx([0.05 * (1 + math.cos(math.pi * t / 6)) for t in range(6)])


def test_epochs_are_reported_with_their_images() -> None:
    reported: list[int] = []
    small = Images(DATA.images[:10], DATA.labels[:10])
    model = build_model(DATA.images, width=8, seed=0)
    train_arm(model, small, HARD, Plan(3, batch=4), 0, reported.append)
    assert reported == [10, 10, 10]
