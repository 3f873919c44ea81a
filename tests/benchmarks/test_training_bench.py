import random
import subprocess

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from benchmarks.timing import Timing, one_thread
from benchmarks.training import (
    ADDED,
    LAYOUT,
    ONE,
    OURS,
    PLAIN,
    STEP,
    TWO,
    WORKER,
    Sizes,
    TimedLoss,
    Turns,
    hard_loss,
    measure_phases,
    measure_processes,
    processes_bound,
    processes_table,
    rate_bound,
    shares_table,
    softness_table,
    take_turns,
    timed,
    training_suite,
)
from benchmarks.training_loops import (
    OurLoop,
    PlainCifar,
    PlainLoop,
    PlainTransform,
    draw_offset,
    paste,
    plain_loss,
    random_images,
    soft_recipe,
    training_data,
    visible_share,
)
from softaug import SoftCrop, SoftLabel, SoftLoss
from softaug.pixels import shift

TINY = Sizes(images=16, batch=4, large_batch=2, steps=1, process_steps=1)


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.training.LARGE", "resnet20")  # not minutes of ResNet-18
        return training_suite(1, TINY)


def test_the_suite_measures_every_part_with_its_bound(tables):
    assert [[(bound.limit, bound.at_least) for bound in table.bounds] for table in tables] == [
        [(0.02, False)],  # softness
        [(1.3, True)],  # beside a plain loop, small
        [(1.0, True)],  # and large
        [(1.7, True)],  # two processes
        [],
        [],
    ]
    for table, model in zip(tables, ["resnet8-s2"] * 2 + ["resnet20"], strict=False):
        assert model in table.title


def test_every_row_has_a_cost_and_the_base_is_1(tables):
    for table in tables:
        assert all(row.ratio is not None for row in table.rows)
        assert all(row.amount > 0 for row in table.rows if row.name != ADDED)
        assert all(row.ratio.median == 1 for row in table.rows if row.name == table.per)


def test_the_plain_loop_is_shown_with_each_of_its_remedies(tables):
    for table in tables[1:3]:
        assert [row.name for row in table.rows] == [OURS, PLAIN, LAYOUT, WORKER]
        assert "wall time" in " ".join(table.notes)


def test_shares_of_a_step_sum_to_1(tables):
    for table in tables[4:]:
        assert sum(row.ratio.median for row in table.rows) == pytest.approx(1)


def test_phases_are_of_each_round_alone():
    seconds = measure_phases("resnet8-s2", random_images(8), batch=4, rounds=3)
    assert len(seconds) == 3
    assert all(part > 0 for step in seconds for part in step.values())
    rows = shares_table("resnet8-s2", random_images(8), batch=4, rounds=2).rows
    assert [row.name for row in rows] == ["data", "augment", "forward", "backward", "optimizer"]


def test_softness_is_the_difference_of_the_timed_parts():
    table = softness_table("resnet8-s2", random_images(8), batch=4, rounds=1)
    share = {row.name.split(",")[0]: row.ratio.median for row in table.rows}
    parts = share["soft: draw"] + share["soft: SoftLoss"]
    less = share["hard: draw"] + share["hard: F.cross_entropy"]
    assert share[ADDED.split(",")[0]] == pytest.approx(parts - less)
    assert share[STEP] == 1
    assert table.bounds[0].value == table.rows[-1].ratio.median


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_a_timed_loss_is_the_loss_and_times_forward_and_backward(kind):
    torch.manual_seed(0)
    label = SoftLabel(torch.tensor([0, 1, 2]), torch.rand(3))
    inner = hard_loss if kind == "hard" else SoftLoss(reduction="none")
    found = []
    for loss in (inner, timed_loss := TimedLoss(inner)):
        logits = torch.linspace(-1, 1, 15).view(3, 5).requires_grad_()
        losses = loss(logits, label)
        forward = timed_loss.seconds
        losses.sum().backward()
        found.append((losses.detach(), logits.grad))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    assert 0 < forward < timed_loss.seconds < 1


def test_the_hard_loss_is_cross_entropy():
    logits, labels = torch.randn(4, 7), torch.tensor([0, 6, 3, 3])
    losses = hard_loss(logits, SoftLabel(labels, torch.rand(4)))
    torch.testing.assert_close(losses.mean(), F.cross_entropy(logits, labels))


@pytest.mark.parametrize(
    ("dx", "dy", "visible"), [(0, 0, 1.0), (8, 0, 0.75), (-16, 16, 0.25), (31, -31, 1 / 1024)]
)
def test_the_plain_crop_is_ours_at_the_same_offsets(dx, dy, visible):
    image = random_images(1).images
    pil = Image.fromarray(image[0].permute(1, 2, 0).numpy())
    out = torch.from_numpy(np.array(paste(pil, dx, dy, (1, 2, 3)))).permute(2, 0, 1)
    fill = torch.tensor([1, 2, 3], dtype=torch.uint8).view(1, 3, 1, 1)
    expected = shift(image, torch.tensor([dx]), torch.tensor([dy]), fill)[0]
    assert torch.equal(out, expected)
    assert visible_share((32, 32), dx, dy) == visible


def test_the_plain_crop_draws_by_our_law():
    random.seed(0)
    torch.manual_seed(0)
    num = 20_000
    theirs = torch.tensor([draw_offset(32, 0.3) for _ in range(num)]).double()
    ours = SoftCrop(0.3).draw(torch.empty(1).expand(num, 3, 32, 32))  # only the shape is read
    assert theirs.abs().max() <= 31
    for power in (1, 2):
        expected = ours.dx.double().abs().pow(power)
        error = (2 * expected.var() / num).sqrt()
        assert (theirs.abs().pow(power).mean() - expected.mean()).abs() < 5 * error


def test_the_plain_confidence_is_equation_7(monkeypatch):
    monkeypatch.setattr("benchmarks.training_loops.draw_offset", lambda edge, sigma: 16)
    image, confidence = PlainTransform(k=2.0)(Image.new("RGB", (32, 32)))
    assert confidence == pytest.approx(1 - (1 - 1 / 100) * 0.75**2)
    assert image.shape == (3, 32, 32)
    assert image.dtype == torch.float32


def test_the_plain_loss_is_ours_with_a_weight_for_each_sample():
    torch.manual_seed(0)
    logits, labels, kept = torch.randn(6, 100), torch.randint(0, 100, (6,)), torch.rand(6)
    confidence = 1 / 100 + (1 - 1 / 100) * kept.double()
    expected = SoftLoss(weighting="sample")(logits, SoftLabel(labels, kept))
    torch.testing.assert_close(plain_loss(logits, labels, confidence), expected)


def test_the_plain_data_are_torchvisions_samples_of_the_same_images():
    images = random_images(3)
    data = PlainCifar(images)
    data.transform = None
    image, label = data[2]
    assert len(data) == 3
    assert label == int(images.labels[2])
    assert torch.equal(torch.from_numpy(np.array(image)).permute(2, 0, 1), images.images[2])


@pytest.mark.parametrize("channels_last", [False, True])
def test_the_plain_loop_goes_on_after_an_epoch_and_learns(channels_last):
    loop = PlainLoop(soft_recipe("resnet8-s2", 4), PlainCifar(random_images(8)), channels_last)
    before = loop.net.linear.weight.detach().clone()
    with one_thread():
        for _ in range(3):
            loop.step()
    assert not torch.equal(loop.net.linear.weight, before)
    weight = loop.net.blocks[0].conv1.weight
    assert weight.is_contiguous(memory_format=torch.channels_last) == channels_last


def test_our_loop_trains_like_a_run():
    loop = OurLoop(soft_recipe("resnet8-s2", 4), training_data(random_images(8)))
    before = loop.trainer.net.net.linear.weight.detach().clone()
    with one_thread():
        for _ in range(12):  # past a look at the losses
            loop.step()
    assert not torch.equal(loop.trainer.net.net.linear.weight, before)
    assert loop.task.criterion.soften == "both"


def test_stretches_take_turns_and_give_cpu_and_wall_time():
    calls = []
    stretches = {name: lambda name=name: timed(lambda: calls.append(name), num=2) for name in "ab"}
    turns = take_turns(stretches, rounds=2)
    assert "".join(calls) == "aabbaabb"
    assert [len(timing.seconds["a"]) for timing in turns] == [2, 2]


def test_a_plain_loop_is_held_against_ours_by_cpu_time():
    cpu, wall = Timing({OURS: [1.0] * 3, PLAIN: [1.25] * 3}), Timing({OURS: [9.0], PLAIN: [1.0]})
    bound = rate_bound(Turns(cpu, wall), least=1.3)
    assert (bound.value, bound.passed) == (1.25, False)
    assert rate_bound(Turns(cpu, wall), least=1.0).passed


def test_two_processes_are_held_against_one():
    bound = processes_bound(Timing({ONE: [1.8, 1.8], TWO: [1.0, 1.0]}))
    assert (bound.value, bound.passed) == (1.8, True)


def test_one_core_is_a_row_not_an_error(monkeypatch):
    monkeypatch.setattr("benchmarks.training.num_cores", lambda: 1)
    table = processes_table("resnet8-s2", 8, batch=4, rounds=1, steps=1)
    assert [row.note for row in table.rows] == ["needs two cores"]
    assert table.bounds == []


def test_processes_that_fail_say_why(monkeypatch):
    def failed(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "no gloo here")

    monkeypatch.setattr(subprocess, "run", failed)
    with pytest.raises(RuntimeError, match="no gloo here"):
        measure_processes("resnet8-s2", 8, batch=4, rounds=1, steps=1)
