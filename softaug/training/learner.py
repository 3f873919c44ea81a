"""A network and how it learns labels from one batch."""

import torch
from torch import Tensor, nn

from softaug.label import MixedLabel, SoftLabel, main_label
from softaug.losses import SoftLoss
from softaug.pacing import Pacer
from softaug.recipes.recipe import Compute, Optim
from softaug.training.descent import Descent
from softaug.training.mixing import HiddenMixing
from softaug.training.processes import Processes
from softaug.training.stopwatch import Stopwatch

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
        team: Processes | None = None,
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
        wrong = logits.detach().argmax(1) != main_label(label)
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
