"""Manifold Mixup: which layer mixes, by how much, and what is refused."""

import pytest
import torch
from scipy import stats
from torch import nn

from softaug import DrawKey, SoftLabel, SoftLoss
from softaug.lab.models import create
from softaug.lab.models.manifold_mixup import ManifoldMixup, default_layers

NUM, KEY = 6, DrawKey(seed=3, epoch=1, index=17)
LABELS = torch.arange(NUM) % 4
LAYERS = ["input", "first", "act"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act, self.last = nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 4)

    def forward(self, x):
        return self.last(self.act(self.first(x)))


def make(seed=0):
    torch.manual_seed(seed)
    return Net(), torch.randn(NUM, 5)


def mixed(values, params):
    share = params.share[:, None]
    return share * values + (1 - share) * values[params.partner]


def by_hand(net, images, params):
    """The forward pass written out, with the mix at the drawn layer."""
    values = mixed(images, params) if params.layer == "input" else images
    values = net.first(values)
    values = mixed(values, params) if params.layer == "first" else values
    values = net.act(values)
    return net.last(mixed(values, params) if params.layer == "act" else values)


@pytest.mark.parametrize("layer", LAYERS)
def test_the_layers_output_is_mixed_and_gradients_flow_through_both(layer):
    net, images = make()
    with ManifoldMixup(net, [layer]).mixing(NUM, key=KEY) as params:
        logits = net(images)
    expected = by_hand(net, images, params)
    torch.testing.assert_close(logits, expected)
    found = torch.autograd.grad(logits.square().sum(), net.first.weight)
    torch.testing.assert_close(
        found, torch.autograd.grad(expected.square().sum(), net.first.weight)
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_outside_the_context_and_after_an_error_in_it_the_model_is_as_it_was(layer):
    net, images = make()
    before, manifold = net(images), ManifoldMixup(net, [layer])
    with manifold.mixing(NUM, key=KEY):
        assert not torch.equal(net(images), before)
    with pytest.raises(KeyError, match="mine"), manifold.mixing(NUM, key=KEY):
        raise KeyError("mine")
    assert torch.equal(net(images), before)


def test_layers_are_drawn_evenly():
    manifold = ManifoldMixup(make()[0], LAYERS)
    found = [manifold.draw(2, key=KEY._replace(index=step)).layer for step in range(600)]
    assert stats.chisquare([found.count(layer) for layer in LAYERS]).pvalue > 0.01


def test_labels_follow_their_partners():
    manifold = ManifoldMixup(make()[0], LAYERS)
    label, params = SoftLabel(LABELS, torch.linspace(0, 1, NUM)), manifold.draw(NUM, key=KEY)
    found = manifold.report(label, params)
    assert torch.equal(found.labels, torch.stack([LABELS, LABELS[params.partner]], 1))
    assert torch.equal(found.retained[:, 1], label.retained[params.partner])
    assert torch.equal(found.share, torch.stack([params.share, 1 - params.share], 1))


def test_a_residual_network_trains_on_soft_labels_at_its_default_layers():
    model, images = create("resnet20", 4), torch.rand(NUM, 3, 16, 16)
    assert default_layers(model) == ("input", "blocks.2", "blocks.5")
    manifold, label = ManifoldMixup(model), SoftLabel(LABELS, torch.full((NUM,), 0.5))
    assert manifold.layers == default_layers(model)
    with manifold.mixing(NUM, key=KEY) as params:
        logits = model(images)
    SoftLoss()(logits, manifold.report(label, params)).backward()
    assert all(part.grad.isfinite().all() for part in model.parameters())


def test_wrapped_models_mix_in_the_network_itself(tmp_path):
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        net, images = make()
        wrapped = nn.parallel.DistributedDataParallel(net)
        with ManifoldMixup(wrapped, ["first"]).mixing(NUM, key=KEY) as params:
            logits = wrapped(images)
        torch.testing.assert_close(logits, by_hand(net, images, params))
        logits.sum().backward()
    finally:
        torch.distributed.destroy_process_group()


def test_a_compiled_model_is_refused_rather_than_left_unmixed():
    net, images = make()
    compiled = torch.compile(net, backend="eager")
    compiled(images)
    with pytest.raises(ValueError, match=r"got 0 runs; .* compiled models skip"):  # noqa: SIM117
        with ManifoldMixup(net, ["act"]).mixing(NUM, key=KEY):
            compiled(images)


def run(layers, call, num=NUM):
    net, images = make()
    with ManifoldMixup(net, layers).mixing(num, key=KEY):
        call(net, images)


BAD = [
    (lambda: ManifoldMixup(Net(), ["frist"]), "got 'frist'; did you mean 'first'?"),
    (lambda: ManifoldMixup(Net(), []), "layers must be a sequence of at least one name, got []"),
    (lambda: ManifoldMixup(Net(), "first"), "layers must be a sequence of at least one name"),
    (lambda: ManifoldMixup(Net(), ["act"], alpha=0), "ManifoldMixup: alpha must be > 0"),
    (lambda: ManifoldMixup(Net()), "got Net; name layers of it"),
    (lambda: run(["act"], lambda net, images: None), "must run once within mixing(), got 0 runs"),
    (lambda: run(["act"], lambda net, x: net(net(x)[:, [0, 1, 2, 3, 0]])), "got 2 runs"),
    (lambda: run(["act"], lambda net, x: net(x), num=4), "must give a tensor with 4 rows"),
    (lambda: run(["input"], lambda net, images: net(x=images)), "must give a tensor with 6 rows"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_use_is_refused(call, message):
    with pytest.raises(ValueError, match="got") as error:
        call()
    assert message in str(error.value)
