import pytest
import torch
import torch.nn.functional as F
from torch import nn

from softaug import SoftLoss
from softaug.lab.data.images import Images
from softaug.lab.recipes import Compute, Optim
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.evaluate import CHUNK, measure, predict
from softaug.lab.training.optim import Learner

CPU = torch.device("cpu")
NUM = CHUNK + 7


class Net(nn.Module):
    """A linear network that notes how many images it gets."""

    def __init__(self):
        super().__init__()
        self.norm, self.linear, self.sizes = nn.BatchNorm1d(12), nn.Linear(12, 3), []

    def forward(self, images):
        self.sizes.append(len(images))
        return self.linear(self.norm(images.flatten(1).float()))


def close(found, expected):
    """Sums over other numbers of images at a time: processors round these each in its own way."""
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


def source():
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (NUM, 3, 2, 2), generator=generator, dtype=torch.uint8)
    return Images(images, torch.randint(0, 3, (NUM,), generator=generator))


def make(ema=None):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Net()
    compute = Compute(channels_last=False)
    return Learner(net, SoftLoss("none", reduction="none"), Optim(ema=ema), 2, compute=compute)


def test_images_are_taken_in_chunks_in_evaluation_mode():
    learner, data = make(), source()
    logits = predict(learner, learner.measured, data, workers=0)
    assert learner.net.sizes == [CHUNK, 7]
    assert not logits.requires_grad
    close(logits, learner.net.eval()(data.images))
    assert not learner.net.training
    assert int(learner.net.norm.num_batches_tracked) == 0


def test_the_numbers_are_those_of_torch():
    learner, data = make(), source()
    logits, found = predict(learner, learner.measured, data, 0), measure(learner, data, workers=0)
    assert list(found) == ["error", "nll", "ece"]
    assert found["error"] == pytest.approx(float((logits.argmax(1) != data.labels).double().mean()))
    assert found["nll"] == pytest.approx(float(F.cross_entropy(logits, data.labels)), rel=1e-5)


def test_workers_change_nothing():
    learner, data = make(), source()
    assert measure(learner, data, workers=1) == measure(learner, data, workers=0)


def test_the_average_is_what_is_measured():
    learner, data = make(ema=0.5), source()
    for step in range(2):
        learner.step(step, data.images[:20], data.labels[:20], 20)
    logits = predict(learner, learner.measured, data, 0)
    close(logits, learner.ema.module.eval()(data.images))
    assert not torch.allclose(logits, learner.net.eval()(data.images), atol=1e-3)


class Share(DistContext):
    """One of two processes that keeps what it would have sent."""

    def all_reduce(self, values):
        return values

    def broadcast(self, values):
        pass


def test_two_processes_share_the_images_out():
    data, parts = source(), []
    for rank in (0, 1):
        learner = make()
        learner.team = Share(rank, 2, CPU)
        parts.append(predict(learner, learner.measured, data, 0))
    alone = make()
    close(parts[0] + parts[1], predict(alone, alone.measured, data, 0))
    empty = [int((part == 0).all(1).sum()) for part in parts]
    assert empty == [NUM - NUM // 2, NUM // 2]
