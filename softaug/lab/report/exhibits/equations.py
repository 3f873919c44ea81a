"""Figure 2: targets of every variant, and the softening curves. From the equations alone."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.report.evaluation.drawing import Colours
from softaug.lab.report.exhibits.drawing import PAGE, Drawing, Plate
from softaug.lab.report.figures.curves import describe_softening, draw_softening
from softaug.lab.report.figures.targets import draw_targets, variants
from softaug.lab.report.results import Curves
from softaug.softening import confidence, retained

_CONFIDENCE, _ALPHA = 0.6, 0.1  # the paper's example; a usual label smoothing
_KS, _CHOSEN = (1, 2, 3, 4), {2.0: "the paper’s"}
_CLASSES, _STEPS = 100, 100


def softening_drawing() -> Drawing:
    """Left what softens, right by how much."""
    plates = (_targets(), _curves())

    def draw(figure: Figure, colours: Colours) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
        plates[0].draw(left, colours)
        plates[1].draw(right, colours)

    alt, caption = (" ".join(getattr(p, part) for p in plates) for part in ("alt", "caption"))
    return Drawing(alt, caption, PAGE, 2.6, draw, plates)


def curves_of(ks: tuple[int, ...]) -> Curves:
    """Confidence of the true class against the visible share, for each k.

    >>> curves_of((2,))["confidence"]["2"][0]  # nothing visible: chance
    0.01
    """
    visible = [step / _STEPS for step in range(_STEPS + 1)]
    found = {str(k): [confidence(retained(v, k), _CLASSES) for v in visible] for k in ks}
    return {"visible": visible, "confidence": found}


def _targets() -> Plate:
    shown = variants(_CONFIDENCE, _ALPHA)
    told = "; ".join(
        f"{' '.join(v.name.split())}: true class {100 * v.confidence:.0f} %, weight {v.weight:g}"
        for v in shown
    )
    alt = f"Targets over ten classes, as bars. {told}."
    caption = (
        f"What softens, for an image that keeps a confidence of {100 * _CONFIDENCE:.0f} %: the "
        "target, the weight of its loss, or both. Label smoothing "
        f"(here by {_ALPHA:g}) is the same for every image."
    )
    return Plate("targets", alt, caption, 250, lambda axes, c: draw_targets(axes, shown, c(2)))


def _curves() -> Plate:
    curves = curves_of(_KS)
    caption = (
        f"How much: confidence = 1 − (1 − 1/{_CLASSES})(1 − visible)ᵏ for {_CLASSES} classes. "
        "A larger k forgives more."
    )

    def draw(axes: Axes, colours: Colours) -> None:
        draw_softening(axes, curves, _CHOSEN, colours(2))

    return Plate("curves", describe_softening(curves), caption, 250, draw)
