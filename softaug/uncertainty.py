"""Rivals that know what they do not know: energy margins, DUQ, SNGP and DDU.

Each gives logits whose softmax are its probabilities and whose negative energy, logsumexp, is its
score of how well an image is known (`softaug.metrics.negative_energy`), so that error, calibration
and AUROC against other data are measured as of any classifier.
"""

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from softaug.checks import (
    check_not_negative,
    check_num_classes,
    check_positive,
    check_share,
    check_whole,
    describe,
    is_float,
    refuse,
)
from softaug.label import AnyLabel, MixedLabel, SoftLabel, get_main_label

# Energy-based


class EnergyMarginLoss(nn.Module):
    """Fine-tuning loss of the energy score (Liu et al. 2020), beside that of the labels.

    With the energy E(x) = -logsumexp(logits), known images are pushed below `inside` and others
    above `outside`:

        mean max(0, E(x) - inside)^2 + mean max(0, outside - E(x'))^2

    It does not see labels, so these may be soft; it is added with a weight, 0.1 in the paper. The
    paper's margins are -23 and -5 for CIFAR-10, -27 and -5 for CIFAR-100.

    >>> loss = EnergyMarginLoss(inside=-2.0, outside=-1.0)
    >>> loss(torch.tensor([[1.0, -torch.inf]]), torch.tensor([[3.0, -torch.inf]]))
    tensor(5.)
    """

    def __init__(self, inside: float = -23.0, outside: float = -5.0) -> None:
        super().__init__()
        if not inside < outside:
            rule = "inside must be below outside, energies of what is known and what is not"
            refuse("EnergyMarginLoss", rule, f"{inside:g} and {outside:g}")
        self.inside, self.outside = inside, outside

    def forward(self, known: Tensor, unknown: Tensor) -> Tensor:
        """Return the loss of logits [B, C] of known images and [M, C] of others, a scalar."""
        for name, logits in (("known", known), ("unknown", unknown)):
            _check_rows("EnergyMarginLoss", name, logits)
        below = (-known.float().logsumexp(1) - self.inside).clamp_min(0)
        above = (self.outside + unknown.float().logsumexp(1)).clamp_min(0)
        return below.square().mean() + above.square().mean()

    def extra_repr(self) -> str:
        return f"inside={self.inside:g}, outside={self.outside:g}"


# Spectral norm, of SNGP and DDU


class SpectralBound(nn.Module):
    """Parametrization that keeps the largest singular value of a weight at most `bound`.

    W becomes bound / sigma W where sigma > bound, and stays as it is elsewhere (SNGP's soft
    normalization). The kernel of a convolution counts as a matrix [out, in * h * w]; sigma is by
    power iteration, `steps` in each training forward pass, from where the last one ended.
    """

    vector: Tensor

    def __init__(self, weight: Tensor, bound: float, steps: int = 1) -> None:
        super().__init__()
        self.bound = check_positive("SpectralBound", "bound", bound)
        self.steps = check_whole("SpectralBound", "steps", steps, least=1)
        draws = torch.Generator().manual_seed(0)
        first = torch.randn(len(weight), generator=draws).to(weight.device)
        self.register_buffer("vector", F.normalize(first, dim=0))
        self._iterate(weight.detach().flatten(1), steps=15)

    @torch.no_grad()
    def _iterate(self, matrix: Tensor, steps: int) -> None:
        vector = self.vector
        for _ in range(steps):
            vector = F.normalize(matrix @ (matrix.T @ vector), dim=0)
        self.vector.copy_(vector)

    def forward(self, weight: Tensor) -> Tensor:
        matrix = weight.flatten(1)
        if self.training:
            self._iterate(matrix.detach(), self.steps)
        # A clone: the next pass changes the buffer, and backward needs what this one had.
        norm = (self.vector.clone() @ matrix).norm()
        bounded: Tensor = weight * (self.bound / norm).clamp(max=1.0)
        return bounded


def bound_spectral_norms(model: nn.Module, bound: float) -> nn.Module:
    """Bound every convolution and linear layer of a model by `SpectralBound`; return the model."""
    for part in list(model.modules()):
        if isinstance(part, nn.Conv2d | nn.Linear):
            register_parametrization(part, "weight", SpectralBound(part.weight, bound))
    return model


# SNGP


class RandomFeatureGP(nn.Module):
    """Output layer of SNGP (Liu et al. 2020): a Gaussian process by random Fourier features.

    Features h [B, D], standardized for each sample, become M numbers
    phi = cos(W h / (sqrt(D) length_scale) + b), with W normal and b uniform in 0..2 pi, both fixed;
    logits are phi beta. After training, `fit` computes by Laplace's approximation the precision
    ridge I + sum p (1 - p) phi phi^T, p being the largest probability of each training sample. In
    eval mode logits are divided by sqrt(1 + pi / 8 var), with var = phi^T precision^-1 phi (mean
    field): far from the data probabilities become uniform.

    The network before it should keep distances: `bound_spectral_norms`. Any loss of logits and
    soft labels goes with it.
    """

    weight: Tensor
    phase: Tensor
    covariance: Tensor

    def __init__(
        self,
        num_inputs: int,
        num_classes: int,
        num_features: int = 1024,
        length_scale: float = 1.0,
        ridge: float = 1.0,
    ) -> None:
        super().__init__()
        check_num_classes("RandomFeatureGP", num_classes)
        check_whole("RandomFeatureGP", "num_features", num_features, least=1)
        self.ridge = check_positive("RandomFeatureGP", "ridge", ridge)
        scale = check_positive("RandomFeatureGP", "length_scale", length_scale)
        self.norm = nn.LayerNorm(num_inputs, elementwise_affine=False)
        width = math.sqrt(num_inputs) * scale
        self.register_buffer("weight", torch.randn(num_features, num_inputs) / width)
        self.register_buffer("phase", 2 * math.pi * torch.rand(num_features))
        self.register_buffer("covariance", torch.zeros(num_features, num_features))
        self.linear = nn.Linear(num_features, num_classes, bias=False)

    def random_features(self, inputs: Tensor) -> Tensor:
        """Return phi, [B, M]."""
        return F.linear(self.norm(inputs), self.weight, self.phase).cos()

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute logits [B, C] of features [B, D]."""
        phi = self.random_features(inputs)
        logits: Tensor = self.linear(phi)
        if self.training:
            return logits
        variance = ((phi @ self.covariance) * phi).sum(1, keepdim=True)
        return logits / (1 + math.pi / 8 * variance).sqrt()

    @torch.no_grad()
    def fit(self, inputs: Tensor, labels: Tensor | None = None) -> None:
        """Compute the covariance from the features [N, D] of all training images."""
        _check_rows("RandomFeatureGP", "inputs", inputs)
        precision = self.ridge * torch.eye(len(self.phase), dtype=torch.float64)
        for part in inputs.to(self.phase.device).split(1000):  # type: ignore[no-untyped-call]
            phi = self.random_features(part)
            top = self.linear(phi).softmax(1).amax(1)
            precision += ((top * (1 - top))[:, None] * phi).T.double().cpu() @ phi.double().cpu()
        self.covariance.copy_(torch.cholesky_inverse(torch.linalg.cholesky(precision)))


# DDU


class DensityHead(nn.Module):
    """Output layer of DDU (Mukhoti et al. 2023): a linear layer, and a density of features.

    Training is that of a linear layer, with any loss. After it, `fit` computes a Gaussian of the
    features of each class (Gaussian discriminant analysis). In eval mode a constant is added to
    the logits of each sample, which leaves its probabilities alone, so that their logsumexp is

        log p(h) = log sum_c p(c) N(h; mean_c, covariance_c + jitter I)

    The network before it should keep distances: `bound_spectral_norms`.
    """

    means: Tensor
    factors: Tensor
    constants: Tensor

    def __init__(self, num_inputs: int, num_classes: int, jitter: float = 1e-3) -> None:
        super().__init__()
        check_num_classes("DensityHead", num_classes)
        self.jitter = check_positive("DensityHead", "jitter", jitter)
        self.linear = nn.Linear(num_inputs, num_classes)
        self.register_buffer("means", torch.zeros(num_classes, num_inputs))
        identity = torch.eye(num_inputs).repeat(num_classes, 1, 1)
        self.register_buffer("factors", identity)  # inverses of Cholesky factors
        self.register_buffer("constants", torch.full((num_classes,), -math.log(num_classes)))

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute logits [B, C] of features [B, D]."""
        logits: Tensor = self.linear(inputs)
        if self.training:
            return logits
        shift = self.log_density(inputs) - logits.float().logsumexp(1)
        return logits + shift[:, None]

    def log_density(self, inputs: Tensor) -> Tensor:
        """Return log p(h) of features, [B]."""
        apart = inputs.float()[:, None] - self.means  # [B, C, D]
        scaled = torch.einsum("bcd,ced->bce", apart, self.factors)
        return (self.constants - scaled.square().sum(2) / 2).logsumexp(1)

    @torch.no_grad()
    def fit(self, inputs: Tensor, labels: Tensor) -> None:
        """Compute the Gaussians from the features [N, D] and labels [N] of all training images."""
        _check_rows("DensityHead", "inputs", inputs)
        size = inputs.shape[1]
        for label in range(len(self.means)):
            rows = inputs[labels.to(inputs.device) == label].double().cpu()
            if len(rows) < 2:
                rule = "every class must have at least 2 training images"
                refuse("DensityHead", rule, f"{len(rows)} of class {label}")
            mean = rows.mean(0)
            covariance = (rows - mean).T @ (rows - mean) / (len(rows) - 1)
            scale = covariance.diagonal().mean().clamp_min(1e-12)  # few images span few directions
            factor = torch.linalg.cholesky(covariance + self.jitter * scale * torch.eye(size))
            inverse = torch.linalg.solve_triangular(factor, torch.eye(size).double(), upper=False)
            self.means[label], self.factors[label] = mean.to(self.means), inverse.to(self.factors)
            volume = factor.diagonal().log().sum() + size / 2 * math.log(2 * math.pi)
            self.constants[label] = math.log(len(rows) / len(inputs)) - float(volume)


# DUQ


class RBFHead(nn.Module):
    """Output layer of DUQ (van Amersfoort et al. 2020): distances to a centroid of each class.

    Features h [B, D] are mapped by a matrix of each class, and
    log K_c = -mean_d (W_c h - e_c)_d^2 / (2 length_scale^2)  is returned as logits, so that
    probabilities are K_c / sum K. The centroids e_c are moving averages of the classes' W_c h,
    which `update` moves after each step. Train with `RBFLoss`.
    """

    sums: Tensor
    counts: Tensor

    def __init__(
        self,
        num_inputs: int,
        num_classes: int,
        num_outputs: int = 256,
        length_scale: float = 0.1,
        momentum: float = 0.999,
    ) -> None:
        super().__init__()
        check_num_classes("RBFHead", num_classes)
        check_whole("RBFHead", "num_outputs", num_outputs, least=1)
        self.length_scale = check_positive("RBFHead", "length_scale", length_scale)
        self.momentum = check_share("RBFHead", "momentum", momentum)
        weight = torch.empty(num_classes, num_outputs, num_inputs)
        self.weight = nn.Parameter(nn.init.normal_(weight, std=math.sqrt(1 / num_inputs)))
        self.register_buffer("counts", torch.full((num_classes,), 12.0))
        self.register_buffer("sums", 12 * 0.05 * torch.randn(num_classes, num_outputs))
        self.mapped: Tensor | None = None  # of the last forward pass in training

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute log K, [B, C], of features [B, D]."""
        mapped = torch.einsum("bd,ced->bce", inputs, self.weight)
        self.mapped = mapped.detach() if self.training else None
        apart = (mapped - self.sums / self.counts[:, None]).square().mean(2)
        return -apart / (2 * self.length_scale**2)

    @torch.no_grad()
    def update(self, labels: Tensor) -> None:
        """Move the centroids by the last training batch, of class indices [B]."""
        if self.mapped is None or labels.shape != self.mapped.shape[:1]:
            got = describe(labels) if self.mapped is not None else "no batch"
            refuse("RBFHead", "update must follow a training forward pass of the labels", got)
        one_hot = F.one_hot(labels, len(self.counts)).to(self.mapped)
        self.counts.lerp_(one_hot.sum(0), 1 - self.momentum)
        self.sums.lerp_(torch.einsum("bc,bce->ce", one_hot, self.mapped), 1 - self.momentum)
        self.mapped = None


class RBFLoss(nn.Module):
    """Loss of DUQ: binary cross-entropy of each K_c, and the two-sided gradient penalty.

    `loss(log_k [B, C], label)` is mean_c BCE(K_c, target_c) for each sample, [B], where the
    target of soft and mixed labels is that of their `dense`: K falls with what is retained. With
    `images`, which the logits were computed of and which need a gradient,
    penalty * (|d sum_c K_c / d image|^2 - 1)^2 is added; `scale` is one pixel value in the units
    of the network's input, such as 1 / standard deviation where it normalizes.
    """

    def __init__(self, penalty: float = 0.75) -> None:
        super().__init__()
        self.penalty = check_not_negative("RBFLoss", "penalty", penalty)

    def forward(
        self,
        log_k: Tensor,
        label: AnyLabel,
        images: Tensor | None = None,
        scale: Tensor | float = 1.0,
    ) -> Tensor:
        """Return the loss of each sample, [B]."""
        _check_rows("RBFLoss", "log_k", log_k)
        log_k = log_k.float().clamp(max=-1e-6)
        target = dense_target(label, log_k.shape[1]).to(log_k)
        rest = (-torch.expm1(log_k)).log()  # log(1 - K); log K itself may be far below float's exp
        losses = -(target * log_k + (1 - target) * rest).mean(1)
        if images is None or self.penalty == 0:
            return losses
        (gradient,) = torch.autograd.grad(log_k.exp().sum(), images, create_graph=True)
        lengths = (gradient / scale).flatten(1).square().sum(1)
        return losses + self.penalty * (lengths - 1).square()


def dense_target(label: AnyLabel, num_classes: int) -> Tensor:
    """Return the target [B, C] of class indices, of probabilities, or of soft or mixed labels."""
    if isinstance(label, SoftLabel | MixedLabel):
        return label.dense(num_classes)
    if label.is_floating_point():
        return label
    return F.one_hot(label.long(), num_classes).float()


def main_labels(label: AnyLabel) -> Tensor:
    """Return the class of each sample, [B]; of a mixed one, that with the larger share."""
    classes = get_main_label(label)
    assert isinstance(classes, Tensor), "labels of a batch"
    return classes.long()


def find_fitted(model: nn.Module) -> Iterable[RandomFeatureGP | DensityHead]:
    """List the layers that are fitted to the training images' features after training."""
    return [part for part in model.modules() if isinstance(part, RandomFeatureGP | DensityHead)]


def _check_rows(who: str, name: str, values: Tensor) -> None:
    if not isinstance(values, Tensor) or values.ndim != 2 or not is_float(values):
        refuse(who, f"{name} must be floating point [B, ...]", describe(values))
