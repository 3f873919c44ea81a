"""Figure 3 of the paper: label smoothing, and each part of the method, by sigma and k.

The figure's points cannot be read off the text: the grid is ours.
"""

from dataclasses import replace
from typing import Literal

from softaug.recipes.changes import cropped, softened
from softaug.recipes.crops import NormalOffsets
from softaug.recipes.entry import Entry, derive
from softaug.recipes.paper_rows import hard_entry, soft_entry

SIGMAS = (0.1, 0.2, 0.3, 0.4)
ALPHAS = (0.0, 0.1, 0.2, 0.3)
KS = (1, 2, 3, 4)


def figure3_entries() -> list[Entry]:
    """Normal crops of each sigma: hard and smoothed labels, then what softens, at each k."""
    soft = soft_entry(hard_entry("cifar100", "resnet18"))
    parts: tuple[Literal["target", "weight", "both"], ...] = ("target", "weight", "both")
    smoothed = [_smoothed(soft, alpha, sigma) for alpha in ALPHAS for sigma in SIGMAS]
    return smoothed + [_part(soft, p, k, sigma) for p in parts for k in KS for sigma in SIGMAS]


def _smoothed(soft: Entry, alpha: float, sigma: float) -> Entry:
    loss = replace(softened(soft.recipe, "none"), label_smoothing=alpha)
    crop = NormalOffsets(sigma)
    return derive(
        soft,
        f"figure3-smoothing{alpha:g}-sigma{sigma:g}",
        f"Figure 3, left: crops of sigma {sigma:g}, hard labels smoothed by {alpha:g}",
        augment=cropped(soft.recipe, crop),
        loss=loss,
    )


def _part(soft: Entry, part: Literal["target", "weight", "both"], k: int, sigma: float) -> Entry:
    words = "target and weight soften" if part == "both" else f"the {part} softens"
    return derive(
        soft,
        f"figure3-{part}-k{k}-sigma{sigma:g}",
        f"Figure 3: crops of sigma {sigma:g}, {words} with k = {k}",
        augment=cropped(soft.recipe, NormalOffsets(sigma, float(k))),
        loss=softened(soft.recipe, part),
    )
