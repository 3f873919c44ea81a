import math
import shutil
from collections import OrderedDict

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from softaug import SoftLabel, SoftLoss
from softaug.lab.models import Normalize
from softaug.lab.recipes import Compute, Optim
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.optim import Learner, learning_rate, load_tensors

NUM_STEPS = 5
PLAIN = Compute(channels_last=False)


def make_net():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        conv = nn.Conv2d(3, 8, 3, padding=1)
        head = [nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)]
        layers = nn.Sequential(conv, nn.BatchNorm2d(8), *head)
    normalize = Normalize([120.0] * 3, [60.0] * 3)
    return nn.Sequential(OrderedDict(normalize=normalize, net=layers))


def make_linear():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 4))
    normalize = Normalize([120.0] * 3, [60.0] * 3)
    return nn.Sequential(OrderedDict(normalize=normalize, net=layers))


def make_learner(optim=None, compute=PLAIN, warmup_steps=0, soften="none", make=make_net):
    loss = SoftLoss(soften, reduction="none", validate=False)
    return Learner(make(), loss, optim or Optim(), NUM_STEPS, warmup_steps, compute)


def batch(step, num=12):
    generator = torch.Generator().manual_seed(step)
    images = torch.randint(0, 256, (num, 3, 8, 8), generator=generator, dtype=torch.uint8)
    return images, torch.randint(0, 4, (num,), generator=generator)


def learn(learner, steps=range(NUM_STEPS)):
    return [learner.step(step, *batch(step), num=12) for step in steps]


def flat(module):
    return torch.cat([part.detach().flatten() for part in module.parameters()])


def test_the_rate_rises_in_the_warm_up_and_falls_to_0_by_a_cosine():
    rates = [learning_rate(Optim(lr=3.0), step, 6, 2) for step in range(7)]
    cosine = [1.5 * (1 + math.cos(math.pi * share)) for share in (0, 0.25, 0.5, 0.75, 1)]
    assert rates == pytest.approx([1.0, 2.0, *cosine])
    assert (rates[2], rates[6]) == (3.0, 0.0)


def test_without_warm_up_the_first_step_has_the_full_rate():
    assert learning_rate(Optim(lr=0.1), 0, 10, 0) == 0.1
    assert 0 < learning_rate(Optim(lr=0.1), 9, 10, 0) < 0.003


def test_a_step_uses_its_own_rate():
    learner = make_learner(Optim(lr=3.0), warmup_steps=2)
    learner.step(1, *batch(1), num=12)
    assert learner.lr == pytest.approx(2.0)


def test_it_learns_as_a_plain_torch_loop_does():
    optim = Optim(lr=0.1, weight_decay=0.01)
    learner, net = make_learner(optim), make_net()
    sgd = torch.optim.SGD(net.parameters(), 0.1, 0.9, weight_decay=0.01, nesterov=True)
    for step in range(NUM_STEPS):
        sgd.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * step / NUM_STEPS))
        images, labels = batch(step)
        loss = F.cross_entropy(net(images), labels)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        found = learner.step(step, images, labels, num=12)
        assert float(found[:, 0].mean()) == pytest.approx(loss.item(), abs=1e-6)
    torch.testing.assert_close(flat(learner.net), flat(net), rtol=0, atol=1e-6)


def test_a_step_returns_each_samples_loss_and_error():
    learner, (images, labels) = make_learner(), batch(0)
    logits = make_net()(images)  # in training mode, as in the step
    found = learner.step(0, images, labels, num=12)
    torch.testing.assert_close(found[:, 0], F.cross_entropy(logits, labels, reduction="none"))
    assert torch.equal(found[:, 1], (logits.argmax(1) != labels).float())
    assert not found.requires_grad


def test_soft_labels_are_learned_from_and_judged_by_their_class():
    images, labels = batch(0)
    soft = SoftLabel(labels, torch.full((12,), 0.5))
    found = make_learner(soften="both").step(0, images, soft, num=12)
    hard = make_learner().step(0, images, labels, num=12)
    assert torch.equal(found[:, 1], hard[:, 1])
    assert bool((found[:, 0] < hard[:, 0]).all())


def test_a_share_of_a_batch_counts_by_the_whole_batch():
    half, whole = (make_learner(Optim(momentum=0.0, weight_decay=0.0)) for _ in range(2))
    start = flat(half.net)
    half.step(0, *batch(0), num=24)
    whole.step(0, *batch(0), num=12)
    torch.testing.assert_close(2 * (flat(half.net) - start), flat(whole.net) - start)


def update_of(clip_norm):
    learner = make_learner(Optim(1.0, 0.0, 0.0, clip_norm=clip_norm))
    start = flat(learner.net)
    learner.step(0, *batch(0), num=12)
    return flat(learner.net) - start


def test_clipping_shortens_a_long_gradient_and_keeps_its_direction():
    free, clipped = update_of(None), update_of(0.01)
    assert float(free.norm()) > 0.01
    assert float(clipped.norm()) == pytest.approx(0.01, rel=1e-3)
    assert float(F.cosine_similarity(free, clipped, 0)) == pytest.approx(1, abs=1e-5)


def test_clipping_leaves_a_short_gradient_alone():
    assert torch.equal(update_of(1e6), update_of(None))


def test_the_average_is_the_one_by_hand_and_is_what_is_measured():
    learner, plain, decay, average = make_learner(Optim(ema=0.8)), make_learner(), 0.8, None
    for step in range(NUM_STEPS):
        learn(learner, [step])
        learn(plain, [step])
        now = flat(learner.net)
        average = now if average is None else decay * average + (1 - decay) * now
    torch.testing.assert_close(flat(learner.measured), average)
    assert not torch.equal(flat(learner.measured), flat(learner.net))
    assert torch.equal(flat(learner.net), flat(plain.net))


def test_the_average_holds_batch_statistics_too():
    learner = make_learner(Optim(ema=0.5))
    learn(learner, [0])
    first = learner.net.net[1].running_mean.clone()
    learn(learner, [1])
    expected = 0.5 * first + 0.5 * learner.net.net[1].running_mean
    torch.testing.assert_close(learner.measured.net[1].running_mean, expected)


class Listener(DistContext):
    """Notes what the first process would send."""

    def broadcast(self, values):
        sent.append(values.data_ptr())


sent: list[int] = []


def test_every_process_sends_its_statistics_in_the_same_order():
    learners = [make_learner(Optim(ema=0.5)) for _ in range(20)]
    for learner in learners:
        sent.clear()
        learner.team = Listener(0, 1, torch.device("cpu"))
        learner.share_statistics()
        parts = [*learner.net.buffers(), *learner.measured.buffers()]
        assert sent == [part.data_ptr() for part in parts]


def test_without_an_average_the_network_is_measured():
    learner = make_learner()
    assert learner.measured is learner.net
    assert set(learner.tensors()) == {"model", "optimizer"}


def test_without_momentum_there_is_nothing_to_save_of_the_optimiser():
    learner = make_learner(Optim(momentum=0.0))
    learn(learner)
    assert set(learner.tensors()) == {"model"}


@pytest.mark.parametrize("compute", [PLAIN, Compute()], ids=["as it is", "channels last"])
def test_loaded_tensors_go_on_as_if_nothing_had_happened(compute):
    optim = Optim(ema=0.9)
    unbroken, first, second = (make_learner(optim, compute) for _ in range(3))
    learn(unbroken)
    learn(first, range(2))
    load_tensors(second, first.tensors())
    learn(second, range(2, NUM_STEPS))
    for name, part in unbroken.tensors().items():
        assert all(torch.equal(second.tensors()[name][key], part[key]) for key in part)


def test_weights_that_are_no_numbers_are_noticed():
    learner = make_learner()
    assert learner.is_finite()
    learner.net.net[-1].bias.data[2] = math.nan
    assert not learner.is_finite()


def test_counts_are_not_looked_at_since_they_may_lie_on_another_device(monkeypatch):
    counts = {"pacer": {"sums": torch.zeros(3, dtype=torch.int64, device="meta")}}
    monkeypatch.setattr(Learner, "_own_tensors", lambda self: counts)
    assert make_learner().is_finite()


def mean_losses(compute):
    learner = make_learner(compute=compute)
    found = torch.stack([part[:, 0].mean() for part in learn(learner)])
    assert all(part.dtype == torch.float32 for part in learner.net.parameters())
    return found


def test_channels_last_gives_the_same_loss():
    learner = make_learner(compute=Compute())
    assert learner.net.net[0].weight.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(mean_losses(Compute()), mean_losses(PLAIN), rtol=0, atol=1e-4)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_lower_precision_gives_nearly_the_same_loss(precision):
    found = mean_losses(Compute(precision=precision))
    torch.testing.assert_close(found, mean_losses(PLAIN), rtol=0.05, atol=0)
    assert not torch.equal(found, mean_losses(PLAIN))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_logits_are_computed_in_the_chosen_precision(precision):
    learner = make_learner(compute=Compute(precision=precision))
    logits = learner.predict(batch(0)[0], learner.net)
    assert str(logits.dtype) == f"torch.{precision}"


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_network_learns_the_same_under_the_same_names():
    with_compiler = Compute(channels_last=False, compile=True)
    compiled, plain = (
        make_learner(compute=how, make=make_linear) for how in (with_compiler, PLAIN)
    )
    torch.testing.assert_close(learn(compiled, range(2)), learn(plain, range(2)))
    assert list(compiled.tensors()["model"]) == list(plain.tensors()["model"])
    torch.testing.assert_close(flat(compiled.net), flat(plain.net))
