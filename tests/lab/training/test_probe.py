"""The linear probe: what it is trained on, how, and that it is a function of its recipe."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from one_step import random_data
from photos import write_photos
from tiny_runs import tiny_pairs
from torch import nn

from softaug import DrawKey
from softaug.lab.recipes import ProbeSpec
from softaug.lab.training import trainer as training
from softaug.lab.training.evaluate import predict
from softaug.lab.training.linear_probe import ProbeBatches, fit_probe, probe_config
from softaug.lab.training.optim import learning_rates
from softaug.lab.training.setup import load_data
from softaug.lab.training.ssl import build_pair_net
from softaug.transforms import HorizontalFlip, UniformResizedCrop

DATA = random_data(num=24, edge=16)


def recipe_of(**probe):
    chosen = {"epochs": 2, "lr": 0.5, "batch": 10, **probe}
    return replace(tiny_pairs(), probe=ProbeSpec(**chosen))


def fitted(recipe, backbone=None, data=DATA):
    backbone = backbone or build_pair_net(recipe, data).backbone
    return fit_probe(backbone, recipe, data)


def test_crops_are_windows_and_flips_by_seed_epoch_and_sample():
    recipe = recipe_of()
    samples = ProbeBatches(recipe, DATA.train, None)
    for step in (0, 4):
        batch = samples[step]
        images = DATA.train.images[batch.sample]
        key = DrawKey(recipe.seed, step // 3, batch.sample, stream=2)
        crop, flip = UniformResizedCrop(16, (0.08, 1.0)), HorizontalFlip()
        cut = crop.apply(images, crop.draw(images, key=key))
        expected = flip.apply(cut, flip.draw(cut, key=key))
        assert (batch.inputs.int() - expected.int()).abs().max() <= 1


def test_every_image_is_seen_once_an_epoch():
    samples = ProbeBatches(recipe_of(), DATA.train, None)
    seen = Counter(sample for step in range(3) for sample in samples[step].sample.tolist())
    assert seen == Counter(range(24))


def slow_probe(features, labels, recipe):
    """The same training written out: SGD with momentum, by hand."""
    draws = ProbeBatches(recipe, DATA.train, features)
    probe = fitted(replace(recipe, probe=replace(recipe.probe, lr=1e-30)))  # the initial weights
    parts = [part.detach().clone().requires_grad_() for part in (probe.weight, probe.bias)]
    speed = [torch.zeros_like(part) for part in parts]
    rates = learning_rates(probe_config(recipe).optim, recipe.probe.epochs, draws.steps_per_epoch)
    for step, lr in enumerate(rates):
        sample = draws.index(step)
        loss = F.cross_entropy(features[sample] @ parts[0].T + parts[1], labels[sample])
        for part, v, slope in zip(parts, speed, torch.autograd.grad(loss, parts), strict=True):
            v.mul_(0.9).add_(slope)
            part.data.sub_(lr * v)
    return parts


def test_it_is_sgd_with_momentum_on_frozen_features():
    recipe = recipe_of(crops=False, epochs=5)
    backbone = build_pair_net(recipe, DATA).backbone
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    probe = fitted(recipe, backbone)
    weight, bias = slow_probe(predict(backbone, DATA.train.images), DATA.train.labels, recipe)
    torch.testing.assert_close(probe.weight, weight)
    torch.testing.assert_close(probe.bias, bias)
    for name, value in backbone.state_dict().items():
        assert torch.equal(value, before[name])  # BatchNorm's statistics too


@pytest.mark.parametrize("crops", [True, False])
def test_equal_recipes_give_equal_probes_and_another_seed_another(crops):
    recipe = recipe_of(crops=crops)
    backbone = build_pair_net(recipe, DATA).backbone
    first, again = fitted(recipe, backbone), fitted(recipe, backbone)
    other = fitted(replace(recipe, seed=1), backbone)
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight, other.weight)


def test_crops_change_what_is_learned():
    backbone = build_pair_net(recipe_of(), DATA).backbone
    with_crops, without = (fitted(recipe_of(crops=crops), backbone) for crops in (True, False))
    assert not torch.allclose(with_crops.weight, without.weight)


class Features(nn.Module):
    """A backbone that computes `function`."""

    def __init__(self, function):
        super().__init__()
        self.function, self.unused = function, nn.Parameter(torch.empty(0))

    def forward(self, images):
        return self.function(images.float().mean((1, 2, 3)))


MEAN_AS_CLASS = Features(lambda mean: F.one_hot(mean.long(), 10).float())


def test_features_that_tell_the_class_are_learned():
    labels = DATA.train.labels
    images = labels.to(torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 16, 16).contiguous()
    data = DATA._replace(train=DATA.train._replace(images=images))
    probe = fitted(recipe_of(epochs=30, lr=1.0), MEAN_AS_CLASS, data)
    assert torch.equal(probe(MEAN_AS_CLASS(images)).argmax(1), labels)


@pytest.mark.parametrize(
    ("epoch", "lr"), [(0, 10.0), (59, 10.0), (60, 1.0), (79, 1.0), (80, 0.1), (99, 0.1)]
)
def test_the_paper_s_learning_rate_falls_at_60_and_80(epoch, lr):
    optim = probe_config(replace(tiny_pairs(), probe=ProbeSpec())).optim
    assert learning_rates(optim, 100, steps_per_epoch=2)[2 * epoch + 1] == pytest.approx(lr)


def test_a_probe_that_breaks_down_is_refused():
    with pytest.raises(ValueError, match=r"probe: weights must be finite, .* smaller probe\.lr"):
        fitted(recipe_of(lr=1e30), Features(lambda mean: 1e9 * mean[:, None]))


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a small machine
@pytest.mark.parametrize("crops", [True, False])
def test_photographs_are_probed_too(tmp_path, crops):
    write_photos(tmp_path)
    recipe = replace(recipe_of(crops=crops), batch=4)
    spec = replace(recipe.data, name=f"folder:{tmp_path}", size=32, per_class=None, validation=0)
    data = load_data(replace(recipe, data=spec), None)
    probe = fitted(replace(recipe, data=spec), build_pair_net(recipe, data).backbone, data)
    assert probe.weight.isfinite().all()


def test_ready_features_are_read_by_no_worker(tmp_path, monkeypatch):
    write_photos(tmp_path)
    recipe, asked = recipe_of(crops=False, epochs=1), []
    stream = training.stream
    monkeypatch.setattr(training, "stream", lambda *given: asked.append(given[2]) or stream(*given))
    spec = replace(recipe.data, name=f"folder:{tmp_path}", size=32, per_class=None, validation=0)
    data = load_data(replace(recipe, data=spec), None)
    fitted(replace(recipe, data=spec), build_pair_net(recipe, data).backbone, data)
    assert asked == [0]  # they may be on a GPU, which a forked worker cannot read
