"""SGD on one network, alone or with other processes: everything but what is learned from."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from softaug.lab.recipes.config import Compute, Optim
from softaug.lab.training.augmentation import HiddenMixing
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.logging import Stopwatch
from softaug.label import MixedLabel, SoftLabel, get_main_label
from softaug.losses import SoftLoss
from softaug.pacing import Pacer

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def learning_rate(optim: Optim, step: int, num_steps: int, warmup_steps: int) -> float:
    """Linear to `optim.lr` in the warm-up, then a half cosine to 0 at `num_steps`.

    >>> [round(learning_rate(Optim(lr=1.0), step, 4, 0), 3) for step in range(4)]
    [1.0, 0.854, 0.5, 0.146]
    """
    if step < warmup_steps:
        return optim.lr * (step + 1) / (warmup_steps + 1)
    done = (step - warmup_steps) / (num_steps - warmup_steps)
    return optim.lr * (1 + math.cos(math.pi * done)) / 2


def _none(name: str) -> bool:
    return False


class Descent:
    """SGD on one network, alone or with other processes (DistributedDataParallel).

    Parameters whose name is `fixed` keep the first learning rate to the end.
    """

    def __init__(
        self,
        net: nn.Module,
        optim: Optim,
        num_steps: int,
        warmup_steps: int = 0,
        compute: Compute | None = None,
        team: DistContext | None = None,
        clock: Stopwatch | None = None,
        fixed: Callable[[str], bool] = _none,
    ) -> None:
        self.team = team or DistContext(0, 1, torch.device("cpu"))
        self.compute = compute or Compute()
        self.clock = clock or Stopwatch(self.team.device)
        self.optim, self.num_steps, self.warmup_steps = optim, num_steps, warmup_steps
        self.net = net.to(self.team.device)
        if self.compute.channels_last:
            self.net = self.net.to(memory_format=torch.channels_last)
        self.ema = _average(self.net, optim.ema, self.team.device)
        self._forward = self._wrap(self.net)
        self._sgd = torch.optim.SGD(
            _groups(self.net, fixed),
            optim.lr,
            optim.momentum,
            weight_decay=optim.weight_decay,
            nesterov=optim.momentum > 0,
            fused=True,  # one pass over the weights: a third of the time on a CPU
        )
        self._momentum = {
            name: self._sgd.state[part].setdefault("momentum_buffer", torch.zeros_like(part))
            for name, part in self.net.named_parameters()
            if optim.momentum > 0
        }  # zeros now are what SGD would begin with, and a place to load into
        self.scaler = torch.amp.GradScaler(
            self.team.device.type, enabled=self.compute.precision == "float16"
        )

    def begin_step(self, step: int) -> None:
        """Set the learning rate, and the network to training."""
        lr = learning_rate(self.optim, step, self.num_steps, self.warmup_steps)
        for group in self._sgd.param_groups:
            group["lr"] = self.optim.lr if group["fixed"] else lr
        self.net.train()

    def descend(self, losses: Tensor, num: int) -> None:
        """A step against the gradient of the mean of `num` losses, of which these are ours [B]."""
        self.clock.lap("forward")
        self._sgd.zero_grad()
        # Processes average their gradients: sum / num * count is the mean over all of them.
        self.scaler.scale(losses.sum() * (self.team.world_size / num)).backward()  # type: ignore[no-untyped-call]
        self.clock.lap("backward")
        self._update()
        self.clock.lap("optimiser")

    def next_epoch(self) -> None:
        """What changes from one epoch to the next: here nothing."""

    def predict(self, images: Tensor, net: nn.Module) -> Tensor:
        """Logits of uint8 images in the chosen precision."""
        device, dtype = self.team.device.type, DTYPES[self.compute.precision]
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            logits: Tensor = net(images)  # weights in channels_last bring the images to it
        return logits

    @property
    def lr(self) -> float:
        """Learning rate of the last step."""
        return float(self._sgd.param_groups[0]["lr"])

    @property
    def measured(self) -> nn.Module:
        """The network to measure: the average of the weights where there is one."""
        return self.net if self.ema is None else self.ema.module

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All that is learned, in place: what a checkpoint holds, by file."""
        parts = {"model": self.net.state_dict(), "optimizer": self._momentum}
        parts |= self._own_tensors()
        if self.ema is not None:
            parts["ema"] = self.ema.state_dict()
        return {name: dict(tensors) for name, tensors in parts.items() if tensors}

    def _own_tensors(self) -> dict[str, dict[str, Tensor]]:
        """What is learned beside the network, by file."""
        return {}

    def is_finite(self) -> bool:
        """Whether all that is learned is finite; waits for the device once."""
        finite = [
            tensor.isfinite().all()
            for tensors in self.tensors().values()
            for tensor in tensors.values()
            if tensor.is_floating_point()  # counts are finite, and may lie elsewhere
        ]
        return bool(torch.stack(finite).all())

    def share_state(self) -> None:
        """Give every process what the first one has loaded."""
        for tensors in self.tensors().values():
            for tensor in tensors.values():
                self.team.broadcast(tensor)

    def share_statistics(self) -> None:
        """Give every process the first one's BatchNorm statistics, which are what is saved."""
        for net in dict.fromkeys((self.net, self.measured)):  # one order in all processes
            for statistics in net.buffers():
                self.team.broadcast(statistics)

    def _wrap(self, net: nn.Module) -> nn.Module:
        if self.compute.compile:
            # Static shapes: with dynamic ones, the kernels would depend on where a run began.
            net = torch.compile(net, dynamic=False)  # type: ignore[assignment]
        if self.team.world_size == 1:
            return net
        ids = [self.team.device] if self.team.device.type == "cuda" else None
        return DistributedDataParallel(
            net,
            device_ids=ids,
            gradient_as_bucket_view=True,
            broadcast_buffers=False,  # `share_statistics` does, when they are looked at
        )

    def _update(self) -> None:
        if self.optim.clip_norm is not None:
            self.scaler.unscale_(self._sgd)
            nn.utils.clip_grad_norm_(self.net.parameters(), self.optim.clip_norm)
        self.scaler.step(self._sgd)
        self.scaler.update()
        if self.ema is not None:
            self.ema.update_parameters(self.net)


def _groups(net: nn.Module, fixed: Callable[[str], bool]) -> list[dict[str, object]]:
    """Parameters by whether their learning rate is fixed, those that are not first."""
    kinds = [
        [part for name, part in net.named_parameters() if fixed(name) is kind]
        for kind in (False, True)
    ]
    pairs = zip(kinds, (False, True), strict=True)
    return [{"params": parts, "fixed": kind} for parts, kind in pairs if parts]


def _average(net: nn.Module, decay: float | None, device: torch.device) -> AveragedModel | None:
    if decay is None:
        return None
    average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    return AveragedModel(net, device, multi_avg_fn=average, use_buffers=True)


def load_tensors(learner: Descent, saved: dict[str, dict[str, Tensor]]) -> None:
    """Overwrite what `learner` has learned by a checkpoint's tensors."""
    for name, tensors in learner.tensors().items():
        for key, tensor in tensors.items():
            tensor.copy_(saved[name][key])


def count_parameters(net: nn.Module) -> int:
    """Numbers that are learned."""
    return sum(part.numel() for part in net.parameters())


AnyLabel = Tensor | SoftLabel | MixedLabel


class Learner(Descent):
    """Descent on a `SoftLoss` of images with labels."""

    def __init__(
        self,
        net: nn.Module,
        loss: SoftLoss,
        optim: Optim,
        num_steps: int,
        warmup_steps: int = 0,
        compute: Compute | None = None,
        team: DistContext | None = None,
        clock: Stopwatch | None = None,
        hidden: HiddenMixing | None = None,
        pacer: Pacer | None = None,
    ) -> None:
        super().__init__(net, optim, num_steps, warmup_steps, compute, team, clock)
        self.loss = loss.to(self.team.device)
        self.hidden, self.pacer = hidden, pacer

    def step(
        self, step: int, images: Tensor, label: AnyLabel, num: int, sample: Tensor | None = None
    ) -> Tensor:
        """Learn from this process's share of a batch of `num` images, its `sample`s [B].

        Returns, without waiting for the device, each sample's loss and whether it was wrong,
        [B, 2].
        """
        self.begin_step(step)
        logits, label = self._answer(step, images, label)
        losses: Tensor = self.loss(logits, label)  # [B]
        self.descend(losses, num)
        if self.loss.base is not None:
            self.loss.base.gather(logits, label)
        if self.pacer is not None:
            own = sample if self.pacer.by == "sample" else None
            self.pacer.watch(logits, label, sample=own)
        wrong = logits.detach().argmax(1) != get_main_label(label)
        return torch.stack([losses.detach().float(), wrong.float()], dim=1)

    def _answer(self, step: int, images: Tensor, label: AnyLabel) -> tuple[Tensor, AnyLabel]:
        """Logits, and the label of what was seen."""
        if self.hidden is None:
            return self.predict(images, self._forward), label
        assert not isinstance(label, MixedLabel), "a recipe mixes images or layers, not both"
        with self.hidden.mixing(step, len(images)) as params:
            logits = self.predict(images, self._forward)
        return logits, self.hidden.report(label, params)

    def next_epoch(self) -> None:
        """Have labels follow what was answered in this epoch, where they do."""
        if self.loss.base is not None:
            self.loss.base.next_epoch()

    def _own_tensors(self) -> dict[str, dict[str, Tensor]]:
        tables = {} if self.pacer is None else self.pacer.tables()
        return {"loss": dict(self.loss.state_dict()), "pacer": tables}
