"""Puzzle Mix and Co-Mixup: images are mixed where each of them is salient.

Both need saliency maps (`saliency_maps` makes them of a network's gradients), and PyMaxflow and
scipy for minimum cuts and assignments, which the lab extra installs.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import combinations, product
from typing import Any, Generic, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from softaug.checks import (
    check_images,
    check_inside,
    check_not_negative,
    check_num_classes,
    check_positive,
    check_share,
    check_whole,
    describe,
    refuse,
)
from softaug.draws import DrawKey
from softaug.label import MixedLabel, SoftLabel, check_label_batch, mix_labels
from softaug.mixing import Draw, draw_pairs, take

Labels = Tensor | SoftLabel
P = TypeVar("P")  # what is drawn
L = TypeVar("L", MixedLabel, SoftLabel)  # what becomes of the labels
BLOCKS = (2, 4, 8)  # along an edge; one is drawn for each batch


def import_solver(who: str, name: str) -> Any:
    """Import maxflow or scipy.optimize; refuse with the extra that installs it."""
    try:
        return import_module(name)
    except ImportError:
        rule, remedy = f"{name} must be installed", "pip install 'softaug[lab]'"
        refuse(who, rule, "none", remedy)


def saliency_maps(
    loss: Callable[[Tensor], Tensor], images: Tensor, network: nn.Module | None = None
) -> Tensor:
    """Return each image's saliency, [B, H, W]: the length of the loss's gradient at each pixel.

    `loss` takes the images as float32 and returns one loss for each, [B], or their sum. Weights
    get no gradient. `network` is put into eval mode meanwhile, so that BatchNorm keeps its
    statistics.

    >>> saliency_maps(lambda images: (3 * images[:, :, 0, 0]).sum(), torch.ones(1, 1, 2, 2))
    tensor([[[3., 0.],
             [0., 0.]]])
    """
    check_images("saliency_maps", images)
    was_training = network is not None and network.training
    if network is not None:
        network.eval()
    try:
        with torch.enable_grad():
            pixels = images.detach().float().requires_grad_()
            (gradient,) = torch.autograd.grad(loss(pixels).sum(), pixels)
    finally:
        if network is not None:
            network.train(was_training)
    return gradient.square().sum(1).sqrt()


class _SaliencyMix(ABC, Generic[P, L]):
    """What both have in common: settings, checks, the number of blocks, and the way of a call."""

    purpose: int

    def __init__(self, alpha: float, blocks: Sequence[int]) -> None:
        self.alpha = check_positive(self.name, "alpha", alpha)
        if not blocks:
            refuse(self.name, "blocks must hold at least one number", "none")
        self.blocks = tuple(check_whole(self.name, "blocks", each, least=2) for each in blocks)

    @property
    def name(self) -> str:
        return type(self).__name__

    def __call__(
        self,
        images: Tensor,
        labels: Labels,
        saliency: Tensor,
        *,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> tuple[Tensor, L]:
        """Draw, apply and report in one go; `key` has the step as its index."""
        label = self._check(images, labels, saliency)
        params = self.draw(images, saliency, generator=generator, key=key)
        return self.apply(images, params), self.report(label, params)

    def draw(
        self,
        images: Tensor,
        saliency: Tensor,
        *,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> P:
        """Draw partners and lambda, and solve for what each output shows, on the CPU."""
        drawn = draw_pairs(self.name, len(images), self.alpha, self.purpose, generator, key)
        num = self._choose_blocks(drawn.spare[0], images)
        return self._solve(drawn, images, pool_saliency(saliency.detach().cpu(), num))

    @abstractmethod
    def _solve(self, drawn: Draw, images: Tensor, saliency: Tensor) -> P:
        """Choose what each output shows, by saliency in blocks [B, n, n]."""

    @abstractmethod
    def apply(self, images: Tensor, params: P) -> Tensor:
        """Mix the images by `params`; no randomness."""

    @abstractmethod
    def report(self, labels: Labels, params: P) -> L:
        """Return the labels of the mixed images."""

    def _check(self, images: Tensor, labels: Labels, saliency: Tensor) -> SoftLabel:
        check_images(self.name, images)
        if images.ndim != 4:
            refuse(self.name, "images must be a batch [B, C, H, W]", describe(images))
        shape = (len(images), *images.shape[-2:])
        if not isinstance(saliency, Tensor) or saliency.shape != shape:
            rule = f"saliency must be {list(shape)}, one number for each pixel"
            refuse(self.name, rule, describe(saliency), "softaug.saliency_mixing.saliency_maps")
        return SoftLabel(*check_label_batch(self.name, labels, len(images)))

    def _choose_blocks(self, uniform: float, images: Tensor) -> int:
        height, width = images.shape[-2:]
        fitting = [num for num in self.blocks if height % num == 0 and width % num == 0]
        if not fitting:
            rule = f"one of blocks {self.blocks} must divide both edges"
            refuse(self.name, rule, f"{height} x {width}")
        return fitting[int(uniform * len(fitting))]


def pool_saliency(saliency: Tensor, num: int) -> Tensor:
    """Average saliency [B, H, W] over num x num blocks, scaled to a mean of 1 for each image."""
    pooled = F.adaptive_avg_pool2d(saliency.double().unsqueeze(1), num).squeeze(1)
    mean = pooled.mean((1, 2), keepdim=True)
    return torch.where(mean > 0, pooled / mean.clamp_min(1e-300), torch.ones_like(pooled))


class PuzzleParams(NamedTuple):
    """How each image is mixed with its partner, in blocks [n, n]."""

    partner: Tensor  # [B] int64, an index in the batch
    share: Tensor  # [B] float32, of the image itself: the mean of 1 - mask
    mask: Tensor  # [B, n, n], of the partner: 0, 1 / m, ..., 1
    moves: Tensor  # [B, 2, n * n] int64: [b, i, p] is the block that comes to position p


class PuzzleMix(_SaliencyMix[PuzzleParams, MixedLabel]):
    """Puzzle Mix (Kim et al. 2020): mask and transport that keep what is salient of two images.

    A pair is mixed to (1 - z) * P0 x0 + z * P1 x1. In n x n blocks the mask z, with values 0,
    1/m, ..., 1, minimizes over all blocks i and neighbors ij, by swaps that are minimum cuts,

        - (1 - z_i) s0_i - z_i s1_i - eta log p(z_i)
        + beta (z_i - z_j)^2 + gamma D_ij(z_i, z_j)

    with saliency s of mean 1, p binomial with mean 1 - lambda, lambda being Beta(alpha, alpha)
    for the batch, and D the distance of the colors that meet. Then each image's blocks are
    permuted: P moves what is salient to where the mask shows it, an assignment that maximizes

        sum_i shown_i s_P(i) - xi |i - P(i)|^2 / (n - 1)^2

    `mix(images, labels, saliency)` gives mixed images and a `MixedLabel` whose share is the mean
    of the mask, so labels may be soft. Draws are those of `Mixup`.
    """

    purpose = 36

    def __init__(
        self,
        alpha: float = 1.0,
        blocks: Sequence[int] = BLOCKS,
        levels: int = 2,
        beta: float = 1.2,
        gamma: float = 0.5,
        eta: float = 0.2,
        xi: float = 0.8,
    ) -> None:
        super().__init__(alpha, blocks)
        self.levels = check_whole(self.name, "levels", levels, least=1)
        self.beta = check_not_negative(self.name, "beta", beta)
        self.gamma = check_not_negative(self.name, "gamma", gamma)
        self.eta = check_not_negative(self.name, "eta", eta)
        self.xi = check_not_negative(self.name, "xi", xi)

    def _solve(self, drawn: Draw, images: Tensor, saliency: Tensor) -> PuzzleParams:
        num = saliency.shape[-1]
        pooled = F.adaptive_avg_pool2d(images.detach().cpu().double(), num)
        colors = pooled / (1.0 if images.is_floating_point() else 255.0)
        masks, moves = [], []
        prior = self._log_prior(drawn.share)
        for row, other in enumerate(drawn.partner.tolist()):
            pair = saliency[[row, other]]
            mask = self.find_mask(pair, colors[[row, other]], prior)
            masks.append(mask)
            moves.append(torch.stack([self._move(1 - mask, pair[0]), self._move(mask, pair[1])]))
        mask = torch.stack(masks)
        share = (1 - mask.mean((1, 2))).float()
        return PuzzleParams(drawn.partner, share, mask.float(), torch.stack(moves))

    def find_mask(self, saliency: Tensor, colors: Tensor, prior: Tensor) -> Tensor:
        """Find the mask [n, n] of a pair with saliency [2, n, n] and colors [2, C, n, n].

        `prior` [L] is the log-probability of each value of the mask.
        """
        first, second = saliency.flatten(1).unsqueeze(-1)
        values = self._values
        unary = -(1 - values) * first - values * second - self.eta * prior  # [N, L]
        edges = grid_edges(saliency.shape[-1])
        pairwise = self._pairwise(colors.flatten(2), edges)
        labels = minimize_by_swaps(unary, edges, pairwise, unary.argmin(1), self.name)
        return values[labels].view(saliency.shape[1:])

    @property
    def _values(self) -> Tensor:
        return torch.arange(self.levels + 1, dtype=torch.float64) / self.levels

    def _log_prior(self, share: float) -> Tensor:
        """Log-probability of each value of the mask: binomial, of mean 1 - share."""
        odds = min(max(1 - share, 1e-6), 1 - 1e-6)
        logs = [
            math.log(math.comb(self.levels, step) * odds**step)
            + (self.levels - step) * math.log(1 - odds)
            for step in range(self.levels + 1)
        ]
        return torch.tensor(logs, dtype=torch.float64)

    def _pairwise(self, colors: Tensor, edges: Tensor) -> Tensor:
        """Cost of each edge for each two values, [E, L, L]."""
        start, end = colors[:, :, edges].unbind(-1)  # [2, C, E] each
        distance = (start[:, None] - end).square().sum(2)  # [2, 2, E]
        values = self._values
        parts = torch.stack([1 - values, values])  # [2, L]
        met = torch.einsum("al,bm,abe->elm", parts, parts, distance)
        return self.beta * (values[:, None] - values).square() + self.gamma * met

    def _move(self, shown: Tensor, saliency: Tensor) -> Tensor:
        """Find which block of an image comes to each position, [n * n]."""
        num = len(shown)
        positions = torch.cartesian_prod(torch.arange(num), torch.arange(num)).double()
        far = torch.cdist(positions, positions).square() / (num - 1) ** 2
        gain = shown.reshape(-1, 1) * saliency.reshape(1, -1) - self.xi * far
        solve = import_solver(self.name, "scipy.optimize").linear_sum_assignment
        return torch.from_numpy(solve(gain.numpy(), maximize=True)[1]).long()

    def apply(self, images: Tensor, params: PuzzleParams) -> Tensor:
        num = params.mask.shape[-1]
        moves = params.moves.to(images.device)
        first = move_blocks(images, moves[:, 0], num)
        second = move_blocks(take(images, params.partner), moves[:, 1], num)
        mask = spread_blocks(params.mask.to(images.device), images).unsqueeze(1)
        mixed = torch.lerp(first.float(), second.float(), mask)
        return mixed.to(images.dtype) if images.is_floating_point() else mixed.round().byte()

    def report(self, labels: Labels, params: PuzzleParams) -> MixedLabel:
        label = SoftLabel(*check_label_batch(self.name, labels))
        return mix_labels(label, take(label, params.partner), params.share)


class CoParams(NamedTuple):
    """Which image of its part each block of each output shows."""

    source: Tensor  # [B, n, n] int64, an index in the batch
    share: Tensor  # [B, B] float32: how much of each output is of each image; rows sum to 1


class CoMixup(_SaliencyMix[CoParams, SoftLabel]):
    """Co-Mixup (Kim et al. 2021): a batch of outputs, each of several images' salient blocks.

    Outputs k = 1..m of m images choose an image j for each of n x n blocks. With z_kp one-hot,
    o_k the mean of z_kp over blocks p, and saliency s of mean 1, they minimize

        sum_k mean_p [-s_j(p) - eta log lambda_kj] + beta / n^2 * (neighbors pq with z_kp != z_kq)
        + gamma max(m tau, sum_{k != l} o_k A o_l),   A = (1 - omega) I + omega D

    lambda_k is Dirichlet(alpha); D_ij is the distance of the images' most salient blocks, over
    the largest: images that can be shown together are kept from different outputs. Above tau
    the last term is linear in each o_k given the others, so outputs are chosen anew one after
    the other, by alpha expansion (Boykov et al. 2001), `cycles` times. Images are mixed within
    parts of at most `part` of the batch.

    `mix(images, labels, saliency)` gives outputs and a `SoftLabel` of probabilities [B, C]:
    target and weight are the means of the images' own by their shares, as in a `MixedLabel`.
    """

    purpose = 37

    def __init__(
        self,
        num_classes: int,
        alpha: float = 2.0,
        blocks: Sequence[int] = (4,),
        part: int = 20,
        beta: float = 0.32,
        gamma: float = 1.0,
        tau: float = 0.83,
        eta: float = 0.05,
        omega: float = 0.001,
        cycles: int = 2,
    ) -> None:
        super().__init__(alpha, blocks)
        check_num_classes(self.name, num_classes)
        self.num_classes = num_classes
        self.part = check_whole(self.name, "part", part, least=1)
        self.cycles = check_whole(self.name, "cycles", cycles, least=1)
        self.beta = check_not_negative(self.name, "beta", beta)
        self.gamma = check_not_negative(self.name, "gamma", gamma)
        self.tau = check_not_negative(self.name, "tau", tau)
        self.eta = check_not_negative(self.name, "eta", eta)
        self.omega = check_share(self.name, "omega", omega)

    def _solve(self, drawn: Draw, images: Tensor, saliency: Tensor) -> CoParams:
        shape = len(images), self.part
        gamma = draw_gamma(self.alpha, shape, int(drawn.spare[1] * 2**32))
        sources, first = [], 0
        for maps in torch.split(saliency, self.part):
            size = len(maps)
            share = gamma[first : first + size, :size]
            prior = (share / share.sum(1, keepdim=True)).log()
            sources.append(first + self.choose(maps, prior))
            first += size
        source = torch.cat(sources)
        share = F.one_hot(source.flatten(1), len(images)).float().mean(1)
        return CoParams(source, share)

    def choose(self, saliency: Tensor, prior: Tensor) -> Tensor:
        """Choose an image for each block of each output of a part, [m, n, n].

        `saliency` is [m, n, n], `prior` [m, m] the log of lambda.
        """
        expand = import_solver(self.name, "maxflow.fastmin").aexpansion_grid
        num = len(saliency)
        compatibility = self._compatibility(saliency)
        potts = (self.beta * (1 - torch.eye(num, dtype=torch.float64))).numpy()
        shares = torch.eye(num, dtype=torch.float64)  # at first each output is its own image
        source = torch.arange(num).view(-1, 1, 1).repeat(1, *saliency.shape[1:])
        for _ in range(self.cycles):
            for output in range(num):
                unary = -saliency - self.eta * prior[output].view(-1, 1, 1)
                unary = unary + self._penalty(shares, compatibility, output).view(-1, 1, 1)
                costs = unary.permute(1, 2, 0).contiguous().numpy()
                labels = expand(costs, potts, labels=source[output].numpy())
                source[output] = torch.from_numpy(labels)
                shares[output] = F.one_hot(source[output].flatten(), num).double().mean(0)
        return source

    def _compatibility(self, saliency: Tensor) -> Tensor:
        """Return A [m, m]."""
        flat = saliency.flatten(1).argmax(1)
        width = saliency.shape[-1]
        spots = torch.stack([flat // width, flat % width], 1).double()
        far = torch.cdist(spots, spots, p=1) / (2 * (width - 1))
        return (1 - self.omega) * torch.eye(len(saliency)).double() + self.omega * far

    def _penalty(self, shares: Tensor, compatibility: Tensor, output: int) -> Tensor:
        """Return what each image costs an output, [m]: 0 while outputs differ enough."""
        met = shares @ compatibility @ shares.T
        if float(met.sum() - met.diagonal().sum()) <= self.tau * len(shares):
            return torch.zeros(len(shares), dtype=torch.float64)
        others = shares.sum(0) - shares[output]
        return 2 * self.gamma * (compatibility @ others)

    def apply(self, images: Tensor, params: CoParams) -> Tensor:
        source = spread_blocks(params.source.to(images.device), images)  # [B, H, W]
        rows, columns = (torch.arange(edge, device=images.device) for edge in images.shape[-2:])
        return images.movedim(1, -1)[source, rows[:, None], columns].movedim(-1, 1)

    def report(self, labels: Labels, params: CoParams) -> SoftLabel:
        """Return the outputs' labels: probabilities [B, C], and the share retained."""
        classes, retained = check_label_batch(self.name, labels)
        share = params.share.to(retained.device, retained.dtype)
        check_inside(
            self.name, f"labels must be in 0..{self.num_classes - 1}", classes, self.num_classes
        )
        one_hot = F.one_hot(classes, self.num_classes).to(retained.dtype)
        mass = (share * retained) @ one_hot
        whole = mass.sum(1, keepdim=True)
        label = torch.where(whole > 0, mass / whole.clamp_min(1e-30), share @ one_hot)
        return SoftLabel(label, (share @ retained).clamp(max=1))


def draw_gamma(alpha: float, shape: tuple[int, ...], seed: int) -> Tensor:
    """Draw Gamma(alpha) numbers, a pure function of the seed; torch's generator stays."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        law = torch.distributions.Gamma(
            torch.full(shape, alpha).double(), torch.tensor(1.0).double()
        )
        return law.sample().clamp_min(1e-12)


def move_blocks(images: Tensor, moves: Tensor, num: int) -> Tensor:
    """Put block moves[b, p] of num x num blocks of each image to position p.

    >>> image = torch.arange(4.0).view(1, 1, 2, 2)
    >>> move_blocks(image, torch.tensor([[3, 1, 2, 0]]), num=2)
    tensor([[[[3., 1.],
              [2., 0.]]]])
    """
    batch, channels, height, width = images.shape
    cut = images.reshape(batch, channels, num, height // num, num, width // num)
    parts = cut.permute(0, 2, 4, 1, 3, 5).flatten(1, 2)  # [B, n * n, C, h, w]
    moved = parts.gather(1, moves.view(*moves.shape, 1, 1, 1).expand_as(parts))
    whole = moved.view(batch, num, num, *parts.shape[2:]).permute(0, 3, 1, 4, 2, 5)
    return whole.reshape(images.shape)


def spread_blocks(blocks: Tensor, images: Tensor) -> Tensor:
    """Repeat values of blocks [B, ..., n, n] for each pixel of the images."""
    height, width = (edge // blocks.shape[-1] for edge in images.shape[-2:])
    return blocks.repeat_interleave(height, dim=-2).repeat_interleave(width, dim=-1)


def grid_edges(num: int) -> Tensor:
    """List the neighbors in a num x num grid, [E, 2]."""
    index = torch.arange(num * num).view(num, num)
    across = torch.stack([index[:, :-1].flatten(), index[:, 1:].flatten()], 1)
    down = torch.stack([index[:-1].flatten(), index[1:].flatten()], 1)
    return torch.cat([across, down])


def labeling_cost(unary: Any, edges: Any, pairwise: Any, labels: Any) -> float:
    """Return the cost of labels [N]: those of the nodes [N, L] and of the edges [E, L, L]."""
    own = unary[range(len(labels)), labels].sum()
    met = pairwise[range(len(edges)), labels[edges[:, 0]], labels[edges[:, 1]]].sum()
    return float(own + met)


def minimize_by_swaps(
    unary: Tensor,
    edges: Tensor,
    pairwise: Tensor,
    labels: Tensor,
    who: str = "minimize_by_swaps",
    max_cycles: int = 4,
) -> Tensor:
    """Lower `labeling_cost` by alpha-beta swaps (Boykov et al. 2001), each a minimum cut.

    With two labels and submodular edges the result is a minimum. A term that is not submodular is
    cut off at 0, and a swap that would raise the cost is not taken.
    """
    maxflow = import_solver(who, "maxflow")
    best = labels.numpy()
    parts = unary.numpy(), edges.numpy(), pairwise.numpy()
    cost = labeling_cost(*parts, best)
    for _ in range(max_cycles):
        before = cost
        for pair in combinations(range(unary.shape[1]), 2):
            swapped = _swap(maxflow, *parts, best, pair)
            after = labeling_cost(*parts, swapped)
            if after < cost - 1e-9:
                best, cost = swapped, after
        if cost == before or unary.shape[1] == 2:
            break
    return torch.from_numpy(best)


def _swap(
    maxflow: Any, unary: Any, edges: Any, pairwise: Any, labels: Any, pair: tuple[int, int]
) -> Any:
    """Choose anew between two labels for all nodes that have one of them; arrays of NumPy."""
    np = import_module("numpy")  # PyMaxflow and scipy bring it
    low, high = pair
    active = (labels == low) | (labels == high)
    rows, (first, second) = np.arange(len(edges)), edges.T
    costs = unary[:, [low, high]].copy()  # [N, 2]
    if not active.all():
        for column, label in enumerate(pair):  # what edges to nodes of other labels cost
            outgoing = pairwise[rows, label, labels[second]] * ~active[second]
            incoming = pairwise[rows, labels[first], label] * ~active[first]
            np.add.at(costs[:, column], first, outgoing)
            np.add.at(costs[:, column], second, incoming)
    inner = active[first] & active[second]
    i, j, table = first[inner], second[inner], pairwise[inner]
    e00, e01, e10, e11 = (table[:, a, b] for a, b in product(pair, pair))
    np.add.at(costs[:, 1], i, e10 - e00)
    np.add.at(costs[:, 1], j, e11 - e10)
    graph = maxflow.Graph[float](len(unary), len(i))
    nodes = graph.add_nodes(len(unary))
    costs -= costs.min(1, keepdims=True)
    graph.add_grid_tedges(nodes, costs[:, 1], costs[:, 0])
    capacity = (e01 + e10 - e00 - e11).clip(min=0)
    graph.add_edges(i, j, capacity, np.zeros_like(capacity))
    graph.maxflow()
    chosen = graph.get_grid_segments(nodes)  # True is beside the sink
    return np.where(active, np.where(chosen, high, low), labels)
