"""Draws docs/images/soft-crops.png, the picture of the README.

    python docs/make_teaser.py

Needs softaug[lab]. The photograph is scikit-learn's `china.jpg`, by danielbuechele,
https://www.flickr.com/photos/danielbuechele/6061409035/ (CC BY 2.0; shifted here).
"""

from pathlib import Path
from typing import NamedTuple

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from sklearn.datasets import load_sample_image
from torch import Tensor

from softaug import DrawKey, SoftCrop, confidence, retained

OUT = Path(__file__).parent / "images" / "soft-crops.png"
WANTED = (1.0, 0.85, 0.65, 0.45, 0.25, 0.1)  # visible shares
NUM_CLASSES, NUM_DRAWS = 10, 4000
INK, MUTED, GRID, PAPER, ACCENT = "#1c2024", "#5b626a", "#e0e1dc", "#fcfcfa", "#00775a"
WIDTH, HEIGHT, DPI = 11.0, 4.15, 160  # inches: twice the width of a README on GitHub


class Crop(NamedTuple):
    """A crop of the photograph and what it says of itself."""

    image: Tensor  # [C, H, W] uint8
    visible: float
    confidence: float


def soft_crops(transform: SoftCrop) -> list[Crop]:
    """For each wanted visible share, the nearest of many draws."""
    photo = torch.from_numpy(load_sample_image("china.jpg").copy()).permute(2, 0, 1)
    key = DrawKey(seed=3, epoch=0, index=torch.arange(NUM_DRAWS))
    drawn = transform.draw(photo.expand(NUM_DRAWS, *photo.shape), key=key)
    crops = []
    for wanted in WANTED:
        nearest = (drawn.visible - wanted).abs().argmin().view(1)
        params = type(drawn)(*(values[nearest] for values in drawn))
        sure = transform.report(0, params).confidence(NUM_CLASSES)
        crops.append(Crop(transform.apply(photo, params), params.visible.item(), float(sure)))
    return crops


def draw_crop(axes: Axes, number: int, crop: Crop) -> None:
    """The crop with its number, visible share and confidence under it."""
    axes.imshow(crop.image.permute(1, 2, 0).numpy())
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(color=GRID, linewidth=0.8)
    below = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top"}
    badge = {"boxstyle": "circle,pad=0.25", "facecolor": ACCENT, "edgecolor": "none"}
    axes.annotate(
        str(number), (0, 0), (8, -9), **below, color=PAPER, fontsize=9, ha="center", bbox=badge
    )
    visible = f"visible {100 * crop.visible:.0f} %"
    axes.annotate(visible, (0, 0), (22, -7), **below, color=MUTED, fontsize=11)
    sure = f"confidence {crop.confidence:.2f}"
    axes.annotate(sure, (0, 0), (22, -22), **below, color=INK, fontsize=11, weight="bold")


def draw_curve(axes: Axes, crops: list[Crop], k: float) -> None:
    """Confidence against the visible share, the crops as numbered dots on it."""
    visible = torch.linspace(0, 1, 201)
    sure = confidence(retained(visible, k), NUM_CLASSES)
    axes.axhline(1, color=MUTED, linewidth=1.2, linestyle="--")
    axes.annotate("hard crop: always sure", (0.01, 1.015), color=MUTED, fontsize=10.5)
    axes.plot(visible, sure, color=ACCENT, linewidth=2.5)
    for number, crop in enumerate(crops, start=1):
        spot = (crop.visible, crop.confidence)
        axes.plot(*spot, marker="o", markersize=15, color=ACCENT, mec=PAPER, clip_on=False)
        axes.annotate(str(number), spot, color=PAPER, fontsize=9, ha="center", va="center_baseline")
    axes.annotate(f"soft crop, k = {k:g}", (0.36, 0.5), color=ACCENT, fontsize=10.5, weight="bold")
    axes.set(xlim=(0, 1), ylim=(0, 1.09), xticks=[0, 0.5, 1], yticks=[0.1, 0.5, 1])
    axes.set_xticklabels(["0", "50", "100 %"])
    axes.set_yticklabels(["chance", "0.5", "1.0"])
    axes.set_xlabel("visible share of the image", color=INK, fontsize=11)
    axes.set_title("confidence of the label", color=INK, fontsize=11, loc="left", pad=8)
    axes.tick_params(length=0, labelsize=10, labelcolor=MUTED)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)


def draw_card(figure: Figure) -> None:
    """A light card with round corners: the same on light and dark pages."""
    style = {"boxstyle": "round,pad=0,rounding_size=0.12", "facecolor": PAPER, "edgecolor": GRID}
    size = (WIDTH - 0.04, HEIGHT - 0.04)
    scale = figure.dpi_scale_trans
    card = FancyBboxPatch((0.02, 0.02), *size, **style, transform=scale, zorder=-1)
    figure.add_artist(card)


def main() -> None:
    """Draw the picture."""
    transform = SoftCrop(sigma=0.3, k=2, fill=(222, 224, 220))
    crops = soft_crops(transform)
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
    draw_card(figure)
    grid = figure.add_gridspec(2, 3, left=0.022, right=0.655, top=0.955, bottom=0.13, hspace=0.36)
    for place, crop in enumerate(crops):
        draw_crop(figure.add_subplot(grid[place // 3, place % 3]), place + 1, crop)
    draw_curve(figure.add_axes((0.73, 0.15, 0.235, 0.72)), crops, transform.k)
    figure.savefig(OUT, transparent=True, metadata={"Software": None})
    print(OUT)


if __name__ == "__main__":
    main()
