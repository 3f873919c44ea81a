"""The Trainer's steps: optimizers, schedules, averages, precision; what it sums up and predicts."""

import json
import math
import shutil
from dataclasses import dataclass, replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from one_step import CLASSES, flat, random_data, step_once, trainer_of
from tiny_runs import rows, run, tiny, weights
from torch import nn

from softaug.lab.data.images import Images
from softaug.lab.evaluation.load_run import load_run
from softaug.lab.recipes import Augment, Compute, LossSpec, Optim, Recipe, UniformOffsets
from softaug.lab.training import checkpoint
from softaug.lab.training.batches import SkippedFiles
from softaug.lab.training.distributed import SINGLE, DistContext
from softaug.lab.training.evaluate import CHUNK, predict, predict_all
from softaug.lab.training.optim import learning_rates
from softaug.lab.training.supervised import CLEAN_SAMPLE, Supervised, sample_clean
from softaug.lab.training.trainer import Losses, MetricBuffer, NonFiniteLossError, Totals, Trainer

PLAIN = Compute(channels_last=False)
DATA = random_data(num=24, edge=16)
OPTIMIZERS = ["SGD", "AdamW", "RMSprop", "Adagrad"]


def make(optim=None, compute=PLAIN, loss=None, data=DATA, **changes):
    """A trainer on whole images in two steps of 12 an epoch."""
    augment = Augment(UniformOffsets(0), flip=False)
    recipe = Recipe("x", "resnet8", augment=augment, batch=12, epochs=3)
    parts = {"optim": optim or Optim(lr=0.05), "compute": compute, "loss": loss or LossSpec()}
    return trainer_of(replace(recipe, **parts, **changes), data)


def learn(trainer, num=4):
    return [step_once(trainer) for _ in range(num)]


def test_learning_rates_rise_in_the_warm_up_and_follow_the_schedule():
    warm = Optim(lr=3.0, warmup_epochs=1)
    cosine = [1.5 * (1 + math.cos(math.pi * share)) for share in (0, 0.25, 0.5, 0.75)]
    assert learning_rates(warm, 3, 2) == pytest.approx([1.0, 2.0, *cosine])
    assert learning_rates(replace(warm, schedule="constant"), 3, 2)[2:] == [3.0] * 4
    steps = learning_rates(replace(warm, schedule="step", drops=(0.4, 0.9)), 4, 2)
    assert steps[2:] == pytest.approx([3.0, 3.0, 0.3, 0.3, 0.3, 0.3])


def test_it_learns_as_a_plain_torch_loop_does():
    trainer, task = make(Optim(lr=0.1, weight_decay=0.01)), make().task
    net = task.net
    sgd = torch.optim.SGD(net.parameters(), 0.1, 0.9, weight_decay=0.01, nesterov=True)
    for step in range(4):
        sgd.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * step / 6))
        batch = task.batches[step]
        loss = F.cross_entropy(net(batch.images), batch.label.label)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        found = step_once(trainer)
        assert float(found[:, 0].mean()) == pytest.approx(loss.item(), abs=1e-5)
    expected = torch.cat([part.detach().flatten() for part in net.parameters()])
    torch.testing.assert_close(flat(trainer), expected, rtol=0, atol=1e-5)


def test_a_step_finds_each_samples_loss_and_error():
    trainer, task = make(), make().task
    batch = task.batches[0]
    logits = task.net(batch.images)  # in training mode, as in the step
    found = step_once(trainer)
    losses = F.cross_entropy(logits, batch.label.label, reduction="none")
    torch.testing.assert_close(found[:, 0], losses.detach())
    assert torch.equal(found[:, 1], (logits.argmax(1) != batch.label.label).float())
    assert not found.requires_grad


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_any_optimizer_goes_on_from_its_state_to_the_same_bits(name, tmp_path):
    optim = Optim(name=name, lr=0.01, ema=0.9, schedule="step")
    unbroken, first, second = (make(optim, Compute()) for _ in range(3))
    assert type(unbroken.optimizer).__name__ == name
    learn(unbroken)
    learn(first, 2)
    checkpoint.save(tmp_path, 2, first.state_dict())
    second.load_state_dict(checkpoint.newest(tmp_path).state)
    learn(second, 2)
    assert torch.equal(flat(second), flat(unbroken))
    ends = [checkpoint.split_tensors(trainer.state_dict())[0] for trainer in (unbroken, second)]
    assert ends[0].keys() == ends[1].keys() == {"model", "optimizer", "ema"}
    for name, part in ends[0].items():
        assert all(torch.equal(part[key], ends[1][name][key]) for key in part)


def test_settings_reach_the_optimizer_that_has_them():
    adam = make(Optim(name="AdamW", betas=(0.8, 0.95), weight_decay=0.1)).optimizer.defaults
    assert (adam["betas"], adam["weight_decay"]) == ((0.8, 0.95), 0.1)
    sgd = make(Optim(momentum=0.7, nesterov=False)).optimizer.defaults
    assert (sgd["momentum"], sgd["nesterov"]) == (0.7, False)
    assert make(Optim(momentum=0.0)).optimizer.defaults["nesterov"] is False


@pytest.mark.parametrize(
    ("optim", "message"),
    [
        (Optim(name="AdamV"), "name must be one of .*, got 'AdamV'; did you mean 'Adam"),
        (Optim(betas=(0.9, 0.99)), "SGD has no betas"),
        (Optim(name="Muon"), "Muon must be able to train this network, got .*2D"),
    ],
)
def test_an_optimizer_that_cannot_be_is_refused(optim, message):
    with pytest.raises(ValueError, match=f"^optim: {message}"):
        make(optim)


def test_another_optimizer_trains_a_run_and_survives_a_crash(tmp_path):
    recipe = tiny(optim=Optim(name="AdamW", lr=0.01))
    run(recipe, tmp_path / "whole")
    state = checkpoint.steps(tmp_path / "whole" / "checkpoints")[0]
    shutil.copytree(state, tmp_path / "again" / "checkpoints" / state.name)
    for name in ("recipe.json", "run.json"):
        shutil.copy(tmp_path / "whole" / name, tmp_path / "again")
    _, said = run(recipe, tmp_path / "again")
    assert "going on from step 3 of 6" in said
    assert weights(tmp_path / "again") == weights(tmp_path / "whole")
    assert not list(tmp_path.rglob("*.p*kl*"))


def test_clipping_shortens_a_long_gradient_and_keeps_its_direction():
    def update(clip_norm):
        optim = Optim(1.0, 0.0, 0.0, clip_norm=clip_norm)
        trainer = make(optim)
        before = flat(trainer)
        step_once(trainer)
        return flat(trainer) - before

    free, clipped = update(None), update(0.1)
    assert float(clipped.norm()) == pytest.approx(0.1, rel=1e-3)
    assert float(free.norm()) > 0.1
    assert float(F.cosine_similarity(free, clipped, 0)) == pytest.approx(1, abs=1e-5)
    assert torch.equal(update(1e6), free)


def test_the_average_is_the_one_by_hand_and_is_what_is_evaluated():
    trainer, plain, average = make(Optim(ema=0.8)), make(Optim()), None
    for _ in range(4):
        step_once(trainer)
        step_once(plain)
        now = [part.detach().clone() for part in (flat(trainer), trainer.net.net.norm.running_mean)]
        old = average or now
        average = [0.8 * a + 0.2 * b for a, b in zip(old, now, strict=True)] if average else now
    found = torch.cat([part.flatten() for part in trainer.eval_net.parameters()])
    torch.testing.assert_close(found, average[0])
    torch.testing.assert_close(trainer.eval_net.net.norm.running_mean, average[1])
    assert torch.equal(flat(trainer), flat(plain))
    assert plain.eval_net is plain.net


@pytest.mark.parametrize("compute", [Compute(), Compute("bfloat16"), Compute("float16")], ids=str)
def test_layout_and_precision_give_nearly_the_same_loss(compute):
    exact, found = (
        torch.stack([part[:, 0].mean() for part in learn(make(compute=how), 3)])
        for how in (PLAIN, compute)
    )
    low = compute.precision != "float32"
    torch.testing.assert_close(found, exact, rtol=0.05 if low else 1e-4, atol=0)
    assert torch.equal(found, exact) is False or not low
    weight = make(compute=compute).net.net.conv.weight
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert weight.dtype == torch.float32


class Floats(nn.Module):
    def forward(self, images):
        return images / 255


def test_a_compiled_network_learns_the_same_under_the_same_names(monkeypatch):
    quick = partial(torch.compile, backend="aot_eager")  # the kernels are torch's affair
    monkeypatch.setattr(torch, "compile", quick)
    trainers = []
    for how in (True, False):
        task = make().task
        with torch.random.fork_rng():
            torch.manual_seed(0)
            task.net = nn.Sequential(nn.Flatten(), Floats(), nn.Linear(3 * 16 * 16, 10))
        config = replace(task.recipe, compute=replace(PLAIN, compile=how))
        trainers.append(Trainer(config, DATA, task))
    compiled, plain = trainers
    torch.testing.assert_close(learn(compiled, 1), learn(plain, 1), rtol=1e-3, atol=1e-4)
    assert list(compiled.state_dict()["model"]) == list(plain.state_dict()["model"])


def test_weights_that_are_no_numbers_are_noticed():
    trainer = make()
    learn(trainer, 1)
    trainer.check_finite()
    next(trainer.net.parameters()).data[0] = math.nan
    with pytest.raises(NonFiniteLossError, match="weights must be finite, got others after step 1"):
        trainer.check_finite()


class Listener(DistContext):
    """Notes what rank zero would send."""

    def broadcast(self, values):
        sent.append(values.data_ptr())


sent: list[int] = []


def test_every_process_sends_its_statistics_in_the_same_order():
    trainer = make(Optim(ema=0.5))
    trainer.context = Listener(0, 1, torch.device("cpu"))
    trainer.sync_batchnorm_buffers()
    assert sent == [
        *map(torch.Tensor.data_ptr, [*trainer.net.buffers(), *trainer.eval_net.buffers()])
    ]


def losses(*values, wrong=()):
    flags = torch.tensor([float(place in wrong) for place in range(len(values))])
    return Losses(torch.tensor(values), flags, len(values))


def test_a_buffer_sums_up_and_is_empty_then():
    buffer = MetricBuffer(SINGLE)
    buffer.add(0, torch.tensor([4, 5]), losses(1.0, 2.0, wrong=[1]))
    buffer.add(1, torch.tensor([6]), losses(4.0, wrong=[0]))
    assert len(buffer) == 2
    assert buffer.flush(stop=False, seconds=3.0) == (Totals(7.0, 2.0, 3), False, 1.5)
    assert len(buffer) == 0
    assert (Totals(4.0, 2.0, 8).mean_loss, Totals(4.0, 2.0, 8).mean_metric) == (0.5, 0.25)
    assert (Totals().mean_loss, Totals().mean_metric) == (0.0, 0.0)


def test_many_small_losses_are_summed_in_double_precision():
    buffer, many = MetricBuffer(SINGLE), torch.full((100_000,), 0.1)
    for step in range(3):
        buffer.add(step, torch.arange(100_000), Losses(many, many, 1))
    totals, stop, _ = buffer.flush(stop=True)
    assert totals.mean_loss == pytest.approx(float(many[0]), rel=1e-12)
    assert stop is True


def test_sums_do_not_depend_on_the_log_interval():
    whole, parts, so_far = MetricBuffer(SINGLE), MetricBuffer(SINGLE), Totals()
    for step, loss in enumerate([0.1, 1e9, 0.2, 0.3, 1e-9]):
        for buffer in (whole, parts):
            buffer.add(step, torch.tensor([step]), losses(loss))
        if step % 2:
            so_far, _, _ = parts.flush(stop=False, before=so_far)
    assert parts.flush(stop=False, before=so_far)[0] == whole.flush(stop=False)[0]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_names_step_and_samples(value):
    buffer = MetricBuffer(SINGLE)
    buffer.add(7, torch.tensor([4, 5]), losses(1.0, 2.0))
    buffer.add(8, torch.tensor([30, 31, 32]), losses(value, 1.0, value))
    with pytest.raises(NonFiniteLossError) as refused:
        buffer.flush(stop=False)
    assert str(refused.value) == (
        "train: the loss of every sample must be finite, "
        f"got {value} at step 8 for 2 samples: 30, 32"
    )
    buffer.add(0, torch.arange(30), losses(*[math.nan] * 30))
    with pytest.raises(NonFiniteLossError, match=r"for 30 samples: 0, 1, .*, 19, \.\.\.$"):
        buffer.flush(stop=False)


@dataclass(frozen=True)
class WithAnother(DistContext):
    """A context whose other process has found `other`, and gathers these objects."""

    other: torch.Tensor | None = None
    gathers: tuple[object, ...] = ()

    def all_reduce(self, values):
        return values + self.other

    def all_gather_object(self, message):
        return [message, list(self.gathers)]


def context(*other, gathers=()):
    return WithAnother(0, 2, torch.device("cpu"), torch.tensor(other).double(), gathers)


def test_processes_are_summed_and_one_wish_stops_all():
    buffer = MetricBuffer(context([5.0, 1.0, 2.0], [1.0, 0.0, 0.0]))
    buffer.add(0, torch.tensor([0, 1]), losses(1.0, 2.0, wrong=[0]))
    assert buffer.flush(stop=False)[:2] == (Totals(8.0, 2.0, 4), True)


def test_a_bad_sample_of_another_process_is_named_here_too():
    buffer = MetricBuffer(context([math.nan, 1.0, 2.0], [0.0, 0.0, 0.0], gathers=(9,)))
    buffer.add(0, torch.tensor([0, 1]), losses(1.0, 2.0))
    with pytest.raises(NonFiniteLossError, match="at step 0 for 1 samples: 9"):
        buffer.flush(stop=False)


def test_skipped_files_of_all_processes_are_named_once():
    skipped = SkippedFiles(context(gathers=("b: cut", "c: cut")))
    skipped.note(["c: cut", "a: cut"])
    skipped.note(["a: cut"])
    assert skipped.share() == ["a: cut", "b: cut", "c: cut"]
    skipped.note(["a: another reason", "d: empty"])
    assert skipped.share() == ["d: empty"]
    assert len(skipped.files) == 4


class Net(nn.Module):
    """A linear network that notes how many images it gets."""

    def __init__(self):
        super().__init__()
        self.norm, self.linear, self.sizes = nn.BatchNorm1d(12), nn.Linear(12, 3), []

    def forward(self, images):
        self.sizes.append(len(images))
        return self.linear(self.norm(images.flatten(1).float()))


def many_images(num=CHUNK + 7):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (num, 3, 2, 2), generator=generator, dtype=torch.uint8)
    return Images(images, torch.randint(0, 3, (num,), generator=generator))


def close(found, expected):
    """Sums over other numbers of images at a time: processors round these each in its own way."""
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("workers", [0, 1])
def test_images_are_predicted_in_chunks_in_evaluation_mode(workers):
    net, data = Net(), many_images()
    logits = predict_all(net, data, workers=workers)
    assert net.sizes == [CHUNK, 7]
    assert not logits.requires_grad
    close(logits, net.eval()(data.images))
    assert int(net.norm.num_batches_tracked) == 0


def test_predictions_are_float32_computed_in_the_chosen_precision():
    net, images = Net().eval(), many_images(20).images
    low, exact = predict(net, images, "bfloat16"), predict(net, images)
    assert low.dtype == exact.dtype == torch.float32
    assert torch.equal(low, low.bfloat16().float())
    assert not torch.equal(low, exact)


class Share(DistContext):
    """One of two processes that keeps what it would have sent."""

    def all_reduce(self, values):
        return values


def test_two_processes_share_the_images_out():
    net, data = Net(), many_images()
    parts = [predict_all(net, data, context=Share(rank, 2, torch.device("cpu"))) for rank in (0, 1)]
    close(parts[0] + parts[1], predict_all(net, data))
    num = len(data.labels)
    assert [int((part == 0).all(1).sum()) for part in parts] == [num - num // 2, num // 2]


def test_an_evaluation_measures_test_and_clean_training_images():
    task = make().task
    found = task.evaluate(task.net)
    logits = task.net.eval()(DATA.measured.images).detach()
    wrong = float((logits.argmax(1) != DATA.measured.labels).double().mean())
    assert found["error"] == found["train_error_clean"] == pytest.approx(wrong)
    assert found["nll"] == pytest.approx(
        float(F.cross_entropy(logits, DATA.train.labels)), rel=1e-5
    )
    sure = float(logits.softmax(1).amax(1).mean())
    assert found["train_confidence_clean"] == pytest.approx(sure, rel=1e-5)


def test_clean_training_images_are_a_fixed_sample():
    many = Images(torch.zeros(6000, 1, 1, 1), torch.arange(6000))
    first, again = sample_clean(many).labels, sample_clean(many).labels
    assert len(first) == CLEAN_SAMPLE == len(first.unique())
    assert torch.equal(first, again)
    assert torch.equal(sample_clean(DATA.train).images, DATA.train.images)


def test_rows_and_result_hold_error_and_confidence_on_clean_training_images(tmp_path):
    result, said = run(tiny(), tmp_path, evaluate_epochs=1)
    for name in ("train_error_clean", "train_confidence_clean"):
        assert [0 <= row[name] <= 1 for row in rows(tmp_path)] == [True, True]
        assert rows(tmp_path)[-1][name] == result[name]
    assert f"train (augmented) error {100 * result['train_error']:.1f} %" in said


def test_a_checkpoint_of_an_earlier_version_is_refused_with_a_remedy(tmp_path):
    run(tiny(epochs=1), tmp_path)
    (tmp_path / "result.json").unlink()
    last = checkpoint.steps(tmp_path / "checkpoints")[-1]
    state = {k: v for k, v in checkpoint.load(last).state.items() if k != "format"}
    shutil.rmtree(last)
    checkpoint.save(tmp_path / "checkpoints", 3, state)
    with pytest.raises(ValueError, match=r"of this version .* finish it with the version that beg"):
        run(tiny(epochs=1), tmp_path)


def test_a_profile_is_written_and_changes_nothing(tmp_path):
    run(tiny(), tmp_path / "profiled", profile=True)
    trace = json.loads((tmp_path / "profiled" / "trace.json").read_text())
    assert any("conv" in event.get("name", "") for event in trace["traceEvents"])
    run(tiny(), tmp_path / "plain")
    assert weights(tmp_path / "profiled") == weights(tmp_path / "plain")
    assert not (tmp_path / "plain" / "trace.json").exists()


def test_a_task_alone_is_enough_to_train():
    recipe = Recipe("x", "resnet8", augment=Augment(UniformOffsets(0)), batch=12, epochs=2)
    trainer = Trainer(recipe, DATA, Supervised(recipe, DATA))
    trainer.train()
    assert (trainer.step, trainer.last_epoch.images) == (4, 24)
    assert len(CLASSES) == 10


def test_batchnorm_has_the_statistics_of_the_milder_crop_after_the_last_step(tmp_path):
    """Only the statistics differ from those of training; a crop of 0 shows whole images."""
    usual, _ = run(tiny(optim_ema=0.5), tmp_path / "usual")
    milder, _ = run(tiny(optim_ema=0.5, augment_batchnorm_sigma=0.0), tmp_path / "milder")
    assert (usual["train_loss"], usual["nll"] != milder["nll"]) == (milder["train_loss"], True)
    before, after = (load_run(tmp_path / name, None, "cpu") for name in ("usual", "milder"))
    for (name, one), two in zip(before.net.named_parameters(), after.net.parameters(), strict=True):
        assert torch.equal(one, two), name
    layer = next(part for part in after.net.modules() if isinstance(part, nn.BatchNorm2d))
    inputs: list[torch.Tensor] = []
    layer.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    for images in after.data.train.fetch(torch.arange(50)).split(50):
        after.predict(images)
    torch.testing.assert_close(layer.running_mean, inputs[0].mean((0, 2, 3)), rtol=0.05, atol=0.02)
