"""Targets of one image in every variant of the loss, one under another."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from softaug.lab.report.palette import INK

NUM_CLASSES, TRUE = 10, 3  # as many bars as can be told apart


@dataclass(frozen=True)
class Variant:
    """How a sample enters the loss: confidence of its target, weight of its loss."""

    name: str
    confidence: float
    weight: float
    softened: bool = True

    @property
    def target(self) -> list[float]:
        """Probabilities of the classes: the rest is spread evenly over the wrong ones.

        >>> Variant("soft target", 0.64, 1.0).target[2:5]
        [0.04, 0.64, 0.04]
        """
        rest = (1 - self.confidence) / (NUM_CLASSES - 1)
        return [self.confidence if place == TRUE else rest for place in range(NUM_CLASSES)]


def variants(confidence: float, alpha: float) -> list[Variant]:
    """Equations 2 to 6 of the paper for an image of that confidence."""
    return [
        Variant("one-hot", 1.0, 1.0, softened=False),
        Variant("label smoothing", 1 - alpha, 1.0, softened=False),
        Variant("soft target", confidence, 1.0),
        Variant("soft weight", 1.0, confidence),
        Variant("soft target\nand weight", confidence, confidence),
    ]


def draw_targets(axes: Axes, shown: list[Variant], colour: str) -> None:
    """A row of bars for each variant, the weight of its loss at the right."""
    for place, variant in enumerate(shown):
        floor = len(shown) - 1 - place
        bars = [0.72 * share for share in variant.target]
        filled = colour if variant.softened else "none"
        places = range(NUM_CLASSES)
        axes.bar(places, bars, 0.72, floor, linewidth=0.7, facecolor=filled, edgecolor=INK)
        axes.plot([-0.6, NUM_CLASSES - 0.4], [floor, floor], color=INK, linewidth=0.7)
        sure = f"{100 * variant.confidence:.0f} %"
        axes.annotate(sure, (TRUE + 0.55, floor + 0.72 * variant.confidence), va="top")
        axes.annotate(f"weight {variant.weight:g}", (NUM_CLASSES - 0.4, floor + 0.36), ha="right")
    names = [variant.name for variant in reversed(shown)]
    axes.set_yticks([floor + 0.25 for floor in range(len(shown))], names)
    axes.set(xlim=(-0.8, NUM_CLASSES - 0.2), ylim=(-0.12, len(shown) - 0.1), xlabel="ten classes")
    axes.set_xticks([TRUE], ["true class"])
    axes.spines[:].set_visible(False)
    axes.grid(False)
