"""Figure 1: where crops land, what confidence their targets keep, and the errors beneath."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from softaug.lab.report.evaluation.drawing import Colours, literal
from softaug.lab.report.exhibits.drawing import PAGE, Drawing, Plate
from softaug.lab.report.exhibits.numbers import measure_words, published
from softaug.lab.report.exhibits.shapes import Crop, Crops
from softaug.lab.report.exhibits.sheet import shown_ours
from softaug.lab.report.figures.offsets import draw_offsets
from softaug.lab.report.headline import capital
from softaug.lab.report.palette import INK, MARKERS

_PALEST = 0.1  # opacity of a dot whose target has no confidence: it can still be seen
_DOT = 4.0  # square points
_SHADES = (1.0, 0.5, 0.0)


def ranges_drawing(exhibit: Crops) -> Drawing:
    """A panel for each crop, the dots paler where the target is less sure."""
    crops = exhibit["crops"]
    limit = 1 + max(crop["size"] for crop in crops)
    errors = [error_lines(exhibit, crop["label"]) for crop in crops]
    plates = tuple(
        _plate(index, crop, lines, limit)
        for index, (crop, lines) in enumerate(zip(crops, errors, strict=True))
    )

    def draw(figure: Figure, colours: Colours) -> None:
        every = figure.subplots(1, len(plates), squeeze=False)[0]
        for index, (axes, plate, lines) in enumerate(zip(every, plates, errors, strict=True)):
            plate.draw(axes, colours)
            below = "\n".join(literal(line) for line in lines)
            axes.set_xlabel(f"dx, pixels to the right\n\n{below}")
            if index:
                axes.set_ylabel("")
        figure.legend(handles=_shades(), loc="outside lower center", ncols=len(_SHADES))

    alt = " ".join(plate.alt for plate in plates)
    return Drawing(alt, _caption(crops), PAGE, 3.2, draw, plates)


def error_lines(exhibit: Crops, label: str) -> list[str]:
    """What is measured of a row, ours and the paper's, a line each."""
    cells = [cell for row in exhibit["rows"] if row["label"] == label for cell in row["cells"]]
    if not cells:
        return []
    words, paper = capital(measure_words(cells[0])), published(cells[0]["paper"])
    return [words, f"ours: {shown_ours(cells[0])}", f"paper’s: {paper}"]


def opacity(confidence: float) -> float:
    """How strongly a dot is drawn: the palest for 0, full for 1."""
    return _PALEST + (1 - _PALEST) * confidence


def _plate(index: int, crop: Crop, lines: list[str], limit: int) -> Plate:
    marker, size = MARKERS[index % len(MARKERS)], crop["size"]
    alphas = [opacity(share) for share in crop["confidence"]]

    def draw(axes: Axes, colours: Colours) -> None:
        look = {"marker": marker, "color": colours(index), "alpha": alphas, "s": _DOT}
        draw_offsets(axes, crop["offsets"], size, limit, look)
        ticks = [-size, -size // 2, 0, size // 2, size]
        axes.set(xticks=ticks, yticks=ticks)
        axes.set_title(literal(crop["label"]))

    told = "; ".join(lines)
    reach = max((abs(part) for offset in crop["offsets"] for part in offset), default=0)
    least = min(crop["confidence"], default=1.0)
    alt = (
        f"{crop['label']}: offsets up to {reach:g} of {size} pixels, targets keep at least "
        f"{100 * least:.0f} % confidence. {told}."
    )
    return Plate(f"offsets-{index}", alt, f"{crop['label']}. {told}.", 260, draw)


def _shades() -> list[Line2D]:
    """The legend of the dots' strength."""
    dot: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": INK, "markersize": 3.5}
    return [
        Line2D([], [], alpha=opacity(share), label=f"target {100 * share:.0f} % sure", **dot)
        for share in _SHADES
    ]


def _caption(crops: list[Crop]) -> str:
    counts = " and ".join(dict.fromkeys(str(len(crop["offsets"])) for crop in crops))
    return (
        f"Offsets of {counts} crops each; a dot is the paler, the less sure its target is. "
        "Inside the dashed line at least half of the image is visible."
    )
