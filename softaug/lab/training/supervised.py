"""Training with labels: augmented images, a soft loss, and a pacer where the recipe has one."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softaug.batchnorm import update_batchnorm
from softaug.checks import refuse
from softaug.lab.data.images import Source
from softaug.lab.models.backbone import find_classifier
from softaug.lab.models.manifold_mixup import ManifoldMixup
from softaug.lab.recipes.config import Recipe
from softaug.lab.training.augmentation import (
    build_pacer,
    pacer_metrics,
    scheduled_alpha,
    strength_of,
)
from softaug.lab.training.batches import Batch, Batches, milder_batches, on_device, step_key
from softaug.lab.training.distributed import SINGLE, DistContext
from softaug.lab.training.evaluate import DTYPES, predict_all
from softaug.lab.training.finetune import (
    load_weights,
    lr_scales,
    read_weights,
    take_normalization,
)
from softaug.lab.training.logging import Losses
from softaug.lab.training.setup import (
    TrainingData,
    build_loss,
    build_net,
    derive_seed,
    files_sha256,
)
from softaug.lab.training.trainer import Task
from softaug.lab.training.uncertainty import Outliers, find_rbf_head, fit_heads
from softaug.label import MixedLabel, SoftLabel, get_main_label
from softaug.metrics import calibration_error, error, nll
from softaug.saliency_mixing import CoMixup, PuzzleMix, saliency_maps
from softaug.uncertainty import EnergyMarginLoss, RBFHead, RBFLoss, main_labels

CLEAN_SAMPLE = 5000  # training images, at most, on which memorization is measured


class Supervised(Task[Batch]):
    """Learn labels from augmented images."""

    batches: Batches
    train_metric = "error"

    def __init__(
        self,
        recipe: Recipe,
        data: TrainingData,
        context: DistContext = SINGLE,
        workers: int = 0,
        runs: Path | None = None,
        data_dir: Path | None = None,
    ) -> None:
        self.recipe, self.data, self.context, self.workers = recipe, data, context, workers
        source = data.train if workers else on_device(data.train, context.device)
        self.batches = Batches(recipe, source, data.mean, context, len(data.class_names))
        self.net = build_net(recipe, data)
        self.begun_from = self._finetune(runs)
        self.manifold = None
        if recipe.mix.kind == "manifold-mixup":
            self.manifold = ManifoldMixup(self.net.get_submodule("net"), alpha=recipe.mix.alpha)
        self.saliency_mix = build_saliency_mix(recipe, len(data.class_names))
        self.criterion = build_loss(recipe.loss, data.class_names).to(context.device)
        self._prepare_uncertainty(data_dir)
        num_classes, num_samples = len(data.class_names), len(data.train.labels)
        self.pacer = build_pacer(recipe.augment, recipe.epochs, num_classes, num_samples)
        self.skips_files = recipe.data.unreadable == "skip"
        self.clean_train = sample_clean(data.train, skip=self.skips_files)
        self._hashes = files_sha256(recipe, runs)  # the files are there: they have been read
        self._set_strength()

    def _finetune(self, runs: Path | None) -> list[str]:
        """Load the recipe's weights, freeze what it freezes; return a line about what was done."""
        spec, net = self.recipe.finetune, self.net.get_submodule("net")
        self.lr_scales = {} if spec.layer_decay is None else lr_scales(net, spec.layer_decay)
        self.head = net.get_submodule(find_classifier(net)) if spec.freeze == "backbone" else None
        if self.head is not None:
            net.requires_grad_(False)
            self.head.requires_grad_(True)
        if spec.weights is None:
            return []
        tensors = read_weights(spec.weights, runs)
        normalized = take_normalization(self.net.get_submodule("normalize"), tensors)
        report = load_weights(net, tensors)
        source = "as they were trained" if normalized else "by the statistics of the data"
        return [f"weights {spec.weights}: {report}; images normalized {source}"]

    def lr_scale(self, name: str) -> float:
        return self.lr_scales.get(name.removeprefix("net."), 1.0)

    def set_train_mode(self) -> None:
        self.net.train(self.head is None)
        if self.head is not None:
            self.head.train()

    def _prepare_uncertainty(self, data_dir: Path | None) -> None:
        """Make ready what the recipe's method of uncertainty needs in training."""
        spec, recipe = self.recipe.uncertainty, self.recipe
        self.rbf_head = find_rbf_head(self.net)
        self.rbf_loss = RBFLoss(spec.gradient_penalty)
        if self.rbf_head is not None and self.context.world_size > 1:
            rule = "duq trains in one process: its gradient penalty needs gradients of gradients"
            refuse("train", rule, f"{self.context.world_size} processes")
        self.margins, self.outliers = EnergyMarginLoss(*spec.margins), None
        if spec.outliers is not None:
            edge = int(self.data.measured.fetch(torch.tensor([0])).shape[-1])
            self.outliers = Outliers(spec.outliers, edge, data_dir, self.context.device)
        first = recipe.epochs - round(spec.outlier_share * recipe.epochs)
        self.first_outlier_step = first * self.batches.steps_per_epoch

    def loss(self, batch: Batch) -> Losses:
        images = batch.images.to(self.context.device, non_blocking=True)
        label = batch.label.to(self.context.device, non_blocking=True)
        alpha = scheduled_alpha(self.recipe, batch.step // self.batches.steps_per_epoch)
        if self.saliency_mix is not None and alpha:
            self.saliency_mix.alpha = alpha
            images, label = self._mix_salient(images, label, batch.step)
        if self.rbf_head is not None:
            logits, losses = self._compute_rbf_loss(self.rbf_head, images, label)
        elif self.outliers is not None and batch.step >= self.first_outlier_step:
            logits, losses = self._compute_margin_loss(self.outliers, images, label, batch.step)
        else:
            logits, label = self._compute_logits(images, label, batch.step, alpha)
            losses = self.criterion(logits, label)  # [B]
        if self.criterion.base is not None:
            self.criterion.base.gather(logits, label)
        if self.pacer is not None:
            sample = batch.sample if self.pacer.by == "sample" else None
            self.pacer.watch(logits, label, sample=sample)
        wrong = logits.detach().argmax(1) != get_main_label(label)
        return Losses(losses, wrong, batch.num_global)

    def _compute_logits(
        self, images: Tensor, label: SoftLabel | MixedLabel, step: int, alpha: float
    ) -> tuple[Tensor, SoftLabel | MixedLabel]:
        """Compute logits; mixed within the network they have other labels."""
        if self.manifold is None or alpha == 0:
            return self.model(images), label
        self.manifold.alpha = alpha
        assert not isinstance(label, MixedLabel), "a recipe mixes images or layers, not both"
        # Partners are of the process's own images: a layer's output is nowhere else.
        with self.manifold.mixing(len(images), key=step_key(self.recipe, step)) as params:
            logits = self.model(images)
        return logits, self.manifold.report(label, params)

    def _compute_rbf_loss(
        self, head: RBFHead, images: Tensor, label: SoftLabel | MixedLabel
    ) -> tuple[Tensor, Tensor]:
        """Compute DUQ's logits and losses [B], and move its centroids."""
        if self.recipe.loss.soften == "none":
            label = label._replace(retained=torch.ones_like(torch.as_tensor(label.retained)))
        pixels = images.float().requires_grad_()
        logits = self.model(pixels)
        scale = 1 / self.net.get_submodule("normalize").get_buffer("sd")
        losses = self.rbf_loss(logits, label, pixels, scale)
        head.update(main_labels(label))
        return logits, losses

    def _compute_margin_loss(
        self, outliers: Outliers, images: Tensor, label: SoftLabel | MixedLabel, step: int
    ) -> tuple[Tensor, Tensor]:
        """Compute logits and losses [B] with energy margins for as many images of other classes."""
        others = outliers.draw(len(images), derive_seed(self.recipe.seed, step, self.context.rank))
        known, unknown = self.model(torch.cat([images, others])).chunk(2)
        margins = self.margins(known, unknown)
        return known, self.criterion(
            known, label
        ) + self.recipe.uncertainty.outlier_weight * margins

    def _mix_salient(
        self, images: Tensor, label: SoftLabel | MixedLabel, step: int
    ) -> tuple[Tensor, SoftLabel | MixedLabel]:
        """Mix this process's images by the gradients of their losses."""
        assert self.saliency_mix is not None
        assert isinstance(label, SoftLabel), "images are mixed once"
        maps = saliency_maps(
            lambda pixels: self.criterion(self.net(pixels), label), images, self.net
        )
        self.set_train_mode()  # some layers may stay in eval mode
        return self.saliency_mix(images, label, maps, key=step_key(self.recipe, step))

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Measure on test (or validation) images, and on clean training images."""
        fit_heads(net, self.data.train, self.recipe.compute.precision, self.workers)
        logits, labels = self._predict(net, self.data.measured), self.data.measured.labels.cpu()
        clean, clean_labels = self._predict(net, self.clean_train), self.clean_train.labels.cpu()
        return {
            "error": float(error(logits, labels)),
            "nll": float(nll(logits, labels)),
            "ece": float(calibration_error(logits.softmax(1), labels)),
            "train_error_clean": float(error(clean, clean_labels)),
            "train_confidence_clean": float(clean.softmax(1).amax(1).mean()),
        }

    def _predict(self, net: nn.Module, source: Source) -> Tensor:
        precision = self.recipe.compute.precision
        return predict_all(net, source, precision, self.context, self.workers).cpu()

    def end_epoch(self) -> dict[str, float]:
        """Have labels and augmentation follow what was predicted in the epoch, where they do."""
        if self.criterion.base is not None:
            self.criterion.base.next_epoch()
        if self.pacer is None:
            return {}
        logged = pacer_metrics(self.pacer)
        self.pacer.next_epoch()
        self._set_strength()
        assert self.pacer.lead is not None
        return {**logged, "lead": self.pacer.lead}

    def finish(self, net: nn.Module) -> None:
        """Re-estimate the statistics of BatchNorm, if the recipe wants that."""
        sigma = self.recipe.augment.batchnorm_sigma
        if sigma is not None:
            reestimate_batchnorm(net, self.recipe, self.data, sigma, self.context)

    def _set_strength(self) -> None:
        """Have batches know what holds in the epoch that begins."""
        if self.pacer is not None:
            self.batches.strength = strength_of(self.pacer, self.data.train.labels)

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {"loss": self.criterion.state_dict()}
        if self.pacer is not None:
            self.pacer.share()
            state["pacer"] = self.pacer.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.criterion.load_state_dict(state["loss"])
        if self.pacer is not None:
            self.pacer.load_state_dict(state["pacer"])
            self._set_strength()

    def file_hashes(self) -> dict[str, str]:
        return self._hashes

    def describe(self, metric: float) -> str:
        return f"train (augmented) error {100 * metric:.1f} %"

    def warnings(self) -> list[str]:
        epochs = self.recipe.epochs
        return self.begun_from + [
            f"the schedule of {setting} has no epoch: {share:g} of {epochs}"
            for setting, _, share in self.recipe.augment.schedules
            if round(share * epochs) == 0
        ]


def reestimate_batchnorm(
    net: nn.Module,
    recipe: Recipe,
    data: TrainingData,
    sigma: float,
    context: DistContext = SINGLE,
) -> None:
    """Give the BatchNorm layers of `net` the statistics of training images cropped at `sigma`."""
    device = next(net.parameters()).device
    batches = milder_batches(recipe, data, sigma, context)
    images = (batches[step].images for step in range(len(batches)))
    dtype = DTYPES[recipe.compute.precision]
    with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
        update_batchnorm(net, images, device=device)


def build_saliency_mix(recipe: Recipe, num_classes: int) -> PuzzleMix | CoMixup | None:
    """Build what mixes a recipe's images by their saliency."""
    if recipe.mix.kind == "puzzle-mix":
        return PuzzleMix(recipe.mix.alpha)
    return CoMixup(num_classes, recipe.mix.alpha) if recipe.mix.kind == "co-mixup" else None


def sample_clean(train: Source, skip: bool = False) -> Source:
    """Draw at most 5,000 training images, always the same ones; `skip` leaves out broken files."""
    order = torch.randperm(len(train.labels), generator=torch.Generator().manual_seed(0))
    index = order[:CLEAN_SAMPLE].sort().values
    if skip:
        index = index[torch.tensor([_is_readable(train, number) for number in index])]
    return train.take(index)


def _is_readable(source: Source, number: Tensor) -> bool:
    try:
        source.fetch(number[None])
    except ValueError:
        return False
    return True
